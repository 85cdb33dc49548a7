"""The published GraphML and its files, in both spellings, with the defects that are known to be out there."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream2gym.errors import BadInput
from stream2gym.kinds.registry import registry
from stream2gym.spec.loading import load_experiment
from stream2gym.spec.runnable import not_runnable
from stream2gym.spec.writers.short_form import shorten_experiment
from stream2gym.spec.writers.yaml_writer import write_yaml
from tests.support.loading import Load, Mistakes
from tests.support.published import copy_of, spell_by_name

HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
TAIL = "</graph></graphml>"
TOPIC = "topicName: t\ntopicBroker: 1\ntopicPartition: 1\ntopicReplica: 1\n"
BROKER = '<node id="h1"><data key="brokerCfg"/><data key="zk">1</data></node>'


def test_every_published_form_is_understood(published: Load) -> None:
    loaded = published("forms")
    experiment = loaded.experiment
    assert loaded.input_format == "graphml"
    assert experiment.name == "forms"
    assert [part.name for _, part in experiment.components()] == [
        "broker-h1", "broker-h2", "controller-h4", "store-h6-1", "sink-h1-1", "engine-h4-1", "engine-h5-1",
        "consumer-h3-1", "consumer-h5-1", "producer-h1-1", "producer-h2-1", "producer-h3-1", "producer-h4-1",
        "producer-h5-1",
    ]  # fmt: skip
    sfst, mfst, eltt, standard, custom = experiment.producers
    assert (sfst.type, sfst.messages, sfst.file) == ("SFST", 25, "use-cases/forms/data/lines.txt")
    assert (mfst.type, mfst.file, mfst.messages) == ("MFST", "use-cases/forms/folder/", None)
    assert (eltt.type, eltt.passes, eltt.instances) == ("ELTT", 3, 2)
    assert (standard.rate, standard.acks, standard.compression, standard.linger) == (12, "all", "gzip", 0.005)
    assert (standard.batch, standard.buffer, standard.request_timeout) == (32768, 33554432, 20)
    assert (custom.type, custom.app, custom.instances) == ("CUSTOM", "use-cases/forms/gen.py", 4)


def test_brokers_controllers_and_topics_are_as_published(published: Load) -> None:
    experiment = published("forms").experiment
    first, second, third = experiment.brokers
    assert first.config == {"replica.fetch.wait.max.ms": 900, "replica.fetch.min.bytes": 64}
    assert (first.controller, second.controller, third.controller) == (True, None, "only")
    orders, alerts = experiment.topics
    assert (orders.partitions, orders.replicas, orders.via) == (6, 2, "h2")
    assert (alerts.name, alerts.via) == ("alerts", "h1")


def test_links_carry_latency_bandwidth_loss_and_ports(published: Load) -> None:
    loaded = published("forms")
    links = {link.name: link for link in loaded.experiment.topology.links}
    assert links["s1 -- h1"].settings()[0].latency_ms == 7
    assert links["s1 -- h2"].settings()[1].bandwidth_bps == 40e6
    assert links["s1 -- h3"].settings()[0].loss == 0.04
    assert links["s2 -- h5"].settings()[0].bandwidth_bps is None
    assert links["s1 -- s2"].ports == (4, 1)
    assert any("above 1000" in warning.what for warning in loaded.warnings)
    assert loaded.experiment.topology.hosts[1].cpu == 0.25


def test_the_published_fault_cuts_links_at_a_tenth_of_the_load(published: Load) -> None:
    (fault,) = published("forms").experiment.faults
    assert (fault.do, fault.on, fault.at, fault.for_) == ("down", ["h3 -- s1", "s1 -- s2"], 0.1, 45)


def test_the_sink_properties_become_a_store_and_a_sink(published: Load) -> None:
    loaded = published("forms")
    (store,), (sink,) = loaded.experiment.stores, loaded.experiment.sinks
    assert (store.on, store.type, store.settings) == ("h6", "mysql", {"database": "shop"})
    assert (sink.pattern, sink.store, sink.create, sink.on) == ("orders.*", "store-h6-1", True, "h1")
    assert sink.config["tasks.max"] == "2"
    assert sum("placeholder" in warning.what for warning in loaded.warnings) == 2


def test_engines_keep_their_cluster_keys(published: Load) -> None:
    spark, flink = published("forms").experiment.engines
    assert spark.settings == {"cluster": True, "workers": 2, "worker_cores": 2, "worker_memory": "700m"}
    assert flink.type == "flink"


def test_names_in_place_of_ids_and_undeclared_late_keys_are_read(published: Load) -> None:
    loaded = published("names")
    assert [part.name for _, part in loaded.experiment.components()] == [
        "broker-h1", "consumer-h2-1", "producer-h1-1",
    ]  # fmt: skip
    (link,) = loaded.experiment.topology.links
    assert (link.latency, link.bandwidth) == (0.003, 20e6)
    told = "\n".join(map(str, loaded.warnings))
    assert "key weight: unknown" in told
    assert "any broker is asked instead" in told
    assert "filePath: unknown key" in told


def test_an_undeclared_broker_type_makes_a_broker(published: Load) -> None:
    experiment = published("rabbit").experiment
    assert [(broker.type, broker.on) for broker in experiment.brokers] == [
        ("rabbitmq", "h1"),
        ("rabbitmq", "h2"),
    ]


def test_one_rabbitmq_makes_every_broker_rabbitmq_without_what_kafka_needs(tmp_path: Path) -> None:
    (tmp_path / "broker.yaml").write_text("replicaMaxWait: 500\n")
    (tmp_path / "producer.yaml").write_text("producerPath: p.py\nproducerInstances: 3\n")
    (tmp_path / "p.py").write_text("")
    nodes = {
        "h1": {"brokerType": "rMQ", "zk": "1", "prodType": "CUSTOM", "prodCfg": "producer.yaml"},
        "h2": {"brokerCfg": "broker.yaml"},
    }
    body = "".join(
        f'<node id="{name}">{"".join(f"<data key={key!r}>{text}</data>" for key, text in data.items())}</node>'
        for name, data in nodes.items()
    )
    graph = tmp_path / "input.graphml"
    graph.write_text(f'<graphml><graph edgedefault="undirected">{body}</graph></graphml>')
    loaded = load_experiment(graph)
    assert [(broker.type, broker.controller, broker.config) for broker in loaded.experiment.brokers] == [
        ("rabbitmq", None, {}),
        ("rabbitmq", None, {}),
    ]
    [producer] = loaded.experiment.producers
    assert producer.instances == 1
    told = "\n".join(map(str, loaded.warnings))
    assert "node h2: its broker is RabbitMQ, too" in told
    assert "zk is ignored" in told
    assert "runs once, as published" in told


def test_all_files_that_were_read_are_listed(published: Load) -> None:
    files = published("names").files
    assert [path.name for path in files] == [
        "input.graphml", "broker.yaml", "producer.yaml", "consumer.yaml", "topics.yaml",
    ]  # fmt: skip


def test_paths_are_found_from_anywhere(published: Load, tmp_path: Path) -> None:
    there = published("forms")
    elsewhere = published("forms", cwd=tmp_path)
    assert elsewhere.experiment == there.experiment
    assert elsewhere.base == there.base


def test_the_working_directory_wins_over_the_folder_of_the_file(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    graph = HEAD + '<data key="topicCfg">t.yaml</data>' + BROKER + TAIL
    (inner / "x.graphml").write_text(graph)
    (inner / "t.yaml").write_text(TOPIC.replace(": t", ": inner"))
    assert load_experiment(inner / "x.graphml", cwd=tmp_path).experiment.topics[0].name == "inner"
    (tmp_path / "t.yaml").write_text(TOPIC.replace(": t", ": outer"))
    assert load_experiment(inner / "x.graphml", cwd=tmp_path).experiment.topics[0].name == "outer"


def test_missing_files_are_one_clear_mistake_each(published: Load) -> None:
    with pytest.raises(BadInput) as caught:
        published("stray")
    told = [str(mistake) for mistake in caught.value.mistakes]
    assert len(told) == 3
    assert "input.graphml:5: node h1: prodCfg names 'use-cases/stray/gone.yaml'" in told[0]
    assert "producer.yaml:1: node h2, filePath: file 'use-cases/stray/no-data.csv' does not exist" in told[1]
    assert "spark.yaml:1: node h2, app: file 'use-cases/stray/no-job.py' does not exist" in told[2]


def test_tolerant_goes_on_with_the_rest_and_says_so(published: Load) -> None:
    loaded = published("stray", tolerant=True)
    assert [part.name for _, part in loaded.experiment.components()] == ["broker-h1"]
    assert sum("left out" in warning.what for warning in loaded.warnings) == 3


def test_tolerant_makes_the_topics_that_clients_name_when_their_file_is_missing(load: Load, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("topicName: t\n")
    producer = '<node id="h2"><data key="prodType">STANDARD</data><data key="prodCfg">p.yaml</data></node>'
    text = HEAD + '<data key="topicCfg">gone.yaml</data>' + BROKER + producer + TAIL
    loaded = load(text, "x.graphml", tolerant=True)
    assert [topic.name for topic in loaded.experiment.topics] == ["t"]


def test_only_spark_reads_no_topics(load: Load) -> None:
    text = HEAD + '<data key="topicCfg">gone.yaml</data><node id="h1"/>' + TAIL
    assert load(text, "x.graphml", only_spark=True).experiment.topics == []


NODES = '<node id="h1"/><node id="s1"/>'
BAD = {
    "a node of neither letter": ('<node id="x1"/>', "host or a switch"),
    "a node without id": ("<node/>", "has no id"),
    "an edge without end": ('<node id="h1"/><edge source="h1"/>', "needs a source and a target"),
    "an edge to nowhere": ('<node id="h1"/><edge source="h1" target="s9"/>', "'s9'"),
    "a word for a latency": (NODES + '<edge source="h1" target="s1"><data key="lat">x</data></edge>', "not a number"),
    "a negative bandwidth": (NODES + '<edge source="h1" target="s1"><data key="bw">-1</data></edge>', "zero or more"),
    "no bandwidth": (NODES + '<edge source="h1" target="s1"><data key="bw">0</data></edge>', "carries nothing"),
    "too much loss": (NODES + '<edge source="h1" target="s1"><data key="loss">101</data></edge>', "more than 100"),
    "a key twice": ('<node id="h1"><data key="zk">1</data><data key="zookeeper">1</data></node>', "given twice"),
    "a strange zk": ('<node id="h1"><data key="zk">2</data></node>', "1 means that a controller"),
    "a strange broker": ('<node id="h1"><data key="brokerType">pulsar</data></node>', "unknown brokerType"),
    "too much cpu": ('<node id="h1"><data key="cpuPercentage">50</data></node>', "0.5 is half of the machine"),
    "a strange producer": ('<node id="h1"><data key="prodType">RND</data></node>', "unknown prodType"),
    "a producer without file": ('<node id="h1"><data key="prodType">SFST</data></node>', "needs a prodCfg"),
    "a file that is not there": ('<node id="h1"><data key="brokerCfg">b.yaml</data></node>', "does not exist"),
    "a folder as a file": ('<node id="h1"><data key="brokerCfg">folder</data></node>', "is a folder"),
    "two graphs": ('<node id="h1"/></graph><graph>', "more than one graph"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_it_tells_of(mistakes: Mistakes, tmp_path: Path, case: str) -> None:
    (tmp_path / "folder").mkdir()
    text, told = BAD[case]
    found = mistakes(HEAD + "\n" + text + TAIL, "x.graphml")
    assert told in "\n".join(map(str, found))
    assert all(mistake.file for mistake in found)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("acks", "all", "not a whole number"), ("acks", "3", "0, 1, 2"), ("compression", "zip", "gzip, snappy, lz4"),
        ("producerInstances", "0", "out of range"), ("messageRate", "fast", "not a number"),
        ("batchSize", "-1", "at least 0"),
    ],
)  # fmt: skip
def test_values_of_referred_files_are_checked_with_their_line(
    mistakes: Mistakes, tmp_path: Path, key: str, value: str, told: str
) -> None:
    (tmp_path / "p.yaml").write_text(f"topicName: t\n{key}: {value}\n")
    (tmp_path / "t.yaml").write_text(TOPIC)
    producer = '<node id="h2"><data key="prodType">STANDARD</data><data key="prodCfg">p.yaml</data></node>'
    graph = HEAD + '<data key="topicCfg">t.yaml</data>' + BROKER + producer + TAIL
    (mistake,) = mistakes(graph, "x.graphml")
    assert (mistake.file, mistake.line, mistake.where) == ("p.yaml", 2, key)
    assert told in mistake.what


def client_graph(tmp_path: Path, client: str, text: str) -> str:
    """A graph with a topic ``t``, a broker on h1 and on h2 a client (``prod CUSTOM``) with this text as its file."""
    kind, of = client.split()
    (tmp_path / "c.yaml").write_text(text)
    (tmp_path / "own.py").write_text("")
    (tmp_path / "t.yaml").write_text(TOPIC)
    node = f'<node id="h2"><data key="{kind}Type">{of}</data><data key="{kind}Cfg">c.yaml</data></node>'
    return HEAD + '<data key="topicCfg">t.yaml</data>' + BROKER + node + TAIL


@pytest.mark.parametrize(
    ("client", "text", "told"),
    [
        (
            "prod STANDARD",
            "topicName: t\nfilePath: none.txt\n",
            "filePath: has no meaning for a STANDARD producer",
        ),
        ("prod STANDARD", "topicName: t\ntotalMessages: many\n", "totalMessages: has no meaning"),
        ("prod CUSTOM", "producerPath: own.py\nacks: all\n", "acks: has no meaning for a CUSTOM producer"),
        ("prod CUSTOM", "producerPath: own.py\nfilePath: none.txt\n", "filePath: has no meaning"),
        ("prod CUSTOM", "producerPath: own.py\ntopicName: none\n", "'none' of a CUSTOM producer is no topic"),
        ("cons CUSTOM", "consumerPath: own.py\nsessionTimeout: 5\n", "sessionTimeout: has no meaning"),
        ("cons CUSTOM", "consumerPath: own.py\ntopicName: none\n", "'none' of a CUSTOM consumer is no topic"),
        ("streamProc Spark", "app: own.py\nworkerMemory: much\n", "workerMemory: has no meaning without cluster"),
        ("streamProc Spark", "app: own.py\ncluster: False\nnWorkerCores: 0\n", "nWorkerCores: has no meaning"),
        ("streamProc Flink", "app: own.py\ncluster: True\n", "cluster: has no meaning for Flink"),
    ],
)
def test_a_key_that_the_originals_do_not_read_there_is_a_warning_and_no_mistake(
    load: Load, tmp_path: Path, client: str, text: str, told: str
) -> None:
    loaded = load(client_graph(tmp_path, client, text), "x.graphml")
    (warning,) = map(str, loaded.warnings)
    assert told in warning
    assert "ignored" in warning


def test_the_published_kstream_is_a_kafka_streams_program(load: Load, tmp_path: Path) -> None:
    (tmp_path / "Words.java").touch()
    loaded = load(client_graph(tmp_path, "streamProc KStream", "app: Words.java\n"), "x.graphml")
    (engine,) = loaded.experiment.engines
    kind = registry("engine").find(engine.type)
    assert kind is not None
    assert (kind.name, kind.runnable, engine.app) == ("kafka-streams", True, "Words.java")
    assert engine.checked_settings.application is None


def test_a_program_in_place_of_the_stock_producer_gets_all_keys_of_its_type(load: Load, tmp_path: Path) -> None:
    text = "topicName: t\nproducerPath: own.py\nfilePath: any.txt\ntotalMessages: 7\n"
    loaded = load(client_graph(tmp_path, "prod STANDARD", text), "x.graphml")
    (producer,) = loaded.experiment.producers
    assert (producer.file, producer.messages, loaded.warnings) == ("any.txt", 7, [])


def test_a_type_of_store_that_nobody_knows_is_a_warning_since_the_originals_never_look(
    load: Load, tmp_path: Path
) -> None:
    (tmp_path / "s.properties").write_text("connection.url=jdbc:mysql://h2/shop\ntopics.regex=t.*\n")
    store = '<node id="h2"><data key="storeType">Oracle</data><data key="storeCfg">s.properties</data></node>'
    (tmp_path / "t.yaml").write_text(TOPIC)
    loaded = load(HEAD + '<data key="topicCfg">t.yaml</data>' + BROKER + store + TAIL, "x.graphml")
    assert [store.type for store in loaded.experiment.stores] == ["mysql"]
    assert "storeType 'Oracle' is unknown and ignored" in str(loaded.warnings[0])


def test_published_programs_have_no_grace_since_they_run_for_ever(load: Load, tmp_path: Path) -> None:
    loaded = load(client_graph(tmp_path, "prod CUSTOM", "producerPath: own.py\n"), "x.graphml")
    assert loaded.experiment.producers[0].grace == 0


def test_a_session_time_out_of_bounds_is_refused(mistakes: Mistakes, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("topicName: t\nsessionTimeout: 5000\n")
    consumer = '<node id="h1"><data key="consType">STANDARD</data><data key="consCfg">c.yaml</data></node>'
    assert "between 6000 and 1800000" in mistakes(HEAD + consumer + TAIL, "x.graphml")[0].what


def test_a_cut_of_a_link_that_is_not_there_is_refused(mistakes: Mistakes, tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text("duration: 5\nlinks: s1-h9\n")
    nodes = NODES + '<edge source="s1" target="h1"/>'
    (mistake,) = mistakes(HEAD + '<data key="faultCfg">f.yaml</data>' + nodes + TAIL, "x.graphml")
    assert (mistake.what, mistake.hint) == ("there is no link 's1-h9'", "did you mean 's1-h1'?")


def test_a_node_name_with_a_dash_can_be_cut(load: Load, tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text("links: s-east-h-1\n")
    nodes = '<node id="s-east"/><node id="h-1"/><edge source="s-east" target="h-1"/>'
    loaded = load(HEAD + '<data key="faultCfg">f.yaml</data>' + nodes + TAIL, "x.graphml")
    assert loaded.experiment.faults[0].on == ["s-east -- h-1"]


def test_properties_may_continue_on_the_next_line() -> None:
    from stream2gym.spec.readers.graphml.published_keys import read_properties

    found = read_properties("# no\n! no\na = 1\nb:2\nlong=x\\\n  y\nempty\n")
    assert {key: value for key, (value, _) in found.items()} == {
        "a": "1",
        "b": "2",
        "long": "xy",
        "empty": "",
    }


@pytest.mark.parametrize(
    ("sample", "graph"),
    [
        ("published", "use-cases/forms"),
        ("published-spark", "use-cases/app-testing/words"),
        ("published-shop", "use-cases/shop"),
        ("published-shop", "use-cases/kinds"),
    ],
)
def test_both_spellings_of_a_file_are_the_same_experiment(tmp_path: Path, sample: str, graph: str) -> None:
    root = copy_of(sample, tmp_path)
    path = root / graph / "input.graphml"
    by_id = load_experiment(path, cwd=root).experiment
    spell_by_name(path)
    assert "<key" not in path.read_text()
    assert load_experiment(path, cwd=root).experiment == by_id


def test_programs_of_old_get_the_casts_of_old_and_keep_them_as_yaml(tmp_path: Path) -> None:
    root = copy_of("published-shop", tmp_path)
    experiment = load_experiment(root / "use-cases/shop/input.graphml", cwd=root).experiment
    assert experiment.engines[0].config == {"spark.sql.ansi.enabled": False}
    converted = root / "shop.yaml"
    converted.write_text(write_yaml(shorten_experiment(experiment)))
    assert "spark.sql.ansi.enabled: false" in converted.read_text()
    assert load_experiment(converted).experiment == experiment


def test_a_flink_program_in_sql_is_run_from_the_published_format(load: Load, tmp_path: Path) -> None:
    (tmp_path / "job.sql").write_text("INSERT INTO copies SELECT line FROM lines;\n")
    experiment = load(client_graph(tmp_path, "streamProc Flink", "app: job.sql\n"), "x.graphml").experiment
    (engine,) = experiment.engines
    assert (engine.type, engine.app, engine.config) == ("flink", "job.sql", {})
    assert not [sentence for sentence in not_runnable(experiment) if "engine" in sentence]
