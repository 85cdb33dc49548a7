"""The experiment YAML: what people write is understood, and what they mistype is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream2gym.errors import BadInput
from stream2gym.spec.loading import load_experiment
from stream2gym.spec.readers.yaml_documents import read_documents
from stream2gym.units import ByteRate, Share
from tests.support.loading import Load, Mistakes

NET = "topology: {hosts: [h1, h2], switches: [s1], links: [h1 -- s1, h2 -- s1]}\n"
PIPE = NET + "brokers: [{on: h1}]\ntopics: [in, out]\n"


def test_the_experiment_of_the_manual_is_understood(load: Load, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("")
    text = """\
s2g: 1
name: rides
topology:
  hosts: [h1, h2, {name: h3, cpu: 50 %, memory: 2 GiB}]
  switches: [s1]
  links: ["h1 -- s1: 5 ms, 100 Mbps, 0.1 % loss", h2 -- s1, {between: [h3, s1], latency: 20 ms, forward: {loss: 1 %}}]
brokers: [{on: h2, controller: true, config: {num.io.threads: 2}}]
topics: [{name: in, partitions: 3, replicas: 1}, {name: out, leader: h2}]
producers: [{name: gen, on: h1, topic: in, rate: 1000/s, size: 25 B, messages: 20000, acks: all}]
engines: [{name: job, on: h3, type: spark, app: job.py, master: "local[2]", restart: 0}]
stores:
consumers: [{name: see, on: h1, topics: [out], group: g, from: earliest}]
trace: [{from: in, to: out, by: value}]
time: 30 s
faults: [{name: cut, do: down, on: "h1 -- s1", at: 10 s, for: 5 s}]
expect: [lost == 0, "latency.p99 < 2 s", "throughput(topic=in) > 500/s", "recovery(fault=cut) < 10 s"]
"""
    loaded = load(text)
    experiment = loaded.experiment
    assert loaded.input_format == "yaml"
    assert loaded.files == [tmp_path / "experiment.yaml"]
    assert loaded.warnings == []
    assert [part.name for _, part in experiment.components()] == ["broker-h2", "job", "see", "gen"]
    forward, backward = experiment.topology.links[2].settings()
    assert (forward.loss, backward.loss, backward.latency_ms) == (0.01, 0.0, 20.0)
    assert experiment.engines[0].settings == {"master": "local[2]"}
    assert experiment.topology.hosts[2].memory == 2 * 1024**3


def test_a_link_that_says_nothing_is_as_published() -> None:
    from stream2gym.spec.model import Link

    forward, _ = Link.model_validate("h1 -- s1").settings()
    assert (forward.latency_ms, forward.bandwidth_bps, forward.loss) == (1.0, 1e9, 0.0)


def test_on_and_off_are_words_not_booleans(load: Load) -> None:
    arrivals = "arrivals: {kind: bursts, on: 1 s, off: 4 s}"
    experiment = load(PIPE + f"producers: [{{on: h1, topic: in, rate: 5/s, {arrivals}}}]\n").experiment
    assert experiment.producers[0].arrivals.off == 4.0


def test_a_rate_in_bytes_stays_one(load: Load) -> None:
    producer = load(PIPE + "producers: [{on: h1, topic: in, rate: 30 KB/s}]\n").experiment.producers[0]
    assert isinstance(producer.rate, ByteRate)
    assert producer.rate == 30_000


def test_keys_of_a_kind_stand_beside_the_common_ones(load: Load) -> None:
    fault = load(NET + "faults: [{do: degrade, on: h1 -- s1, at: 10 %, latency: 50 ms}]\n").experiment.faults[0]
    assert fault.settings == {"latency": "50 ms"}
    assert isinstance(fault.at, Share)
    assert fault.name == "degrade-1"


def test_types_are_read_in_any_case(load: Load) -> None:
    text = NET + "stores: [{on: h1, type: MYSQL}]\nengines: [{on: h2, type: Spark-Master}]\n"
    assert len(load(text).experiment.components()) == 2


def test_every_mistake_is_told_at_once_with_its_line(mistakes: Mistakes) -> None:
    found = mistakes(
        "tme: 5 s\n"
        "topology:\n"
        "  hosts: [h1, {name: h2, cpu: 150 %}]\n"
        "  links:\n"
        "    - h1 -- s9\n"
        "    - {between: [h1, h2], latencyy: 5 ms}\n"
        "producers:\n"
        "  - {on: h7, topic: nowhere, rate: fast}\n"
    )
    told = {(mistake.line, mistake.where) for mistake in found}
    assert {
        (2, "tme"),
        (4, "topology.hosts.h2.cpu"),
        (6, "topology.links.h1 -- s9"),
        (7, "topology.links.h1 -- h2.latencyy"),
        (9, "producers.0.on"),
        (9, "producers.0.topic"),
        (9, "producers.0.rate"),
    } <= told
    assert all(mistake.file == "experiment.yaml" for mistake in found)


def test_a_mistake_elsewhere_hides_no_unknown_name_in_an_expectation(mistakes: Mistakes) -> None:
    text = NET + "brokers: [{on: h1}]\ntopics: [{name: in, partitions: 0}]\nexpect: [lost(topic=on) == 0]\n"
    assert {mistake.where for mistake in mistakes(text)} == {"topics.in.partitions", "expect.0"}
    text = NET + "brokers: [{on: h1}]\ntopics: [{name: in, partitions: 0}]\nexpect: [lost(topic=in) == 0]\n"
    assert {mistake.where for mistake in mistakes(text)} == {"topics.in.partitions"}


def test_an_item_behind_a_broken_one_keeps_its_line(mistakes: Mistakes) -> None:
    found = mistakes("topology:\n  hosts:\n    - 5\n    - h1\n    - {name: h2, address: nonsense}\n")
    assert [(mistake.line, mistake.where) for mistake in found] == [
        (4, "topology.hosts.0"),
        (6, "topology.hosts.h2.address"),
    ]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("tme: 5 s", "did you mean 'time'?"),
        ("topology: {hosts: [h1], routing: {by: hop}}", "did you mean 'hops'?"),
        ("topology: {kind: strar, hosts: 5}", "did you mean 'star'?"),
        ("topology: {kind: star, host: 5}", "did you mean 'hosts'?"),
        ("topology: {hosts: [h1]}\nengines: [{on: h1, type: sprak}]", "did you mean 'spark'?"),
        ("topology: {hosts: [h1]}\nfaults: [{do: isolte, on: h1, at: 1 s}]", "did you mean 'isolate'?"),
        ("topology: {hosts: [h1]}\nfaults: [{do: isolate, on: h1, att: 1 s}]", "did you mean 'at'?"),
        ("topology: {hosts: [host1]}\nstores: [{on: hots1}]", "did you mean 'host1'?"),
    ],
)
def test_near_misses_are_hinted_at(mistakes: Mistakes, written: str, meant: str) -> None:
    assert meant in [mistake.hint for mistake in mistakes(written + "\n")]


def test_messages_are_free_of_jargon(mistakes: Mistakes) -> None:
    found = mistakes(
        "topology: {hosts: [h1, 5, [h2]], links: [5, {between: [h1]}]}\nbrokers: 7\nseed: true\nname: a b\n"
        "topics: [{partitions: x}]\nexpect: [5]\nkafka: {voters: 2, config: {a: [1]}}\n"
    )
    text = "\n".join(map(str, found)).lower()
    for word in (
        "input should",
        "pydantic",
        "valid dictionary",
        "value error",
        "field required",
        "extra inputs",
    ):
        assert word not in text


def test_a_key_given_twice_is_refused(mistakes: Mistakes) -> None:
    found = mistakes(NET + "time: 5 s\ntime: 6 s\n")
    assert [(mistake.where, mistake.line) for mistake in found] == [("time", 4)]


def test_without_the_version_line_it_is_no_experiment(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(NET)
    with pytest.raises(BadInput, match="format version is missing"):
        load_experiment(path)


def test_yaml_that_breaks_says_where(mistakes: Mistakes) -> None:
    assert mistakes("topology: {hosts: [h1\ntime: 5 s\n")[0].line in (2, 3)


def test_aliases_are_fine_in_measure(load: Load) -> None:
    experiment = load("topology: {hosts: [&a {name: h1, cpu: 5 %}, h2], links: [h1 -- h2]}\n").experiment
    assert experiment.topology.hosts[0].cpu == 0.05


def test_words_mean_what_yaml_1_2_says() -> None:
    data = read_documents("a: on\nb: 012\nc: 0x1f\nd: 1e3\ne: ~\nf: 12:30\ng: '5'\nh: True\n", "x")[0][0].data
    assert data == {"a": "on", "b": 12, "c": 31, "d": 1000.0, "e": None, "f": "12:30", "g": "5", "h": True}


def test_paths_stand_against_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "data.txt").write_text("x")
    path = tmp_path / "inner" / "x.yaml"
    path.write_text("s2g: 1\n" + PIPE + "producers: [{on: h1, type: ELTT, topic: in, file: data.txt}]\n")
    loaded = load_experiment(path, cwd=tmp_path)
    assert loaded.base == tmp_path / "inner"
    assert loaded.experiment.producers[0].file == "data.txt"


def test_tolerant_leaves_out_what_has_no_file_and_says_so(load: Load) -> None:
    text = PIPE + "producers: [{on: h1, type: ELTT, topic: in, file: gone.txt}, {on: h2, topic: in}]\n"
    loaded = load(text, tolerant=True)
    assert [producer.on for producer in loaded.experiment.producers] == ["h2"]
    assert "gone.txt" in loaded.warnings[0].what
    assert "producer-h1-1 is left out" in loaded.warnings[0].what
