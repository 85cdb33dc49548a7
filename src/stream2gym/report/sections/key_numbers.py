"""The key numbers of the run."""

from __future__ import annotations

from stream2gym.analysis.histogram import merge_histograms
from stream2gym.analysis.result_tables import Analysis
from stream2gym.analysis.run_history import find_startup_s, find_warmup, is_unasked_death
from stream2gym.figures.number_text import NOTHING, show
from stream2gym.report.blocks import Tile, join_names, missing, tiles
from stream2gym.report.facts import Facts
from stream2gym.report.page import Section


def make_key_numbers_section(facts: Facts) -> Section:
    if facts.analysis is None:
        return Section("numbers", "Key numbers", (missing("The record has not been analysed."),))
    entries = [*_make_delivery_tiles(facts.analysis), *_make_speed_tiles(facts.analysis), *_make_health_tiles(facts)]
    return Section("numbers", "Key numbers", (tiles(entries),))


def _make_delivery_tiles(analysis: Analysis) -> list[Tile]:
    sent = sum(row.sent for row in analysis.sent)
    acknowledged = sum(row.acknowledged for row in analysis.sent)
    failed = sum(row.failed for row in analysis.sent)
    received = sum(row.received for row in analysis.audit)
    groups = len({row.group for row in analysis.audit})
    warmup = sum(row.warmup for row in analysis.sent)
    details = [f"{show(failed)} failed"] if failed else []
    details += [f"{show(warmup)} in the warm-up"] if warmup else []
    found = [
        Tile("sent", show(sent), ", ".join(details), "warn" if failed else ""),
        Tile("acknowledged", show(acknowledged), _describe_share(acknowledged, sent)),
    ]
    foreign = sum(row.foreign for row in analysis.received)
    is_read = not sent or any(row.group for row in analysis.audit)
    if not is_read:
        found.append(Tile("received, lost", NOTHING, "nobody whose messages are recorded reads these topics"))
    if is_read and (received or not foreign):
        found.append(Tile("received", show(received), f"by {groups} groups together" if groups > 1 else ""))
    if foreign:
        found.append(Tile("results received", show(foreign), "sent by engines and programs"))
    for label, count, tone in (
        ("lost", sum(row.lost for row in analysis.audit), "bad"),
        ("lost, acks 0", sum(row.unconfirmed_lost for row in analysis.audit), "bad"),
        ("in flight", sum(row.in_flight for row in analysis.audit), "warn"),
        ("unanswered", sum(row.unanswered for row in analysis.sent), "warn"),
        ("duplicated", sum(row.duplicated for row in analysis.audit), "warn"),
        ("out of order", sum(row.out_of_order for row in analysis.audit), "warn"),
        ("fate unknown", sum(row.unknown for row in analysis.audit), "warn"),
    ):
        if count or (label == "lost" and is_read):
            detail = (
                _describe_share(count, sum(row.expected for row in analysis.audit))
                if label == "lost" and count
                else ""
            )
            found.append(Tile(label, show(count), detail, tone if count else _pick_tone_of_zero(analysis)))
    return found


def _pick_tone_of_zero(analysis: Analysis) -> str:
    """The tone of a count of zero: good only when every message was observed to arrive."""
    is_unsure = any(row.unknown or row.in_flight or row.unconfirmed_in_flight for row in analysis.audit)
    return "good" if any(row.received for row in analysis.audit) and not is_unsure else ""


def _describe_share(part: int, whole: int) -> str:
    return f"{show(part / whole, 'share')} of {show(whole)}" if whole and part != whole else ""


def _make_speed_tiles(analysis: Analysis) -> list[Tile]:
    found = []
    acknowledged = sum(row.count_in_load() for row in analysis.sent)
    if analysis.load_s > 0 and acknowledged:
        payload = sum(row.count_in_load(by_bytes=True) for row in analysis.sent)
        detail = f"{show(payload / analysis.load_s, 'B/s')} acknowledged"
        found.append(Tile("throughput", show(acknowledged / analysis.load_s, "/s"), detail))
    for kind, name in (("latency", "latency p99"), ("latency_sent", "latency p99, from send")):
        whole = merge_histograms(row.histogram for row in analysis.latency if row.kind == kind)
        if whole.count:
            detail = f"p50 {show(whole.value('p50'), 's')}, highest {show(whole.value('max'), 's')}"
            found.append(Tile(name, show(whole.value("p99"), "s"), detail))
    return found


def _make_health_tiles(facts: Facts) -> list[Tile]:
    assert facts.analysis is not None
    analysis, found = facts.analysis, []
    dead = [str(event.get("component", "?")) for event in facts.events if is_unasked_death(event)]
    if dead:
        found.append(Tile("died unasked", show(len(dead)), join_names(dead, 3), "bad"))
    changes = sum(change.what == "leader" for change in analysis.changes)
    if changes:
        found.append(Tile("leader changes", show(changes)))
    startup_s = find_startup_s(facts.phases)
    if startup_s is not None:
        found.append(Tile("start-up", show(startup_s, "s"), "until load began"))
    warmup = find_warmup(facts.phases)
    if warmup is not None and warmup.seconds is not None:
        found.append(Tile("warm-up", show(warmup.seconds, "s"), "counts for delivery only"))
    words = {True: ("kept up", "good"), False: ("fell behind at times", "warn"), None: ("unknown", "")}
    text, tone = words[analysis.fidelity.good]
    found.append(Tile("the machine", text, "" if analysis.fidelity.good else analysis.fidelity.reason, tone))
    return found
