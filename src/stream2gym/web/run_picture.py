"""What the page draws, as plain data: the topology of a plan with the places of everything, and its pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from stream2gym.figures.topology_placement import TopologyPlacement, text_width
from stream2gym.plan.link_text import link_words
from stream2gym.plan.natural_order import natural
from stream2gym.plan.planned import Plan

_ROW = 46.0
_COLUMN_GAP = 90.0
_HEIGHT = 30.0


def draw_picture(plan: Plan) -> dict[str, Any]:
    """The nodes and links of a topology, each with its place; the same figure as in the report."""
    placement = TopologyPlacement(plan)
    left, top, right, bottom = placement.bounds()
    nodes = []
    hosts = {host.name: host for host in plan.network.hosts}
    for name, (x, y) in placement.layout.at.items():
        width, height = placement.graph.sizes[name]
        node: dict[str, Any] = {
            "name": name, "kind": "host" if name in hosts else "switch", "x": x, "y": y, "w": width, "h": height,
        }  # fmt: skip
        if name in hosts:
            host = hosts[name]
            node["address"] = host.address
            node["lines"] = [
                {"text": line.text, "kind": line.kind, "component": line.component} for line in placement.cards[name]
            ]
            node["limits"] = {"cpu": host.cpu_share, "memory": host.memory_bytes, "disk": host.disk_bytes}
        nodes.append(node)
    links = [
        {
            "name": placed.link.name, "a": placed.link.a, "b": placed.link.b, "path": placed.path,
            "label": placed.label, "x": placed.at[0], "y": placed.at[1], "settings": link_words(placed.link),
        }
        for placed in placement.links
    ]  # fmt: skip
    components = [
        {
            "name": part.name, "kind": part.kind, "type": part.type, "host": part.host, "instances": part.instances,
            "talks_to": list(part.talks_to),
        }
        for part in plan.components
    ]  # fmt: skip
    box = [left - 12, top - 12, right - left + 24, bottom - top + 24]
    return {"box": box, "nodes": nodes, "links": links, "said": placement.said, "components": components}


def draw_pipeline(plan: Plan, experiment: Mapping[str, Any]) -> dict[str, Any]:
    """Producers, topics, engines, stores and consumers in the order in which messages pass them."""
    topics = [_topic_name(topic) for topic in experiment.get("topics") or ()]
    edges = sorted(pipeline_edges(experiment, topics))
    guessed = sorted(guess_engine_edges(experiment, topics, edges))
    kinds = {part.name: part.kind for part in plan.components if part.kind != "broker"}
    named = {f"topic {name}" for name in topics} | {end for edge in edges for end in edge if end.startswith("topic ")}
    # Sources that serve lines to engines have no topic; they belong to the pipeline all the same.
    boxes = {**kinds, **dict.fromkeys(named, "topic")}
    columns = _columns(boxes, [*edges, *guessed])
    nodes, x, lowest = [], 0.0, 0.0
    for column in columns:
        width = max(max(text_width(_shown(name), 12, bold=True) + 40, 90.0) for name in column)
        top = -_ROW * (len(column) - 1) / 2
        for row, name in enumerate(column):
            y = top + row * _ROW
            lowest = max(lowest, abs(y))
            nodes.append(
                {
                    "name": _shown(name), "kind": boxes[name], "id": name, "x": x + width / 2, "y": y, "w": width,
                    "h": _HEIGHT,
                }
            )  # fmt: skip
        x += width + _COLUMN_GAP
    box = [-16, -lowest - _HEIGHT, max(x - _COLUMN_GAP, 60) + 32, 2 * lowest + 2 * _HEIGHT]
    return {
        "box": box,
        "nodes": nodes,
        "edges": [[*edge, False] for edge in edges] + [[*edge, True] for edge in guessed],
    }


def pipeline_edges(experiment: Mapping[str, Any], topics: Iterable[str]) -> set[tuple[str, str]]:
    """From whom to whom messages go, as the experiment says. A topic is ``topic NAME``."""
    known = list(topics)
    edges: set[tuple[str, str]] = set()
    for producer in experiment.get("producers") or ():
        named = [producer["topic"]] if producer.get("topic") else []
        edges |= {(str(producer.get("name")), f"topic {name}") for name in [*named, *_names(producer.get("topics"))]}
    for section in ("consumers", "sinks"):
        for reader in experiment.get(section) or ():
            for topic in [*_names(reader.get("topics")), *_matching(reader.get("pattern"), known)]:
                edges.add((f"topic {topic}", str(reader.get("name"))))
            if section == "sinks" and reader.get("store"):
                edges.add((str(reader.get("name")), str(reader["store"])))
    for trace in experiment.get("trace") or ():
        for engine in experiment.get("engines") or ():
            name = str(engine.get("name"))
            edges |= {(f"topic {trace['from']}", name), (name, f"topic {trace['to']}")}
    return edges


def guess_engine_edges(
    experiment: Mapping[str, Any], topics: Iterable[str], edges: Iterable[tuple[str, str]]
) -> set[tuple[str, str]]:
    """What engines without a known edge may read and write, because nobody else does.

    An engine reads what is written and not read, and writes what is read and not written. The experiment does not say
    so; the page draws these edges dashed.
    """
    known = set(edges)
    written = {end for _, end in known}
    read = {start for start, _ in known}
    boxes = [f"topic {name}" for name in topics]
    guessed: set[tuple[str, str]] = set()
    for engine in experiment.get("engines") or ():
        name = str(engine.get("name"))
        if name in written or name in read:
            continue
        guessed |= {(box, name) for box in boxes if box in written and box not in read}
        guessed |= {(name, box) for box in boxes if box not in written}
    return guessed


def _columns(boxes: Mapping[str, str], edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The boxes in columns, so that edges go to the right; edges of a loop may go back."""
    edges = [edge for edge in edges if edge[0] in boxes and edge[1] in boxes]
    column = dict.fromkeys(boxes, 0)
    for _ in range(min(len(boxes), 40)):
        for start, end in edges:
            column[end] = max(column[end], column[start] + 1)
    highest = {name: min(number, len(boxes)) for name, number in column.items()}
    numbers = sorted(set(highest.values()))
    return [sorted((name for name in boxes if highest[name] == number), key=natural) for number in numbers]


def _topic_name(topic: Any) -> str:
    return str(topic.get("name")) if isinstance(topic, Mapping) else str(topic)


def _names(value: Any) -> list[str]:
    items = [value] if isinstance(value, str) else value or []
    return [_topic_name(item) for item in items]


def _matching(pattern: Any, topics: Iterable[str]) -> list[str]:
    try:
        return [topic for topic in topics if pattern and re.match(str(pattern), topic)]
    except re.error:
        return []


def _shown(name: str) -> str:
    return name.removeprefix("topic ")
