"""The final figures of a run as OpenMetrics text, for systems that keep figures of many runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from stream2gym.analysis.histogram import merge_histograms
from stream2gym.analysis.result_tables import Analysis
from stream2gym.judge.verdict import Verdict
from stream2gym.report.facts import Facts
from stream2gym.version import __version__

PREFIX = "stream2gym"
_STATS = ("p50", "p90", "p99", "p99.9", "mean", "max")
_HOLDS = {"pass": 1.0, "fail": 0.0, "unknown": math.nan}

Labels = dict[str, str]


@dataclass
class _Family:
    """One metric with its samples."""

    name: str
    kind: str
    text: str
    unit: str = ""
    samples: list[tuple[str, Labels, float]] = field(default_factory=list)

    def add(self, value: float | None, suffix: str = "", **labels: str) -> None:
        if value is not None:
            self.samples.append((suffix, labels, value))

    def lines(self) -> Iterator[str]:
        name = f"{PREFIX}_{self.name}"
        yield f"# TYPE {name} {self.kind}"
        if self.unit:
            yield f"# UNIT {name} {self.unit}"
        yield f"# HELP {name} {_escape(self.text)}"
        for suffix, labels, value in self.samples:
            inside = ",".join(f'{key}="{_escape(text)}"' for key, text in labels.items())
            yield f"{name}{suffix}{{{inside}}} {_format(value)}" if inside else f"{name}{suffix} {_format(value)}"


def make_openmetrics(facts: Facts) -> str:
    """The text, with its end mark."""
    families = [_describe_run(facts), *_describe_verdict(facts.verdict)]
    if facts.analysis is not None:
        families += _describe_messages(facts.analysis)
        families += _describe_speed(facts.analysis)
        families += _describe_machine(facts.analysis)
    lines = [line for family in families if family.samples for line in family.lines()]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _describe_run(facts: Facts) -> _Family:
    family = _Family("run", "info", "The run that these figures are of.")
    seed = str(facts.info.get("seed", ""))
    family.add(1.0, "_info", experiment=facts.name, run=facts.folder.name, seed=seed, version=__version__)
    return family


def _describe_verdict(verdict: Verdict | None) -> Iterable[_Family]:
    outcome = verdict.outcome if verdict else "unknown"
    states = _Family("verdict", "stateset", "The verdict on the run.")
    for one in ("pass", "fail", "unknown"):
        states.add(float(one == outcome), **{f"{PREFIX}_verdict": one})
    holds = _Family("expectation_holds", "gauge", "1: it holds, 0: it does not, NaN: unknown.")
    for number, judgement in enumerate(verdict.judgements if verdict else (), 1):
        holds.add(_HOLDS[judgement.outcome], number=str(number), expectation=judgement.text)
    return states, holds


def _describe_messages(analysis: Analysis) -> Iterable[_Family]:
    sent = _Family("sent_messages", "gauge", "Messages by what their producer was told.")
    for topic in dict.fromkeys(row.topic for row in analysis.sent):
        rows = [row for row in analysis.sent if row.topic == topic]
        for outcome in ("acknowledged", "failed", "unanswered", "unconfirmed"):
            sent.add(float(sum(getattr(row, outcome) for row in rows)), topic=topic, outcome=outcome)
    audit = _Family("audited_messages", "gauge", "Messages by what became of them on the way to a group.")
    for topic, group in dict.fromkeys((row.topic, row.group) for row in analysis.audit):
        ways = [row for row in analysis.audit if (row.topic, row.group) == (topic, group)]
        for fate in ("received", "lost", "in_flight", "duplicated", "out_of_order", "unknown"):
            audit.add(float(sum(getattr(row, fate) for row in ways)), topic=topic, group=group, fate=fate)
    return sent, audit


def _describe_speed(analysis: Analysis) -> Iterable[_Family]:
    rate = _Family("acknowledged_per_second", "gauge", "Messages acknowledged a second of load.")
    if analysis.load_s > 0:
        for topic in dict.fromkeys(row.topic for row in analysis.sent):
            count = sum(row.count_in_load() for row in analysis.sent if row.topic == topic)
            rate.add(count / analysis.load_s, topic=topic)
    latency = _Family("latency_seconds", "gauge", "Latencies by kind, topic and group.", "seconds")
    for kind, topic, group in dict.fromkeys((row.kind, row.topic, row.group) for row in analysis.latency):
        same = (row for row in analysis.latency if (row.kind, row.topic, row.group) == (kind, topic, group))
        whole = merge_histograms(row.histogram for row in same)
        for stat in _STATS if whole.count else ():
            latency.add(whole.value(stat), kind=kind, topic=topic, group=group, stat=stat)
    recovery = _Family("recovery_seconds", "gauge", "From the beginning of a fault until it was over.", "seconds")
    for row in analysis.recovery:
        if not row.recovery_open:
            recovery.add(row.recovery_s, fault=row.fault, instance=str(row.instance), topic=row.topic)
    return rate, latency, recovery


def _describe_machine(analysis: Analysis) -> Iterable[_Family]:
    load = _Family("load_seconds", "gauge", "Length of the load.", "seconds")
    load.add(analysis.load_s)
    suspect = _Family(
        "suspect_seconds", "gauge", "Seconds of load in which the machine could not keep up.", "seconds"
    )
    suspect.add(float(analysis.fidelity.bad_seconds) if analysis.fidelity.suspect is not None else None)
    memory = _Family("memory_max_bytes", "gauge", "Highest resident memory of a component.", "bytes")
    for row in analysis.resources:
        memory.add(row.memory_max_bytes, component=row.component, host=row.host)
    return load, suspect, memory


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _format(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return f"{value:.10g}"
