"""Reads the components of a published GraphML file: what its nodes run, its topics, its stores and its fault."""

from __future__ import annotations

from functools import partial
from typing import Any

from stream2gym.errors import Mistake
from stream2gym.spec.findings import Origin, brief, did_you_mean
from stream2gym.spec.readers.graphml import published_keys
from stream2gym.spec.readers.graphml.published_keys import Part
from stream2gym.spec.readers.graphml.referenced_files import ReferencedFiles
from stream2gym.spec.readers.graphml.store_properties import store_and_sink
from stream2gym.spec.readers.graphml.xml_graph import Datum, Element

# Published programs expect that a failed cast gives null, as it did in older versions of Spark.
OLD_SPARK = {"spark.sql.ansi.enabled": False}
# Published programs send and read for ever: they are stopped when the time is over.
NO_GRACE = "0 s"
BROKER_TYPES = {"kafka": "kafka", "rmq": "rabbitmq", "rabbitmq": "rabbitmq"}


class NodeComponentReader(ReferencedFiles):
    """Reads the components of nodes into the draft, with one method for each kind."""

    def components(self, name: str, values: dict[str, Datum]) -> None:
        """Add the components of one host."""
        if name[:1] != "h":
            return
        self.broker(name, values)
        self.client(name, values, "prod")
        self.client(name, values, "cons")
        self.engine(name, values)

    def broker(self, name: str, values: dict[str, Datum]) -> None:
        """Add the broker of a host, or a controller alone."""
        where = f"node {name}"
        zk, cfg, kind = values.get("zk"), values.get("brokerCfg"), values.get("brokerType")
        controller = False
        if zk is not None and zk.text:
            if zk.text not in ("0", "1", "0.0", "1.0"):
                self.wrong(where, f"zk is {brief(zk.text)}", "1 means that a controller runs here, 0 none", zk.line)
            controller = zk.text in ("1", "1.0")
        if cfg is None and (kind is None or not kind.text):
            if controller:
                assert zk is not None
                self.add("brokers", {"on": name, "controller": "only"}, Origin(self.shown, zk.line, where))
            return
        made: dict[str, Any] = {"on": name}
        if kind is not None and kind.text:
            if kind.text.lower() not in BROKER_TYPES:
                what = f"unknown brokerType {brief(kind.text)}"
                self.wrong(where, what, did_you_mean(kind.text, ("kafka", "rMQ")), kind.line)
            elif BROKER_TYPES[kind.text.lower()] != "kafka":
                made["type"] = BROKER_TYPES[kind.text.lower()]
        if controller:
            made["controller"] = True
        part = self.part(cfg, "brokerCfg", where, published_keys.BROKER)
        if part is not None:
            self.keep(part)
            made |= {"config": part.keys} if part.keys else {}
        elif cfg is not None and cfg.text and self.tolerant:
            self.warn(where, "its broker runs with defaults", line=cfg.line)
        datum = cfg or kind
        assert datum is not None
        self.add("brokers", made, Origin(self.shown, datum.line, where))

    def client(self, name: str, values: dict[str, Datum], short: str) -> None:
        """Add the producer or the consumer of a host."""
        where = f"node {name}"
        kind, cfg = values.get(f"{short}Type"), values.get(f"{short}Cfg")
        if kind is None or not kind.text:
            if cfg is not None and cfg.text:
                self.warn(where, f"{short}Cfg without {short}Type is ignored", line=cfg.line)
            return
        types = published_keys.PRODUCER_TYPES if short == "prod" else published_keys.CONSUMER_TYPES
        if kind.text not in types:
            hint = did_you_mean(kind.text, types)
            if self.tolerant:
                self.warn(where, f"unknown {short}Type {brief(kind.text)}; left out", hint, kind.line)
            else:
                self.wrong(where, f"unknown {short}Type {brief(kind.text)}", hint, kind.line)
            return
        if cfg is None or not cfg.text:
            self.wrong(where, f"{short}Type {kind.text} needs a {short}Cfg", line=kind.line)
            return
        table = published_keys.PRODUCER if short == "prod" else published_keys.CONSUMER
        unread = published_keys.unread_producer_keys if short == "prod" else published_keys.unread_consumer_keys
        part = self.part(cfg, f"{short}Cfg", where, table, partial(unread, kind.text))
        if part is None:
            return
        if short == "prod":
            published_keys.producer_keys(part, kind.text)
        elif kind.text == "CUSTOM":
            published_keys.require(part, table, "consumerPath", why="a consumer of type CUSTOM needs it")
        else:
            published_keys.require(part, table, "topicName", why="a consumer of type STANDARD needs it")
        self.keep(part)
        self.locate(part)
        made = {"on": name} | ({} if kind.text == "STANDARD" else {"type": kind.text}) | part.keys
        if "app" in made:
            made["grace"] = NO_GRACE
        if not part.mistakes:
            self.add("producers" if short == "prod" else "consumers", made,
                     Origin(self.shown, kind.line, f"node {name}"), part)  # fmt: skip

    def locate(self, part: Part) -> None:
        """Rewrite the paths of files and programs so that they are relative to the base."""
        for key in ("file", "app"):
            if key in part.keys:
                part.keys[key] = self.located(part.keys[key])

    def engine(self, name: str, values: dict[str, Datum]) -> None:
        """Add the engine of a host."""
        where = f"node {name}"
        kind, cfg = values.get("streamProcType"), values.get("streamProcCfg")
        if cfg is None or not cfg.text:
            if kind is not None and kind.text:
                self.warn(where, "streamProcType without streamProcCfg starts nothing", line=kind.line)
            return
        unread = partial(published_keys.unread_engine_keys, kind.text if kind is not None else "")
        part = self.part(cfg, "streamProcCfg", where, published_keys.ENGINE, unread)
        if part is None:
            return
        published_keys.require(part, published_keys.ENGINE, "app", why="it is the program that the engine runs")
        self.keep(part)
        self.locate(part)
        word = kind.text.lower() if kind is not None else ""
        made = {"on": name} | ({"type": word} if word not in ("", "spark") else {}) | part.keys
        if word in ("", "spark"):
            made["config"] = dict(OLD_SPARK)
        if word == "kstream":
            # Such a program knows nothing of in-memory stores, and the format has no key for them.
            made["store"] = "rocksdb"
        if not part.mistakes:
            self.add("engines", made, Origin(self.shown, cfg.line, where), part)

    def settle_rabbitmq(self) -> None:
        """One broker of RabbitMQ makes all of them RabbitMQ, as published: without controllers and Kafka's settings.

        A program runs once on its host there, whatever its number of instances.
        """
        brokers = self.out.data["brokers"]
        if not any(broker.get("type") == "rabbitmq" for broker in brokers):
            return
        for broker in brokers:
            where = f"node {broker['on']}"
            if broker.get("type") != "rabbitmq":
                self.warn(where, "its broker is RabbitMQ, too, because another one is", "brokerType: rMQ")
                broker["type"] = "rabbitmq"
            if broker.get("controller") is True:
                del broker["controller"]
                self.warn(where, "zk is ignored: RabbitMQ has no controllers")
            if broker.pop("config", None):
                self.warn(where, "the settings of Kafka in its brokerCfg are ignored with RabbitMQ")
        for group in ("producers", "consumers"):
            for client in self.out.data[group]:
                if client.get("type") == "CUSTOM" and client.pop("instances", 1) != 1:
                    self.warn(f"node {client['on']}", "with RabbitMQ its program runs once, as published")

    def topics(self, datum: Datum | None) -> None:
        """Add the topics of the graph."""
        found = self.documents(datum, "topicCfg", "graph")
        brokers = {broker["on"] for broker in self.out.data["brokers"] if broker.get("controller") != "only"}
        if found is None:
            if datum is not None and datum.text and self.tolerant:
                self.invent_topics(brokers)
            return
        for document in found[0]:
            if document.data is None:
                continue
            part = published_keys.read_part(document, found[1], published_keys.TOPIC)
            published_keys.require(part, published_keys.TOPIC, "topicName", "topicPartition", "topicReplica")
            asked = part.keys.pop("via", None)
            if asked is not None and f"h{asked}" in brokers:
                part.keys["via"] = f"h{asked}"
            elif asked is not None and brokers:
                line = part.lines.get("via")
                what = f"no broker on h{asked}; any broker is asked instead"
                part.warn("topicBroker", what, did_you_mean(f"h{asked}", brokers), line)
            self.keep(part)
            if part.mistakes:
                self.out.excused.add(str(part.keys.get("name", "")))
            else:
                self.add("topics", part.keys, Origin(found[1], part.line, f"topic {part.keys['name']}"), part)

    def drop_unknown_topics(self) -> None:
        """Forget topics that CUSTOM clients name and nobody declares: the originals never look at them."""
        known = {topic["name"] for topic in self.out.data["topics"]} | self.out.excused
        for group, noun in (("producers", "producer"), ("consumers", "consumer")):
            for number, client in enumerate(self.out.data[group]):
                named = client.get("topic") if group == "producers" else next(iter(client.get("topics", ())), None)
                if client.get("type") != "CUSTOM" or named is None or named in known:
                    continue
                del client["topic" if group == "producers" else "topics"]
                origin = self.out.origins.known[group, number]
                what = f"topicName {brief(named)} of a CUSTOM {noun} is no topic of topicCfg, ignored"
                self.out.warnings.append(
                    Mistake(origin.where, what, did_you_mean(named, known), origin.file, origin.line)
                )

    def invent_topics(self, brokers: set[str]) -> None:
        """Add the topics that clients name, as brokers create them automatically.

        For tolerant reading without topicCfg.
        """
        data = self.out.data
        named = [p["topic"] for p in data["producers"] if "topic" in p]
        named += [topic for c in data["consumers"] for topic in c.get("topics", ())]
        for name in dict.fromkeys(named) if brokers else ():
            self.warn("graph", f"topic {brief(name)} is made with one partition and one replica")
            self.add("topics", {"name": name}, Origin(self.shown, None, f"topic {name}"))

    def stores(self, nodes: list[tuple[Element, dict[str, Datum]]]) -> None:
        """Add the stores and sinks of all hosts."""
        first = next((p["on"] for p in self.out.data["producers"]), None)
        for element, values in nodes:
            name = element.attributes.get("id", "")
            cfg, kind = values.get("storeCfg"), values.get("storeType")
            if name[:1] != "h" or cfg is None or not cfg.text:
                if name[:1] == "h" and kind is not None and kind.text:
                    self.warn(f"node {name}", "storeType without storeCfg starts nothing", line=kind.line)
                continue
            found = self.text_of(cfg, "storeCfg", f"node {name}")
            if found is None:
                continue
            store, sink, warnings = store_and_sink(*found, host=name, kind=kind.text if kind else "")
            self.out.warnings += warnings
            origin = Origin(self.shown, cfg.line, f"node {name}")
            self.add("stores", store, origin)
            if sink is not None:
                self.add("sinks", {"on": first or name} | sink, Origin(found[1], 1, f"sink of {name}"))

    def fault(self, datum: Datum | None) -> None:
        """Add the fault of the graph."""
        part = self.part(datum, "faultCfg", "graph", published_keys.FAULT)
        if part is None:
            return
        published_keys.require(part, published_keys.FAULT, "links", why="which links are cut, like 's1-h1,s1-s2'")
        self.keep(part)
        pairs = [self.link_of(text.strip(), part) for text in part.keys.get("links", "").split(",")]
        links = [f"{a} -- {b}" for a, b in filter(None, pairs)]
        if links:
            made = {"do": "down", "on": links, "at": "10 %", "for": f"{part.keys.get('for', 60)} s"}
            self.add("faults", made, Origin(part.shown, part.line, "fault"), part)

    def link_of(self, text: str, part: Part) -> tuple[str, str] | None:
        """``s1-h1`` as the names of two nodes, also if names contain a dash."""
        links = {tuple(link["between"]) for link in self.out.data["topology"]["links"]}
        dashes = [index for index, sign in enumerate(text) if sign == "-"]
        cuts = [(text[:index].strip(), text[index + 1 :].strip()) for index in dashes]
        for a, b in cuts:
            if (a, b) in links or (b, a) in links:
                return a, b
        if text:
            known = [f"{a}-{b}" for a, b in links]
            self.out.mistakes.append(
                Mistake("links", f"there is no link {brief(text)}", did_you_mean(text, known), part.shown,
                        part.lines.get("links", part.line))
            )  # fmt: skip
        return None
