"""Run folders with known contents, written without a run: for the rehearsal of the start-up cache and for tests.

``FakeRun`` takes messages, samples and events one by one and writes a sealed folder in the format of ``record``.
``rehearsal`` makes a small one for which an analysis asks all of its questions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from stream2gym.link import LinkSettings
from stream2gym.plan.planned import (
    Network,
    PathView,
    Plan,
    PlannedComponent,
    PlannedHost,
    PlannedLink,
    Routing,
)
from stream2gym.record.folder import FORMAT
from stream2gym.record.schemas import TABLES

T0_NS = 1_000_000_000_000
MS = 1_000_000


class FakeRun:
    """The contents of a made-up run folder. Times are seconds from the start of load."""

    def __init__(self, load_s: float = 10.0, **experiment: Any) -> None:
        self.load_s = load_s
        self.experiment: dict[str, Any] = {"name": "fake", "time": f"{load_s} s", **experiment}
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
        self.events: list[dict[str, Any]] = []
        # The limits of hosts, as shares of the whole machine.
        self.cpu_shares: dict[str, float] = {}
        self.event("phase", -2.0, phase="network")
        self.event("phase", -1.5, phase="brokers")
        self.event("phase", 0.0, phase="load")
        self.event("phase", load_s, phase="drain")
        self.event("phase", load_s + 1, phase="stop")

    def send(
        self,
        seq: int,
        *,
        topic: str = "in",
        producer: str = "gen",
        partition: int | None = 0,
        offset: int | None = None,
        status: str = "acked",
        due_s: float | None = None,
        ack_s: float = 0.005,
        value: int | None = None,
        error: str | None = None,
    ) -> None:
        """Add a message that was due at ``due_s``, sent 1 ms later, and acknowledged or failed ``ack_s`` after
        due."""
        due_ns = round((seq / 1000 if due_s is None else due_s) * 1e9)
        is_reported = status in ("acked", "failed", "unconfirmed")
        self.rows["sent"].append(
            {
                "producer": producer, "instance": 1, "seq": seq, "topic": topic, "partition": partition,
                "offset": offset if offset is not None or status != "acked" else seq,
                "key_hash": None, "value_hash": seq if value is None else value, "size": 100,
                "due_ns": due_ns, "sent_ns": due_ns + MS,
                "done_ns": due_ns + round(ack_s * 1e9) if is_reported else None, "status": status, "error": error,
            }
        )  # fmt: skip

    def receive(
        self,
        seq: int | None,
        *,
        topic: str = "in",
        producer: str | None = "gen",
        group: str = "g",
        consumer: str = "see",
        partition: int = 0,
        offset: int | None = None,
        at_s: float | None = None,
        value: int | None = None,
    ) -> None:
        """Add a receipt, by default 20 ms after the message was due."""
        number = seq or 0
        self.rows["received"].append(
            {
                "consumer": consumer, "instance": 1, "group": group, "topic": topic, "partition": partition,
                "offset": number if offset is None else offset,
                "producer": None if seq is None else producer, "seq": seq,
                "key_hash": None, "value_hash": number if value is None else value, "size": 100,
                "broker_ms": 0, "at_ns": round((number / 1000 + 0.020 if at_s is None else at_s) * 1e9),
            }
        )  # fmt: skip

    def offsets(self, topic: str, partition: int, start: int, end: int) -> None:
        self.rows["offsets"].append({"topic": topic, "partition": partition, "start": start, "end": end})

    def sample(self, at_s: float, source: str, obj: str, metric: str, value: float) -> None:
        self.rows["samples"].append(
            {"at_ns": round(at_s * 1e9), "source": source, "object": obj, "metric": metric, "value": value}
        )

    def event(self, kind: str, at_s: float, **details: Any) -> None:
        self.events.append({"at_ns": T0_NS + round(at_s * 1e9), "wall": 1.7e9 + at_s, "event": kind, **details})

    def write(self, path: Path) -> Path:
        """Write the folder, sealed."""
        (path / "data").mkdir(parents=True)
        for name, schema in TABLES.items():
            pq.write_table(pa.Table.from_pylist(self.rows[name], schema), path / "data" / f"{name}.parquet")
        self.write_rest(path)
        return path

    def write_rest(self, path: Path) -> None:
        """Write everything but the tables."""
        info = {
            "format": FORMAT, "name": "fake", "id": path.name, "state": "done", "phase": "done", "seed": 1,
            "created": "2026-01-01T00:00:00+00:00", "created_ns": T0_NS - 2_000_000_000,
            "began_ns": T0_NS - 17_000_000_000, "t0_ns": T0_NS,
            "t0_wall": "2026-01-01T00:00:02+00:00", "sealed": True,
        }  # fmt: skip
        (path / "run.json").write_text(json.dumps(info), "utf-8")
        (path / "experiment.yaml").write_text(yaml.safe_dump(self.experiment), "utf-8")
        (path / "plan.json").write_text(json.dumps(self._plan().to_json()), "utf-8")
        lines = (json.dumps(event) + "\n" for event in sorted(self.events, key=lambda event: event["at_ns"]))
        (path / "events.jsonl").write_text("".join(lines), "utf-8")

    def _plan(self) -> Plan:
        link = LinkSettings(latency_ms=10.0, bandwidth_bps=100e6)
        hosts = ("h1", "h2")
        network = Network(
            hosts=tuple(
                PlannedHost(name, f"10.0.0.{name[1:]}", "eth0", cpu_share=self.cpu_shares.get(name)) for name in hosts
            ),
            switches=("s1",),
            links=tuple(PlannedLink(f"{name} -- s1", name, "s1", 1, int(name[1:]), link, link) for name in hosts),
            routing=Routing(),
            seed=1,
        )
        kinds = ("brokers", "stores", "sinks", "engines", "consumers", "producers")
        components = tuple(
            PlannedComponent(part["name"], kind[:-1], part.get("type", ""), part.get("on", "h1"))
            for kind in kinds
            for part in self.experiment.get(kind, [])
        )
        paths = (PathView("h1", "h2", ("h1", "s1", "h2"), 40.0, 100e6),)
        return Plan("fake", 1, network, components, paths, (), ())


def rehearsal() -> FakeRun:
    """A small run with two groups, a loss, a duplicate, a trace, links, leaders and processes."""
    run = FakeRun(
        2.0,
        topics=[{"name": "in", "partitions": 2}, {"name": "out"}],
        brokers=[{"name": "broker-h2", "on": "h2"}],
        producers=[{"name": "gen", "on": "h1", "topic": "in"}],
        consumers=[
            {"name": "see", "on": "h1", "topics": ["in"], "group": "g"},
            {"name": "also", "on": "h2", "topics": ["in", "out"], "group": "k"},
        ],
        trace=[{"from": "in", "to": "out", "by": "value"}],
    )
    for seq in range(1000):
        partition, offset = seq % 2, seq // 2
        run.send(seq, partition=partition, offset=offset)
        if seq != 7:
            run.receive(seq, partition=partition, offset=offset)
        run.receive(seq, partition=partition, offset=offset, group="k", consumer="also")
        run.receive(None, topic="out", offset=seq, group="k", consumer="also", value=seq, at_s=seq / 1000 + 0.1)
    run.receive(10, partition=0, offset=5, at_s=1.5)
    for partition in range(2):
        run.offsets("in", partition, 0, 500)
    run.offsets("out", 0, 0, 1000)
    for tick in range(5):
        at_s = tick / 2
        for direction in ("forward", "backward"):
            run.sample(at_s, "fabric", f"h1 -- s1 {direction}", "delivered_bytes", tick * 10_000)
        run.sample(at_s, "fabric", "lateness", "packets", 10)
        run.sample(at_s, "fabric", "lateness", "le_200", 10)
        run.sample(at_s, "process", "broker-h2", "cpu_s", tick / 10)
        run.sample(at_s, "kafka", "in/0", "leader", 1)
    return run
