"""Reads a published GraphML file, in both spellings, into a draft of an experiment.

``xml_graph`` reads the XML, ``published_keys`` the files that it refers to. Here nodes and edges become hosts,
switches, links and components. Paths are looked up in the working directory, then in the folder of the GraphML file,
then in its parents.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stream2gym.spec.findings import Origin, brief, did_you_mean
from stream2gym.spec.readers.draft import Draft
from stream2gym.spec.readers.graphml import published_keys
from stream2gym.spec.readers.graphml.node_components import NodeComponentReader
from stream2gym.spec.readers.graphml.published_keys import Unreadable
from stream2gym.spec.readers.graphml.xml_graph import Datum, Element, XmlGraph, read_graph
from stream2gym.spec.readers.user_files import GRAPHML_LIMIT, read_bytes, shown_path

GRAPH_KEYS = {"topicCfg": "topicConfig", "faultCfg": "faultConfig"}
NODE_KEYS = {
    "zk": "zookeeper", "brokerCfg": "brokerConfig", "brokerType": "brokerType", "prodType": "producerType",
    "prodCfg": "producerConfig", "consType": "consumerType", "consCfg": "consumerConfig",
    "streamProcType": "streamProcType", "streamProcCfg": "streamProcConfig", "storeType": "storeType",
    "storeCfg": "storeConfig", "cpuPercentage": "cpuPercentage",
}  # fmt: skip
EDGE_KEYS = {"lat": "latency", "bw": "bandwidth", "loss": "loss", "st": "sport", "dt": "dport"}
MOST_UNKNOWN = 50  # unknown keys that have a warning of their own
KEYS = {"graph": GRAPH_KEYS, "node": NODE_KEYS, "edge": EDGE_KEYS}


def read_graphml(path: Path, cwd: Path, *, tolerant: bool = False, only_spark: bool = False) -> Draft:
    """Read the file and the files that it refers to. Mistakes are in the draft."""
    shown = shown_path(path, cwd)
    graph = read_graph(read_bytes(path, GRAPHML_LIMIT, shown), shown)
    return _GraphReader(path, cwd, graph, tolerant=tolerant).draft(only_spark=only_spark)


class _GraphReader(NodeComponentReader):
    """Reads one graph into a draft."""

    def __init__(self, path: Path, cwd: Path, graph: XmlGraph, *, tolerant: bool) -> None:
        super().__init__(path, cwd, tolerant=tolerant)
        self.graph = graph
        self.out.mistakes += graph.mistakes
        self.out.warnings += graph.warnings
        # For each unknown key of a kind of element: the lines that use it.
        self.unknown: dict[tuple[str, str], list[int]] = {}
        groups = ("brokers", "topics", "producers", "engines", "stores", "sinks", "consumers", "faults")
        self.out.data = {
            "name": _name_of(path),
            "topology": {"hosts": [], "switches": [], "links": []},
            **{group: [] for group in groups},
        }

    def draft(self, *, only_spark: bool) -> Draft:
        """The draft of the experiment that the graph describes."""
        self.out.origins.known[()] = Origin(self.shown, None, "")
        assert self.graph.graph is not None
        graph = self.values(self.graph.graph, "graph")
        nodes = [(element, self.values(element, f"node {element.attributes.get('id', '?')}"))
                 for element in self.graph.nodes]  # fmt: skip
        for element, values in nodes:
            self.node(element, values)
        for element in self.graph.edges:
            self.edge(element)
        every = (graph, *(values for _, values in nodes))
        self.settle_base([d.text for v in every for key, d in v.items() if key.endswith("Cfg") and d.text])
        for element, values in nodes:
            self.components(element.attributes.get("id", ""), values)
        self.settle_rabbitmq()
        if not only_spark:
            self.topics(graph.get("topicCfg"))
        self.drop_unknown_topics()
        self.stores(nodes)
        self.fault(graph.get("faultCfg"))
        self.name_unknown_keys()
        return self.out

    def values(self, element: Element, where: str) -> dict[str, Datum]:
        """The data of an element by the published key ids. Both spellings of keys are accepted."""
        known = KEYS[element.kind]
        by_name = {name: key for key, name in known.items()}
        found: dict[str, Datum] = {}
        for datum in element.data:
            name = self.graph.names.get(datum.key) or datum.key
            key = by_name.get(name) or (name if name in known else None)
            if key is None:
                self.unknown.setdefault((element.kind, name), []).append(datum.line)
            elif key in found:
                self.wrong(where, f"{name} is given twice", "keep one", datum.line)
            else:
                found[key] = datum
        return found

    def name_unknown_keys(self) -> None:
        """Warn about unknown keys, the first ``MOST_UNKNOWN`` by name."""
        more = len(self.unknown) - MOST_UNKNOWN
        if more > 0:
            self.warn("keys", f"{more} more unknown keys are ignored")
        for (kind, name), lines in list(self.unknown.items())[:MOST_UNKNOWN]:
            known = [*KEYS[kind], *KEYS[kind].values()]
            times = f" on {len(lines)} {kind}s" if len(lines) > 1 else f" on a {kind}"
            self.warn(f"key {name}", f"unknown{times}, ignored", did_you_mean(name, known), lines[0])

    def node(self, element: Element, values: dict[str, Datum]) -> None:
        """Add a host or a switch."""
        name = element.attributes.get("id", "")
        group = {"h": "hosts", "s": "switches"}.get(name[:1])
        if group is None:
            what = f"cannot tell whether {brief(name)} is a host or a switch" if name else "has no id"
            self.wrong(f"node {name}".strip(), what, "ids of hosts begin with h, of switches with s", element.line)
            self.out.excused.add(name)
            return
        made: dict[str, Any] = {"name": name}
        cpu = values.get("cpuPercentage")
        if cpu is not None and cpu.text:
            try:
                share = float(cpu.text)
                if not 0 < share <= 1:
                    raise ValueError
                made["cpu"] = f"{round(share * 100, 6):g} %"
            except ValueError:
                what = f"cpuPercentage {brief(cpu.text)} is not a share of the machine"
                self.wrong(f"node {name}", what, "0.5 is half of the machine", cpu.line)
        if group == "switches" and values:
            self.warn(f"node {name}", f"{', '.join(values)} has no effect on a switch, ignored", line=element.line)
            made = {"name": name}
        self.add_topology(group, made, element.line, f"node {name}")

    def edge(self, element: Element) -> None:
        """Add a link."""
        source, target = element.attributes.get("source", ""), element.attributes.get("target", "")
        where = f"edge {source or '?'} -- {target or '?'}"
        values = self.values(element, where)
        if not source or not target:
            self.wrong(where, "needs a source and a target", '<edge source="h1" target="s1">', element.line)
            return
        made: dict[str, Any] = {"between": [source, target]}
        ports: list[int | None] = [None, None]
        for key, datum in values.items():
            if not datum.text:
                continue
            try:
                if key in ("st", "dt"):
                    ports[key == "dt"] = published_keys.within(0, 65535)(datum.text)
                else:
                    made |= self.link_setting(key, datum, where)
            except (Unreadable, OverflowError) as error:
                self.wrong(where, f"{key}: {error}", line=datum.line)
        if ports != [None, None]:
            made["ports"] = ports
        self.add_topology("links", made, element.line, where)

    def link_setting(self, key: str, datum: Datum, where: str) -> dict[str, Any]:
        """One setting of a link from its published key."""
        number = published_keys.number(datum.text)
        if key == "lat":
            return {"latency": f"{number!r} ms"}
        if key == "loss":
            if number > 100:
                raise Unreadable(f"{datum.text} is more than 100 %")
            return {"loss": f"{number!r} %"}
        if number > 1000:
            self.warn(where, f"bw {datum.text} is above 1000 Mbps, which means unlimited", line=datum.line)
            return {"bandwidth": "unlimited"}
        if number == 0:
            raise Unreadable("a bandwidth of 0 carries nothing")
        return {"bandwidth": f"{number!r} Mbps"}

    def add_topology(self, group: str, made: dict[str, Any], line: int, where: str) -> None:
        """Add an item to the topology, with its origin."""
        items = self.out.data["topology"][group]
        self.out.origins.known["topology", group, len(items)] = Origin(self.shown, line, where)
        items.append(made)


def _name_of(path: Path) -> str:
    """The name of the experiment: the name of the file, or that of its folder if the file has a generic name."""
    stem = path.parent.name if path.stem in ("input", "graph", "topology") and path.parent.name else path.stem
    kept = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "._-") else "-" for sign in stem)
    return kept.strip("._-")[:63] or "experiment"
