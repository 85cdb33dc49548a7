"""Writes an experiment as published GraphML and YAML files, and lists what that format cannot express.

The files are read back for the list: what differs could not be expressed.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from stream2gym.kinds.link_settings import BurstLoss
from stream2gym.spec.model.components import Broker, Consumer, Engine, Producer, Sink, Store, Topic
from stream2gym.spec.model.experiment import GROUPS, Experiment, Fault
from stream2gym.spec.model.topology import Link
from stream2gym.spec.readers.graphml.graph_reader import KEYS, read_graphml
from stream2gym.spec.writers.graphml_losses import list_losses
from stream2gym.spec.writers.yaml_writer import write_on_one_line
from stream2gym.units import Duration, Rate, Share, Size

_TYPES = {
    "cpuPercentage": "float",
    "lat": "int",
    "bw": "int",
    "loss": "int",
    "st": "int",
    "dt": "int",
    "zk": "int",
}
_PRODUCER = {
    "filePath": "file", "topicName": "topic", "producerInstances": "instances", "producerPath": "app",
    "compression": "compression", "batchSize": "batch", "bufferMemory": "buffer", "linger": "linger",
    "requestTimeout": "request_timeout",
}  # fmt: skip
_CONSUMER = {
    "consumerPath": "app", "consumerInstances": "instances", "fetchMinBytes": "fetch_min",
    "fetchMaxWait": "fetch_wait", "sessionTimeout": "session_timeout",
}  # fmt: skip
_PK_MODES = {"value": "record_value", "key": "record_key", "place": "kafka"}
_ENGINE = {"cluster": "cluster", "nSPEWorkerInstances": "workers", "nWorkerCores": "worker_cores"}
_BROKER = {"replicaMaxWait": "replica.fetch.wait.max.ms", "replicaMinBytes": "replica.fetch.min.bytes"}


def to_graphml(experiment: Experiment, folder: Path) -> list[str]:
    """Write NAME.graphml and its files into the folder. Returns what could not be expressed, one line each."""
    folder.mkdir(parents=True, exist_ok=True)
    writer = _Writer(experiment, folder)
    graphml = folder / f"{experiment.name}.graphml"
    graphml.write_text(writer.graphml(), encoding="utf-8")
    draft = read_graphml(graphml, folder)
    again = Experiment.model_validate(draft.data)
    return writer.renamed_nodes() + list_losses(writer.experiment, again)


class _Writer:
    """Writes the files of one experiment."""

    def __init__(self, experiment: Experiment, folder: Path) -> None:
        self.folder = folder
        self.new_names = _fitting_names(experiment)
        self.experiment = _renamed(experiment, self.new_names)

    def renamed_nodes(self) -> list[str]:
        """One line for each node that has another name in the GraphML."""
        return [
            f"node {old}: ids of hosts begin with h, of switches with s, so it is {new}"
            for old, new in self.new_names.items()
            if old != new
        ]

    def file(self, name: str, documents: list[dict[str, Any]]) -> str:
        """Write a YAML file beside the GraphML file. Returns its name."""
        texts = [
            "---\n" + "".join(f"{key}: {write_on_one_line(value)}\n" for key, value in keys.items())
            for keys in documents
        ]
        return self.write(f"{name}.yaml", "".join(texts))

    def write(self, name: str, text: str) -> str:
        """Write a file beside the GraphML file. Returns its name."""
        full = f"{self.experiment.name}.{name}"
        (self.folder / full).write_text(text, encoding="utf-8")
        return full

    def graphml(self) -> str:
        """The text of the GraphML file."""
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        ]
        for scope, keys in KEYS.items():
            lines += [
                f'  <key id="{key}" for="{scope}" attr.name="{name}" attr.type="{_TYPES.get(key, "string")}"/>'
                for key, name in keys.items()
            ]
        lines += ['  <graph edgedefault="undirected">', *_data(self.of_graph(), "    ")]
        for switch in self.experiment.topology.switches:
            lines.append(f"    <node id={quoteattr(switch.name)}/>")
        for host in self.experiment.topology.hosts:
            lines.append(f"    <node id={quoteattr(host.name)}>")
            cpu = {} if host.cpu is None else {"cpuPercentage": f"{float(host.cpu):.10g}"}
            lines += [*_data(self.of_host(host.name) | cpu, "      "), "    </node>"]
        for link in self.experiment.topology.links:
            a, b = map(quoteattr, link.between)
            lines += [f"    <edge source={a} target={b}>", *_data(_of_link(link), "      "), "    </edge>"]
        return "\n".join([*lines, "  </graph>", "</graphml>", ""])

    def of_graph(self) -> dict[str, str]:
        """The published keys of the graph."""
        said = {}
        brokers = [b for b in self.experiment.brokers if b.controller != "only" and b.on]
        if self.experiment.topics:
            said["topicCfg"] = self.file("topics", [_topic(topic, brokers) for topic in self.experiment.topics])
        fault = next(iter(self.experiment.faults), None)
        keys = _fault(fault) if fault is not None else None
        if keys is not None:
            said["faultCfg"] = self.file("fault", [keys])
        return said

    def of_host(self, host: str) -> dict[str, str]:
        """The published keys of a host.

        GraphML has room for one component of each kind, so the first one is written.
        """
        said: dict[str, str] = {}
        first: dict[str, Any] = {}
        for kind, part in self.experiment.components():
            if part.on == host:
                first.setdefault(kind, part)
        if isinstance(broker := first.get("broker"), Broker):
            said |= self.broker(broker)
        if isinstance(producer := first.get("producer"), Producer):
            said |= {
                "prodType": producer.type,
                "prodCfg": self.file(f"producer-{host}", [_producer(producer)]),
            }
        if isinstance(consumer := first.get("consumer"), Consumer):
            said |= {
                "consType": consumer.type,
                "consCfg": self.file(f"consumer-{host}", [_consumer(consumer)]),
            }
        engine = first.get("engine")
        if isinstance(engine, Engine) and engine.app:
            said |= {
                "streamProcType": engine.type,
                "streamProcCfg": self.file(f"engine-{host}", [_engine(engine)]),
            }
        if isinstance(store := first.get("store"), Store):
            sink = next((sink for sink in self.experiment.sinks if sink.store == store.name), None)
            properties = "".join(f"{key}={value}\n" for key, value in _store(store, sink).items())
            said |= {"storeType": store.type, "storeCfg": self.write(f"store-{host}.properties", properties)}
        return said

    def broker(self, broker: Broker) -> dict[str, str]:
        """The published keys of a broker."""
        said = {"zk": "1"} if broker.controller else {}
        if broker.controller == "only":
            return said
        if broker.type == "rabbitmq":
            said["brokerType"] = "rMQ"
        keys = {key: broker.config[name] for key, name in _BROKER.items() if name in broker.config}
        return said | {"brokerCfg": self.file(f"broker-{broker.on}", [keys])}


def _data(values: dict[str, str], indent: str) -> list[str]:
    return [f'{indent}<data key="{key}">{escape(text)}</data>' for key, text in values.items()]


def _plain(value: Any) -> Any:
    """A quantity in the unit of its published key."""
    if isinstance(value, Duration):
        return round(value.in_ms)
    return int(value) if isinstance(value, Size) else value


def _picked(part: Any, table: dict[str, str]) -> dict[str, Any]:
    """The published keys of the fields that differ from their defaults."""
    fields = type(part).model_fields
    picked = {key: getattr(part, name) for key, name in table.items()
              if getattr(part, name) != fields[name].get_default(call_default_factory=True)}  # fmt: skip
    return {key: _plain(value) for key, value in picked.items()}


def _topic(topic: Topic, brokers: list[Broker]) -> dict[str, Any]:
    via = topic.via or (brokers[0].on if brokers else None) or ""
    host = next((str(b.on) for b in brokers if b.name == via), via)
    number = host[1:]
    asked = {"topicBroker": int(number)} if number.isdecimal() and number == str(int(number)) else {}
    return {"topicName": topic.name} | asked | {"topicPartition": topic.partitions, "topicReplica": topic.replicas}


def _producer(producer: Producer) -> dict[str, Any]:
    keys = _picked(producer, _PRODUCER)
    if producer.compression not in ("gzip", "snappy", "lz4"):
        keys.pop("compression", None)
    total = {"SFST": producer.messages, "ELTT": 1 if producer.passes is None else producer.passes}.get(producer.type)
    if total is not None:
        keys["totalMessages"] = total
    if isinstance(producer.rate, Rate):
        keys["messageRate"] = float(producer.rate)
    if producer.acks != 1:
        keys["acks"] = 2 if producer.acks == "all" else producer.acks
    return keys


def _consumer(consumer: Consumer) -> dict[str, Any]:
    topic = {"topicName": consumer.topics[0]} if consumer.topics else {}
    return topic | _picked(consumer, _CONSUMER)


def _engine(engine: Engine) -> dict[str, Any]:
    keys = {key: engine.settings[name] for key, name in _ENGINE.items() if name in engine.settings}
    memory = engine.settings.get("worker_memory")
    return {"app": engine.app} | keys | ({} if memory is None else {"workerMemory": str(memory)})


def _store(store: Store, sink: Sink | None) -> dict[str, Any]:
    given = store.settings
    said: dict[str, Any] = {"name": store.name}
    if "database" in given:
        said["connection.url"] = f"jdbc:mysql://{store.on}/{given['database']}"
    said |= {f"connection.{key}": given[key] for key in ("user", "password") if key in given}
    if sink is None:
        return said
    if sink.topics:
        said["topics"] = ",".join(sink.topics)
    said |= {"topics.regex": sink.pattern} if sink.pattern else {}
    said |= {"table.name.format": sink.table} if sink.table else {}
    if sink.keys or sink.keys_from == "place":
        said |= {"insert.mode": sink.mode or "upsert", "pk.mode": _PK_MODES[sink.keys_from]}
    said |= {"pk.fields": ",".join(sink.keys)} if sink.keys else {}
    said |= {"batch.size": sink.batch} if sink.batch != Sink.model_fields["batch"].default else {}
    return said | {"auto.create": str(sink.create).lower()} | sink.config


def _fault(fault: Fault) -> dict[str, Any] | None:
    """The published keys of a fault; None if GraphML cannot express it.

    GraphML has links that are down at a tenth of the load, for whole seconds.
    """
    links = [tuple(part.strip() for part in target.split("--")) for target in fault.on]
    known = fault.do == "down" and isinstance(fault.at, Share) and math.isclose(fault.at, 0.1)
    if not known or fault.for_ is None or any(len(link) != 2 for link in links) or not links:
        return None
    return {"duration": round(float(fault.for_)), "links": ",".join("-".join(link) for link in links)}


def _of_link(link: Link) -> dict[str, str]:
    said = {}
    if link.latency is not None:
        said["lat"] = f"{link.latency.in_ms:.10g}"
    if link.bandwidth is not None:
        said["bw"] = "1001" if math.isinf(link.bandwidth) else f"{float(link.bandwidth) / 1e6:.10g}"
    if link.loss is not None and not isinstance(link.loss, BurstLoss):
        said["loss"] = f"{float(link.loss) * 100:.10g}"
    for key, port in zip(("st", "dt"), link.ports, strict=True):
        if port is not None:
            said[key] = str(port)
    return said


def _fitting_names(experiment: Experiment) -> dict[str, str]:
    """New names of nodes whose first letter says whether they are hosts or switches."""
    topology = experiment.topology
    wanted = [("h", host.name) for host in topology.hosts] + [("s", switch.name) for switch in topology.switches]
    used = {name for letter, name in wanted if name.startswith(letter)}
    names = {}
    for letter, name in wanted:
        new = name if name.startswith(letter) else f"{letter}-{name}"
        while new != name and new in used:
            new += "x"
        used.add(new)
        names[name] = new
    return names


def _renamed(experiment: Experiment, names: dict[str, str]) -> Experiment:
    """The experiment with the new names of nodes."""
    if all(old == new for old, new in names.items()):
        return experiment
    topology = experiment.topology
    copy = topology.model_copy(
        update={
            "hosts": [h.model_copy(update={"name": names[h.name]}) for h in topology.hosts],
            "switches": [s.model_copy(update={"name": names[s.name]}) for s in topology.switches],
            "links": [
                link.model_copy(update={"between": tuple(names.get(end, end) for end in link.between)})
                for link in topology.links
            ],
        }
    )
    changed: dict[str, Any] = {
        group: [p.model_copy(update={"on": names.get(p.on, p.on)}) for p in getattr(experiment, group)]
        for group in GROUPS
    }
    return experiment.model_copy(update=changed | {"topology": copy})
