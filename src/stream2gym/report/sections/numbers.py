"""The key numbers, at a glance."""

from __future__ import annotations

from stream2gym.analysis.histogram import merge
from stream2gym.analysis.tables import Analysis
from stream2gym.figures.numbers import show
from stream2gym.report.blocks import Tile, missing, tiles
from stream2gym.report.choose import listed
from stream2gym.report.facts import Facts
from stream2gym.report.moments import unasked
from stream2gym.report.page import Section


def numbers(facts: Facts) -> Section:
    if facts.analysis is None:
        return Section("numbers", "Key numbers", (missing("The record has not been analysed."),))
    entries = [*_delivery(facts.analysis), *_speed(facts.analysis), *_health(facts)]
    return Section("numbers", "Key numbers", (tiles(entries),))


def _delivery(analysis: Analysis) -> list[Tile]:
    sent = sum(row.sent for row in analysis.sent)
    acknowledged = sum(row.acknowledged for row in analysis.sent)
    failed = sum(row.failed for row in analysis.sent)
    received = sum(row.received for row in analysis.audit)
    groups = len({row.group for row in analysis.audit})
    found = [
        Tile("sent", show(sent), f"{show(failed)} failed" if failed else "", "warn" if failed else ""),
        Tile("acknowledged", show(acknowledged), _of(acknowledged, sent)),
    ]
    foreign = sum(row.foreign for row in analysis.received)
    if received or not foreign:
        found.append(Tile("received", show(received), f"by {groups} groups together" if groups > 1 else ""))
    if foreign:
        found.append(Tile("results received", show(foreign), "sent by engines and programs"))
    for label, count, tone in (
        ("lost", sum(row.lost for row in analysis.audit), "bad"),
        ("lost, acks 0", sum(row.unconfirmed_lost for row in analysis.audit), "bad"),
        ("in flight", sum(row.in_flight for row in analysis.audit), "warn"),
        ("duplicated", sum(row.duplicated for row in analysis.audit), "warn"),
        ("out of order", sum(row.out_of_order for row in analysis.audit), "warn"),
        ("fate unknown", sum(row.unknown for row in analysis.audit), "warn"),
    ):
        if count or label == "lost":
            detail = (
                _of(count, sum(row.expected for row in analysis.audit)) if label == "lost" and count else ""
            )
            found.append(Tile(label, show(count), detail, tone if count else _calm(analysis)))
    return found


def _calm(analysis: Analysis) -> str:
    """Nothing lost is good news only when the fate of every message is known."""
    return "good" if analysis.audit and not any(row.unknown for row in analysis.audit) else ""


def _of(part: int, whole: int) -> str:
    return f"{show(part / whole, 'share')} of {show(whole)}" if whole and part != whole else ""


def _speed(analysis: Analysis) -> list[Tile]:
    found = []
    acknowledged = sum(row.acknowledged for row in analysis.sent)
    if analysis.load_s > 0 and acknowledged:
        payload = sum(row.acknowledged_bytes for row in analysis.sent)
        detail = f"{show(payload / analysis.load_s, 'B/s')} acknowledged"
        found.append(Tile("throughput", show(acknowledged / analysis.load_s, "/s"), detail))
    whole = merge(row.histogram for row in analysis.latency if row.kind == "latency")
    if whole.count:
        detail = f"p50 {show(whole.value('p50'), 's')}, highest {show(whole.value('max'), 's')}"
        found.append(Tile("latency p99", show(whole.value("p99"), "s"), detail))
    return found


def _health(facts: Facts) -> list[Tile]:
    assert facts.analysis is not None
    analysis, found = facts.analysis, []
    dead = [str(event.get("component", "?")) for event in facts.events if unasked(event)]
    if dead:
        found.append(Tile("died unasked", show(len(dead)), listed(dead, 3), "bad"))
    changes = sum(change.what == "leader" for change in analysis.changes)
    if changes:
        found.append(Tile("leader changes", show(changes)))
    before = [span for span in facts.phases if span.start < 0]
    if before:
        took = min(0.0, max(span.end for span in before)) - min(span.start for span in before)
        found.append(Tile("start-up", show(took, "s"), "until load began"))
    words = {True: ("kept up", "good"), False: ("could not keep up", "bad"), None: ("unknown", "")}
    text, tone = words[analysis.fidelity.good]
    found.append(Tile("emulation", text, "" if analysis.fidelity.good else analysis.fidelity.reason, tone))
    return found
