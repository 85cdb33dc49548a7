"""Run folders without a run: a rich one with faults and losses, and a tiny one. The same bytes every time."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.result_tables import (
    Analysis,
    AuditRow,
    Change,
    Evidence,
    Fidelity,
    FlowPoint,
    LatencyPoint,
    LatencyRow,
    LeaderSpan,
    LinkRow,
    PhaseRow,
    PositionRow,
    ReceivedRow,
    ResourceRow,
    SentRow,
    SeriesPoint,
    SuspectSpan,
    TraceRow,
)
from stream2gym.judge.verdict import Judgement, Verdict
from stream2gym.link import LinkSettings
from stream2gym.plan.planned import Network, Plan, PlannedComponent, PlannedHost, PlannedLink, Routing

T0_NS = 1_000_000_000_000
LOAD_S = 60.0
STEP_S = 0.5
CUT = (10.0, 16.0)
KILL = (32.0, 35.5)


def lognormal(seed: int, median_s: float, spread: float, count: int = 4000) -> Histogram:
    chance = random.Random(seed)
    exact = (int(median_s * 1e9 * math.exp(chance.gauss(0, spread))) for _ in range(count))
    values = Counter(
        int(f"{value:.1e}".replace(".", "").split("e")[0]) * 10 ** (len(str(value)) - 2) for value in exact
    )
    total = float(sum(value * number for value, number in values.items()))
    return Histogram(tuple(sorted(values.items())), total, min(values), max(values))


def plan(name: str, hosts: int) -> Plan:
    names = [f"h{number}" for number in range(1, hosts + 1)]
    settings = LinkSettings(latency_ms=5, bandwidth_bps=1e8)
    links = tuple(
        PlannedLink(f"{host} -- s1", host, "s1", 1, number, settings, settings)
        for number, host in enumerate(names, 1)
    )
    machines = tuple(PlannedHost(host, f"10.0.0.{number}", "eth0") for number, host in enumerate(names, 1))
    network = Network(machines, ("s1",), links, Routing(), 7)
    roles = [("broker", "kafka"), ("broker", "kafka"), ("broker", "kafka"), ("producer", "STANDARD"),
             ("producer", "STANDARD"), ("consumer", "STANDARD")]  # fmt: skip
    if hosts == 2:
        roles = [("broker", "kafka"), ("producer", "STANDARD")]
    parts = tuple(
        PlannedComponent(f"{kind}-{host}", kind, type_, host)
        for host, (kind, type_) in zip(names, roles, strict=False)
    )
    return Plan(name, 7, network, parts, (), (), ("the link h1 -- s1 is slower than the load",) if hosts > 2 else ())


def rich_analysis(topic: str = "in") -> Analysis:
    chance = random.Random(5)
    producers, groups = ("producer-h4", "producer-h5"), ("audit", "billing")
    moments = [index * STEP_S for index in range(int(LOAD_S / STEP_S))]
    flow: list[FlowPoint] = []
    points: list[LatencyPoint] = []
    for at in moments:
        hurt = 0.15 if CUT[0] <= at < CUT[1] else 0.6 if KILL[0] <= at < KILL[1] else 1.0
        for number, producer in enumerate(producers):
            sent = int(500 + chance.gauss(0, 15))
            acked = int(sent * (hurt if number == 0 else 1.0))
            flow.append(FlowPoint("sent", topic, producer, "", at, sent, sent * 200))
            flow.append(FlowPoint("acknowledged", topic, producer, "", at, acked, acked * 200))
        for group in groups:
            got = int(980 * hurt + chance.gauss(0, 20))
            flow.append(FlowPoint("received", topic, f"consumer-{group}", group, at, got, got * 200))
            slow = 0.02 / hurt**2 * math.exp(chance.gauss(0, 0.1))
            if not CUT[0] + 2 <= at < CUT[1] - 1:
                points.append(LatencyPoint("latency", topic, group, at, got, slow, slow * 4, slow * 9))
    sent_rows = tuple(
        SentRow(topic, partition, producer, 20000, 19990, 0, 10, 0, 4_000_000, 3_998_000)
        for partition in range(3) for producer in producers
    )  # fmt: skip
    audit = tuple(
        AuditRow(topic, partition, producer, group, 19990, 19990 - lost, lost, redelivered=3 if partition == 0 else 0,
                 copies=19990 - lost)
        for partition in range(3) for producer in producers for group in groups
        for lost in [412 if (partition, producer, group) == (2, "producer-h4", "billing") else 0]
    )  # fmt: skip
    lost_ones = [
        Evidence("lost", topic, 2, "producer-h4", "billing", f"acknowledged at {10 + n / 1000:.3f} s, never received",
                 10_000 + n, 3400 + n)
        for n in range(10)
    ]  # fmt: skip
    evidence = (
        *lost_ones,
        Evidence("redelivered", topic, 0, "producer-h5", "audit", "offset read twice", 77, 70),
    )
    return Analysis(
        run="rides-20261116-120000-abcd", load_s=LOAD_S, step_s=STEP_S, sent=sent_rows,
        received=(ReceivedRow(topic, 0, "audit", "consumer-audit", 60000, 12_000_000),), audit=audit,
        positions=tuple(PositionRow(topic, p, g, 0, 40000, 0, 40000, 40000, 40000) for p in range(3) for g in groups),
        evidence=evidence,
        latency=(
            *(LatencyRow("latency", topic, 0, "producer-h4", g, histogram=lognormal(1, 0.03, 0.6)) for g in groups),
            LatencyRow("ack_latency", topic, 0, "producer-h4", histogram=lognormal(2, 0.012, 0.4)),
            LatencyRow("sync_latency", topic, 0, "producer-h4", histogram=lognormal(3, 0.05, 0.7)),
        ),
        latency_series=tuple(points), flow=tuple(flow), traces=(TraceRow(topic, "out", "value", 120000, 119588),),
        **cluster_and_machine(chance, moments),
        notes=("nobody recorded what custom-h6 received",), took_s={"session": 3.1, "audit": 2.2},
    )  # fmt: skip


def cluster_and_machine(chance: random.Random, moments: list[float]) -> dict[str, Any]:
    links, series, resources, usage = [], [], [], []
    for number in range(1, 7):
        for direction, (source, target) in (
            ("forward", (f"h{number}", "s1")),
            ("backward", ("s1", f"h{number}")),
        ):
            name, base = f"h{number} -- s1", 4e6 / number
            ports = (source, 1 if source != "s1" else number, target, number if target == "s1" else 1)
            dropped = {"down": 180, "queue": 12} if number == 4 else {}
            links.append(
                LinkRow(
                    name,
                    direction,
                    *ports,
                    50_000,
                    40_000_000,
                    base,
                    base * 2.2,
                    1e8,
                    50_200,
                    dropped,
                    65_000,
                )
            )
            for at in moments:
                cut = number == 4 and CUT[0] <= at < CUT[1]
                bps = 0.0 if cut else base * (1 + chance.gauss(0, 0.08))
                series.append(SeriesPoint(f"{name} {direction}", "bps", at, bps))
                series.append(SeriesPoint(f"{name} {direction}", "drops", at, 15.0 if cut else 0.0))
    for component, memory in (
        ("broker-h1", 3e8),
        ("broker-h2", 2.9e8),
        ("broker-h3", 3.1e8),
        ("producer-h4", 2.5e7),
    ):
        resources.append(ResourceRow(component, component[-2:], 0.08, 0.2, memory, memory * 1.1, 9.5))
        for at in moments:
            usage.append(SeriesPoint(component, "memory_bytes", at, memory * (1 + at / 900)))
            usage.append(SeriesPoint(component, "cpu", at, abs(0.08 + chance.gauss(0, 0.01))))
    spans = [LeaderSpan("in", p, p + 1, -2.0, LOAD_S + 3) for p in (0, 2)]
    spans += [
        LeaderSpan("in", 1, 2, -2.0, 32.0),
        LeaderSpan("in", 1, -1, 32.0, 33.1),
        LeaderSpan("in", 1, 3, 33.1, 63.0),
    ]
    phases = (("network", -9.0, -8.6), ("brokers", -8.6, -3.0), ("topics", -3.0, -1.4), ("consumers", -1.4, 0.0),
              ("load", 0.0, 60.0), ("drain", 60.0, 62.5), ("stop", 62.5, 63.5))  # fmt: skip
    return {
        "links": tuple(links), "link_series": tuple(series), "leaders": tuple(spans),
        "changes": (Change("leader", "in/1", 33.1, 2, 3), Change("isr", "in/1", 32.4, 3, 2)),
        "resources": tuple(resources), "resource_series": tuple(usage),
        "gauges": (
            *(SeriesPoint("kafka billing", "lag", at, 40 + 900 * (CUT[0] < at < CUT[1])) for at in moments),
            SeriesPoint("check fraud", "precision", 61.0, 0.975),
            *(SeriesPoint("kafka cluster", "under_replicated", at, 2 * (CUT[0] < at < CUT[1])) for at in moments),
            *(SeriesPoint("kafka cluster", "leaderless", at, 0) for at in moments),
            *(SeriesPoint("kafka group billing", "lag", at, 40 + 900 * (CUT[0] < at < CUT[1])) for at in moments),
            *(SeriesPoint("machine-use memory", "used_bytes", at, 4e9) for at in moments),
            *(SeriesPoint("machine-use cpu", "steal", at, 0.1) for at in moments),
        ),
        "phases": tuple(PhaseRow(*phase) for phase in phases),
        "fidelity": Fidelity(
            False, "lateness p99 over 1 ms in 7 % of the seconds", 0.001, 60, 4, 0.0014, 0.019,
            lognormal(9, 2e-4, 0.8), {}, ("the machine was busy with something else",),
            suspect=(SuspectSpan(12.0, 14.5, ("threads of broker-h2 waited for a CPU",)),),
            remedy="stop other programs",
            series=tuple(SeriesPoint("waits for a CPU", "share", float(at), 0.6 * (12 <= at < 15)) for at in moments),
        ),
    }  # fmt: skip


def rich_events() -> list[dict[str, Any]]:
    found: list[tuple[float, str, dict[str, Any]]] = [
        (-9.0, "phase", {"phase": "network"}), (-8.6, "phase", {"phase": "brokers"}),
        (0.0, "phase", {"phase": "load"}),
        *((-8.5, "started", {"component": f"broker-h{n}", "host": f"h{n}", "instance": 1}) for n in (1, 2, 3)),
        *((-0.5, "started", {"component": f"producer-h{n}", "host": f"h{n}", "instance": 1}) for n in (4, 5)),
        (CUT[0], "fault-applied",
         {"fault": "cut", "instance": 1, "do": "down", "on": ["h4 -- s1"], "planned_ns": T0_NS}),
        (CUT[1], "fault-healed", {"fault": "cut", "instance": 1}),
        (KILL[0], "fault-applied", {"fault": "kill-leader", "on": "broker-h2"}),
        (32.0, "died", {"component": "broker-h2", "host": "h2", "instance": 1, "how": "signal 9"}),
        (33.1, "leader", {"topic": "in", "partition": 1, "leader": 3, "before": 2}),
        (35.4, "started", {"component": "broker-h2", "host": "h2", "instance": 1}),
        (KILL[1], "fault-healed", {"fault": "kill-leader"}), (60.0, "phase", {"phase": "drain"}),
        *((63.0, "stopped", {"component": f"broker-h{n}", "host": f"h{n}", "instance": 1}) for n in (1, 2, 3)),
        (63.5, "phase", {"phase": "sealed"}),
    ]  # fmt: skip
    return [{"at_ns": T0_NS + round(at * 1e9), "wall": 0.0, "event": kind, **more} for at, kind, more in found]


def write_run(
    base: Path,
    name: str,
    *,
    hosts: int,
    analysis: Analysis | None,
    events: list[dict[str, Any]],
    verdict: Any = None,
) -> Path:
    folder = base / f"{name}-20261116-120000-abcd"
    (folder / "figures").mkdir(parents=True)
    info = {
        "format": 1, "name": name, "id": folder.name, "state": "done", "phase": "done", "seed": 7,
        "created": "2026-11-16T12:00:00+00:00", "created_ns": T0_NS - 10**10, "t0_ns": T0_NS,
        "t0_wall": "2026-11-16T12:00:10+00:00", "sealed": True, "command": ["s2g", "run", f"{name}.yaml"],
        "versions": {"stream2gym": "0.1.0", "kafka": "4.3.1", "java": "25", "python": "3.11.2"},
        "machine": {"cpus": 2, "memory": "8 GiB", "kernel": "6.12"},
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(info))
    (folder / "plan.json").write_text(json.dumps(plan(name, hosts).to_json()))
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    for file, value in (("analysis.json", analysis), ("verdict.json", verdict)):
        if value is not None:
            (folder / file).write_text(json.dumps(value.to_json()))
    return folder


def rich_verdict() -> Verdict:
    lost = tuple(f"producer-h4 #{10_000 + n} in in/2 offset {3400 + n}: never received" for n in range(5))
    late = "the machine may have shaped it: suspect from 12 to 14.5 s"
    judgements = (
        Judgement("received(group=audit) > 100000", "pass", 119940.0, "119940 (audit)", "delivery"),
        Judgement("latency.p99 < 2 s", "unknown", 0.117, "117 ms (in)", "performance", late),
        Judgement("lost == 0", "fail", 412.0, "412", "delivery", "", lost),
    )
    deaths = ("broker-h2 died unasked at 32.000 s: signal 9",)
    return Verdict("fail", judgements, deaths, (), ("the machine was busy with something else",))


def rich_run(base: Path) -> Path:
    return write_run(base, "rides", hosts=6, analysis=rich_analysis(), events=rich_events(), verdict=rich_verdict())


def tiny_run(base: Path) -> Path:
    sent = (SentRow("hello", 0, "producer-h2", 10, 10, 0, 0, 0, 100, 100),)
    audit = (AuditRow("hello", 0, "producer-h2", "see", 10, 10, copies=10),)
    flow = (FlowPoint("sent", "hello", "producer-h2", "", 0.0, 10, 100),)
    analysis = Analysis("hello", 1.0, 0.5, sent=sent, audit=audit, flow=flow)
    return write_run(base, "hello", hosts=2, analysis=analysis, events=[], verdict=Verdict("pass"))
