"""How fast a run was, and what its faults cost in time, in sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from stream2gym.analysis.histogram import Histogram, merge_histograms
from stream2gym.analysis.result_tables import Analysis, LatencyKind, OutageRow, RecoveryRow
from stream2gym.figures.number_text import format_digits
from stream2gym.findings.finding import Finding, Phrase, Words, compose, count, join_words, make_sentence, name, span

COST, SILENCE, LATENCY, THROUGHPUT, FIDELITY = (
    "table-faults-cost",
    "table-faults-silence",
    "latency",
    "throughput",
    "fidelity",
)
# A latency that changed by less than this share is called the same.
_SAME = 0.1
_KINDS: tuple[tuple[LatencyKind, str], ...] = (
    ("latency", ""),
    ("latency_sent", " from send"),
    ("trace_latency", " through the engine"),
    ("trace_latency_sent", " through the engine, from send"),
)


def tell_times(analysis: Analysis) -> Iterator[Finding]:
    """What the faults cost in time; in a run without such costs, how fast messages were."""
    costs = list(_tell_costs(analysis)) if analysis.faults else []
    yield from costs or _tell_speed(analysis)
    yield from _tell_machine(analysis)


def _tell_costs(analysis: Analysis) -> Iterator[Finding]:
    known = [row for row in analysis.recovery if row.recovery_s is not None]
    if not known:
        return
    worst = max(known, key=lambda row: (row.recovery_open, row.recovery_s or 0.0))
    silences = [row for row in analysis.outages if _is_of(row, worst) and row.longest_s > 0]
    parts = [_describe_silence(max(silences, key=lambda row: row.longest_s))] if silences else []
    if worst.recovery_open:
        waited = span(worst.recovery_s, COST)
        parts.append(
            compose("{topic} had not caught up {waited} after the fault", topic=name(worst.topic), waited=waited)
        )
    elif worst.recovery_s:
        waited = span(worst.recovery_s, COST)
        parts.append(
            compose("{topic} had caught up {waited} after the fault", topic=name(worst.topic), waited=waited)
        )
    elif not parts:
        parts.append(compose("no topic fell behind because of a fault"))
    if len(analysis.faults) > 1 and worst.recovery_s:
        parts[-1] = (*parts[-1], *compose(" {fault}", fault=name(worst.fault)))
    yield make_sentence(join_words(parts, ", ", ", and "))
    slower = _describe_slower(worst)
    if slower:
        yield make_sentence(slower)


def _is_of(row: OutageRow, cost: RecoveryRow) -> bool:
    return (row.fault, row.instance, row.topic) == (cost.fault, cost.instance, cost.topic)


def _describe_silence(row: OutageRow) -> Words:
    """Who saw nothing for how long."""
    words = "{client} received nothing of {topic} for {time}"
    if row.side == "acknowledged":
        words = "{client} got no acknowledgement from {topic} for {time}"
    time = span(row.longest_s, SILENCE, at_least=row.longest_open)
    return compose(words, client=name(row.client), topic=name(row.topic), time=time)


def _describe_slower(row: RecoveryRow) -> Words:
    """How the 99th percentile of the latency changed. Empty: it is not known, or it did not change."""
    before, during = row.latency_before_s, row.latency_during_s
    if before is None or during is None or during <= before * (1 + _SAME):
        return ()
    return compose(
        "the 99th percentile of the latency of {topic} rose from {before} to {during}",
        topic=name(row.topic),
        before=span(before, COST),
        during=span(during, COST, at_least=row.latency_during_open),
    )


def _tell_speed(analysis: Analysis) -> Iterator[Finding]:
    """The rate of acknowledged messages, and how long messages took."""
    parts: list[Words] = []
    acknowledged = sum(row.count_in_load() for row in analysis.sent)
    if acknowledged and analysis.load_s > 0:
        rate = Phrase(f"{format_digits(acknowledged / analysis.load_s)} messages/s", THROUGHPUT)
        parts.append(compose("{rate} were acknowledged", rate=rate))
    for kind, words in _KINDS:
        whole = merge_histograms(row.histogram for row in analysis.latency if row.kind == kind)
        if whole.count:
            parts.append(_describe_latency(whole, words))
            break
    if parts:
        yield make_sentence(join_words(parts, ", ", "; "))


def _describe_latency(whole: Histogram, words: str) -> Words:
    return compose(
        "half of them arrived within {half}" + words + " and {share} within {most}",
        half=span(whole.value("p50"), LATENCY),
        share=Phrase("99 %", LATENCY),
        most=span(whole.value("p99"), LATENCY),
    )


def _tell_machine(analysis: Analysis) -> Iterator[Finding]:
    """That the machine did not keep up, where it did not."""
    fidelity = analysis.fidelity
    if fidelity.good is None:
        yield make_sentence(compose("whether the machine kept up is unknown, so times may be too long"))
    elif fidelity.bad_seconds:
        yield make_sentence(
            compose(
                "the machine could not keep up in {bad} of {all} seconds of load, so times may be too long",
                bad=count(fidelity.bad_seconds, FIDELITY),
                all=count(fidelity.seconds, FIDELITY),
            )
        )
