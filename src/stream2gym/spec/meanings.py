"""What every key of an experiment means, in one line: what editors show while somebody writes one.

Kept apart from the models, which every run imports and which need no words; ``described`` puts them into the JSON
Schema. A key of the same meaning in several models stands under ``EVERYWHERE``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

EVERYWHERE = {
    "name": "what events, logs, faults and expectations call it",
    "on": "its host; without it the plan places it",
    "restart": "how often it is started again after it died, or {times, delay}",
    "type": "which kind of it",
    "config": "any property of the software, passed on as it is",
    "settings": "the keys of its type; they may also stand beside the others",
    "app": "a program of yours; its path is relative to this file",
    "python": "the Python that runs the program: a path, or a name on the PATH",
    "args": "arguments of the program",
    "env": "environment variables of the program",
    "instances": "how many processes",
    "client": "any property of the Kafka client, passed on as it is",
    "latency": "propagation one way, like 5 ms",
    "jitter": "how much the latency varies, like 1 ms, or {amount, shape}",
    "bandwidth": "each way, like 100 Mbps, or unlimited",
    "loss": "share of packets lost, like 0.1 %, or bursts: {to_bad, to_good, loss_bad, loss_good}",
    "duplicate": "share of packets that arrive twice",
    "reorder": "share of packets that overtake others",
    "corrupt": "share of packets with a wrong byte",
    "queue": "what may wait at the head of the link: packets, or a size",
    "mtu": "largest packet in bytes, 576 to 65535",
    "up": "whether it is up at the start",
    "core": "link settings between switches, over those for all links",
    "access": "link settings at hosts, over those for all links",
    "routing": "how paths are chosen, and whether they are chosen anew after a cut",
    "hosts": "how many hosts",
    "seed": "of everything that is random",
}
MEANINGS: dict[str, dict[str, str]] = {
    "Experiment": {
        "s2g": "format version, always 1",
        "name": "name of the experiment; its runs are called after it",
        "topology": "hosts, switches and links, or a generated shape",
        "kafka": "what holds for all brokers",
        "brokers": "where Kafka runs",
        "topics": "made before the load begins; a topic with defaults is just its name",
        "producers": "what sends messages",
        "engines": "stream processing jobs and their clusters",
        "stores": "databases",
        "sinks": "what moves topics straight into stores",
        "sources": "what serves lines on a socket",
        "consumers": "what reads messages",
        "placement": "where components without a host of their own go",
        "trace": "how a message is recognised behind an engine",
        "time": "length of the load; fault times count from its start",
        "drain": "how long consumers may take to reach the end after the load",
        "startup": "fast: software starts over unshaped links; as-configured: over the links as they are",
        "faults": "what breaks, and when",
        "checks": "programs of yours that compare what came out with an answer of their own",
        "expect": "what the verdict judges, like: lost == 0",
    },
    "Topology": {
        "hosts": "machines: names, or {name, cpu, memory, disk, address}",
        "switches": "what forwards: names",
        "links": "lines like 'h1 -- s1: 5 ms, 100 Mbps', or keys",
    },
    "Host": {
        "name": "hN has the address 10.0.0.N unless one is given",
        "cpu": "share of the whole machine that it may use",
        "memory": "what its processes may use together",
        "disk": "size of its storage, which lies on memory",
        "address": "its IPv4 address",
    },
    "Switch": {"name": "its name"},
    "Link": {
        "between": "its two nodes",
        "ports": "port numbers at both ends",
        "forward": "settings from the first node to the second alone",
        "backward": "settings from the second node to the first alone",
    },
    "Jitter": {"amount": "how much, like 1 ms", "shape": "its distribution"},
    "Queue": {"packets": "so many packets may wait", "bytes": "so many bytes may wait"},
    "BurstLoss": {
        "to_bad": "chance at each packet to enter the bad state",
        "to_good": "chance at each packet to leave it",
        "loss_bad": "share of packets lost in the bad state",
        "loss_good": "share of packets lost in the good state",
    },
    "Routing": {
        "by": "fewest hops, lowest latency, widest, equal-cost paths by seed, or given",
        "reconverge": "how long after a cut paths are chosen anew, or never",
        "paths": "switches of each path, like {'h1 -> h3': [s1, s2]}, where paths are given",
    },
    "Wan": {"name": "which backbone", "hosts_per_city": "hosts at each switch"},
    "Random": {"switches": "how many switches", "degree": "links of each switch", "seed": "same seed, same topology"},
    "Tree": {"depth": "levels of switches", "fanout": "children of each switch"},
    "Torus": {"x": "switches in a row, 3 or more", "y": "rows, 3 or more"},
    "FatTree": {"k": "ports of each switch, an even number"},
    "Kafka": {
        "version": "3.9 or later; fetched when it is not there",
        "java": "another Java, 17 or later",
        "voters": "how many controllers vote: 1, 3 or 5",
        "heap": "largest heap of each broker",
        "config": "any broker property, for all brokers",
        "stop": "kill: brokers end with the run; orderly: they are asked to stop",
    },
    "Broker": {"controller": "true: votes as a controller; only: is nothing else; false: never"},
    "Topic": {
        "name": "its name",
        "partitions": "how many partitions",
        "replicas": "how many brokers hold each partition",
        "leader": "preferred leader: a host or a broker",
        "via": "the broker that is asked to make it and that its clients start from",
        "config": "any topic property",
    },
    "WeightedTopic": {"name": "a topic", "weight": "how often it is chosen, against the others"},
    "Producer": {
        "type": "STANDARD generates, SFST sends a file, MFST a folder, ELTT lines of a file, CUSTOM is your program",
        "topic": "where messages go",
        "topics": "several topics, with weights or without",
        "file": "a file for SFST and ELTT, a folder for MFST",
        "rate": "messages a second (1000/s) or bytes (30 KB/s); without it as fast as it goes",
        "arrivals": "when messages are due: constant, poisson, bursts, or a trace",
        "size": "of messages: 25 B, or a distribution",
        "keys": "keys of messages: so many, or a distribution",
        "messages": "it ends after so many",
        "passes": "it ends after so many passes over its file",
        "duration": "it ends after so long",
        "acks": "who must have a message before it is acknowledged: 0, 1, all",
        "linger": "how long a batch waits to fill",
        "batch": "largest batch",
        "buffer": "memory for messages that wait",
        "request_timeout": "how long a broker may take to answer",
        "compression": "of batches",
        "idempotence": "retries never double a message; needs acks: all",
        "transactions": "messages a transaction; needs acks: all",
        "imperfect": "shares of events that are late, out of order, doubled, missing or noisy",
    },
    "Arrivals": {
        "kind": "evenly, at random, in bursts, or as a trace says",
        "on": "length of a burst",
        "off": "length of the pause between bursts",
        "file": "a file with a time stamp a line",
        "speed": "how many times faster than it was recorded",
    },
    "Sizes": {
        "kind": "the distribution of sizes",
        "mean": "mean size",
        "low": "smallest size",
        "high": "largest size",
        "deviation": "standard deviation of a normal distribution",
        "shape": "tail of a pareto distribution: the smaller, the heavier",
    },
    "Keys": {
        "kind": "the distribution of keys",
        "count": "how many different keys",
        "skew": "how uneven zipf is",
        "value": "the one key where it is fixed",
    },
    "Imperfect": {
        "late": "share of events that come late",
        "late_by": "how late they come",
        "disordered": "share of events that change places",
        "disordered_by": "by how many places",
        "duplicated": "share of events that come twice",
        "missing": "share of events that never come",
        "noisy": "share of events with a changed value",
    },
    "Consumer": {
        "type": "STANDARD records what it reads; CUSTOM is your program",
        "topics": "what it reads",
        "pattern": "a regular expression of topics that it reads",
        "group": "its group; without one every instance gets every message",
        "from": "where it begins without a committed offset",
        "isolation": "whether it sees messages of open transactions",
        "commit": "when offsets are committed",
        "fetch_min": "how much a fetch waits for",
        "fetch_wait": "how long a fetch waits",
        "session_timeout": "how long it may be silent before its group goes on without it",
        "work": "time spent on each message before it counts as received",
    },
    "Engine": {"config": "any property of the engine"},
    "Sink": {
        "topics": "what it moves",
        "pattern": "a regular expression of topics that it moves",
        "store": "name of the store",
        "table": "where rows go",
        "keys": "fields that tell rows apart",
        "keys_from": "where the values of the keys come from",
        "mode": "whether rows are added or replace those with the same keys",
        "create": "whether a table that is missing is made",
        "batch": "rows written at once",
    },
    "Source": {
        "port": "port that it listens on",
        "file": "a file whose lines are served",
        "lines": "so many generated lines instead",
        "rate": "lines a second",
    },
    "Check": {
        "topics": "topics that are written down for it; without them all",
        "tables": "tables that are written down for it, as STORE.TABLE",
    },
    "Placement": {
        "by": "how hosts are chosen",
        "hosts": "hosts to choose from; without them all",
        "constraints": "who must or must not be together",
    },
    "Constraint": {
        "colocate": "components that share a host",
        "exlocate": "components on a host each",
        "isolate": "components with a host to themselves",
    },
    "Trace": {
        "from": "topic before the engine",
        "to": "topic behind it",
        "by": "how a message is recognised: header, key, value, or json:$.path",
    },
    "Restart": {"times": "how often", "delay": "how long after its death"},
    "Fault": {
        "do": "which kind of fault",
        "on": "one target or a list: a name, a link, a glob, or a role like 'leader of TOPIC'",
        "at": "a time from the start of load, or a share of the load",
        "for": "how long; without it until the end",
        "every": "repeated with this period",
        "until": "no repetition after this",
        "jitter": "how irregular repetitions are",
        "within": "a random moment in this window",
        "when": "a condition, like 'lag > 5000' or 'broker-h2 is controller'",
        "after": "so many messages, or the end of other faults",
        "delay": "so much later than that",
    },
    "FaultGroup": {
        "at": "when the group begins: a time from the start of load, or a share of the load",
        "when": "a condition that the group waits for",
        "after": "so many messages, or the end of other faults",
        "sequence": "faults one after the other",
        "parallel": "faults at the same time",
    },
}  # fmt: skip
_SHAPES = "the shape of the topology"


def meaning(model: str, key: str) -> str:
    """One line; empty when nobody has said what the key means."""
    found = MEANINGS.get(model, {}).get(key) or EVERYWHERE.get(key, "")
    return found or (_SHAPES if key == "kind" else "")


def described(schema: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of the experiment with a description of every key."""
    for model, key, value in keys_of(schema):
        words = meaning(model, key)
        if words:
            value["description"] = words
    return schema


def keys_of(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every key of every model in a schema, with what the schema says about it."""
    for model, definition in [*schema.get("$defs", {}).items(), ("Experiment", schema)]:
        for part in (definition, *definition.get("anyOf", ())):
            for key, value in part.get("properties", {}).items():
                yield model, key, value
