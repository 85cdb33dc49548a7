"""Thousands of inputs made from good ones: valid variations, well-formed nonsense, and broken bytes."""

from __future__ import annotations

import random
import re
from copy import deepcopy
from typing import Any

from stream2gym.spec.readers.yaml_documents import read_documents
from stream2gym.spec.writers.yaml_writer import write_yaml

YAML_SEED = """\
s2g: 1
name: seed
topology:
  hosts: [h1, h2, {name: h3, cpu: 50 %, memory: 2 GiB, address: 10.0.0.9}]
  switches: [s1]
  links: ["h1 -- s1: 5 ms, 100 Mbps, 0.1 % loss", h2 -- s1, {between: [h3, s1], latency: 20 ms, forward: {loss: 1 %}}]
  routing: {by: latency, reconverge: 1 s}
brokers: [{on: h2, controller: true, config: {num.io.threads: 2}}]
topics: [{name: in, partitions: 3}, {name: out, leader: h2}]
producers: [{name: gen, on: h1, topic: in, rate: 1000/s, size: 25 B, messages: 20000, acks: all, keys: 5}]
consumers: [{name: see, on: h2, topics: [out], group: g, from: earliest}]
stores: [{name: db, on: h3, type: MYSQL, database: x}]
sinks: [{on: h3, topics: [out], store: db}]
placement: {by: random, constraints: [{exlocate: [gen, see]}]}
trace: [{from: in, to: out, by: value}]
time: 30 s
faults: [{name: cut, do: down, on: h1 -- s1, at: 10 s, for: 5 s}, {do: degrade, on: h2 -- s1, at: 5 %, latency: 9 ms}]
expect: [lost == 0, latency.p99 < 2 s]
"""
GRAPHML_SEED = """\
<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="lat" for="edge" attr.name="latency" attr.type="int"/>
<key id="bw" for="edge" attr.name="bandwidth" attr.type="int"/>
<graph edgedefault="undirected">
<data key="topicCfg">topics.yaml</data>
<data key="faultCfg">fault.yaml</data>
<node id="s1"/>
<node id="h1"><data key="zk">1</data><data key="brokerCfg">broker.yaml</data></node>
<node id="h2"><data key="prodType">STANDARD</data><data key="prodCfg">producer.yaml</data></node>
<node id="h3"><data key="consType">STANDARD</data><data key="consCfg">consumer.yaml</data>
<data key="cpuPercentage">0.5</data></node>
<edge source="s1" target="h1"><data key="st">1</data><data key="dt">1</data><data key="lat">7</data></edge>
<edge source="s1" target="h2"><data key="st">2</data><data key="dt">1</data><data key="bw">40</data></edge>
<edge source="s1" target="h3"><data key="loss">2</data></edge>
</graph>
</graphml>
"""
REFERRED = {
    "topics.yaml": "---\ntopicName: t\ntopicBroker: 1\ntopicPartition: 2\ntopicReplica: 1\n...\n",
    "fault.yaml": "---\nduration: 45\nlinks: s1-h1\n",
    "broker.yaml": "---\nreplicaMaxWait: 900\n",
    "producer.yaml": "---\ntopicName: t\nproducerInstances: 2\nmessageRate: 12\nacks: 2\n",
    "consumer.yaml": "---\ntopicName: t\nconsumerInstances: 3\nfetchMaxWait: 250\n",
}
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 3.5, 10**30, -1e300, "", " ", "x", "h1", "h9", "s1", "h1 -- s1", "-- --", "5 ms",
    "1e999 s", "-3 %", "nan", "inf", "٣ ms", "\u0000", "\U0001f600", "a" * 300, "%s{}\\", "$(id)", "; rm -rf x",
    "../../etc/passwd", "/dev/zero", "[", [], {}, [[]], {"name": None}, ["h1", 5], {"kind": "star", "hosts": 3},
    {"kind": "star", "hosts": "x"}, {"kind": []}, {"on": {}}, "leader of t", "random 9 of *", "json:$.a", "*", "[a-",
]  # fmt: skip


def valid_yaml(chance: random.Random) -> str:
    """Another experiment that is as good as the seed."""
    text = YAML_SEED.replace("5 ms", f"{chance.randint(0, 500)} ms").replace("1000/s", f"{chance.randint(1, 9999)}/s")
    text = text.replace("time: 30 s", f"time: {chance.randint(11, 500)} s").replace("partitions: 3", "partitions: 7")
    if chance.random() < 0.3:
        text = text.replace("gen", f"gen-{chance.randint(1, 99)}")
    lines = text.splitlines(keepends=True)
    head, rest = lines[:1], _blocks(lines[1:])
    chance.shuffle(rest)
    return "".join(head) + "".join(rest)


def _blocks(lines: list[str]) -> list[str]:
    """Top-level keys with what belongs to them."""
    blocks: list[str] = []
    for line in lines:
        if line.startswith(" "):
            blocks[-1] += line
        else:
            blocks.append(line)
    return blocks


def valid_graphml(chance: random.Random) -> str:
    number = re.compile(r'(<data key="(lat|bw)">)\d+')
    text = number.sub(lambda found: f"{found[1]}{chance.randint(1, 900)}", GRAPHML_SEED)
    if chance.random() < 0.5:
        text = text.replace('key="lat"', 'key="latency"').replace('key="zk"', 'key="zookeeper"')
    if chance.random() < 0.3:
        text = "\n".join(line for line in text.split("\n") if not line.startswith("<key"))
    if chance.random() < 0.3:
        text = text.replace("<node id=", "<!-- a comment --><node id=", chance.randint(1, 3))
    return text


def odd_yaml(chance: random.Random) -> str:
    """Well-formed YAML with something changed in the data."""
    data = read_documents(YAML_SEED, "seed")[0][0].data
    for _ in range(chance.randint(1, 4)):
        _change(data, chance)
    return write_yaml(data)


def _change(data: Any, chance: random.Random) -> None:
    here = data
    for _ in range(chance.randint(0, 5)):
        below = [v for v in (here.values() if isinstance(here, dict) else here) if isinstance(v, dict | list) and v]
        if not below:
            break
        here = chance.choice(below)
    if not here:
        return
    step = chance.choice(list(here)) if isinstance(here, dict) else chance.randrange(len(here))
    deed = chance.randrange(5)
    if deed == 0:
        del here[step]
    elif deed == 1 and isinstance(here, dict):
        here[_misspelt(str(step), chance)] = here.pop(step)
    elif deed == 2 and isinstance(here, list):
        here.append(deepcopy(here[step]))
    elif deed == 3 and isinstance(here[step], str):
        here[step] = _misspelt(here[step], chance)
    else:
        here[step] = deepcopy(chance.choice(ODD))


def _misspelt(text: str, chance: random.Random) -> str:
    place = chance.randrange(len(text) + 1)
    return text[:place] + chance.choice(["", "x", "-", " ", ":", "0", "é"]) + text[place + chance.randrange(2) :]


def odd_graphml(chance: random.Random) -> str:
    """Well-formed XML with values, keys or whole elements changed."""
    text = GRAPHML_SEED
    for _ in range(chance.randint(1, 4)):
        deed = chance.randrange(4)
        if deed == 0:
            spots = list(re.finditer(r">([^<>\n]+)</data>", text))
        elif deed == 1:
            spots = list(re.finditer(r'(?<=[a-z])="([^"]*)"(?! encoding)', text))
            spots = [spot for spot in spots if "http" not in spot[1] and spot.start() > 40]
        else:
            spots = list(re.finditer(r"(<node .*?/(?:node)?>|<edge .*?</edge>|<data .*?</data>|<key .*?/>)", text))
        if not spots:
            continue
        spot = chance.choice(spots)
        new = {2: "", 3: spot[1] * 2}.get(deed, _escaped(str(chance.choice(ODD))))
        text = text[: spot.start(1)] + new + text[spot.end(1) :]
    return text


def _escaped(text: str) -> str:
    clean = "".join(sign for sign in text if sign.isprintable())
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def odd_referred(chance: random.Random) -> dict[str, str]:
    """The files that the GraphML refers to, one of them changed."""
    files = dict(REFERRED)
    name = chance.choice(list(files))
    lines = files[name].splitlines()
    place = chance.randrange(len(lines))
    key = lines[place].partition(":")[0]
    odd = chance.choice(ODD)
    lines[place] = write_yaml({key or "x": odd}).strip("\n")
    files[name] = "\n".join(lines)
    return files


def broken(text: str, chance: random.Random) -> bytes:
    """Bytes changed, cut, doubled, anywhere."""
    data = bytearray(text.encode())
    for _ in range(chance.randint(1, 12)):
        place = chance.randrange(len(data))
        deed = chance.randrange(5)
        if deed == 0:
            data[place] = chance.randrange(256)
        elif deed == 1:
            del data[place : place + chance.randint(1, 40)]
        elif deed == 2:
            data[place:place] = bytes(chance.choice(b"<>&\"':{}[]-*!%\t\n\0#|,") for _ in range(chance.randint(1, 4)))
        elif deed == 3:
            data[place:place] = data[place : place + chance.randint(1, 60)]
        else:
            data = data[:place] if chance.random() < 0.2 else data
        if not data:
            return b""
    return bytes(data)
