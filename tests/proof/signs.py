"""Whether a fault hurt: what the record shows of it, each sign in words with its numbers.

A case that hurt nobody proves nothing, so it names the signs that it must show.
"""

from __future__ import annotations

from statistics import median

from tests.proof.record import AFTER_S, SETTLED_S, Record, p99

RISE, RISE_S = 3.0, 0.1  # a latency has risen when it is so many times, and so much, over that before
TYPICAL_RISE, TYPICAL_RISE_S = 1.5, 0.02  # the same for a usual second beside the worst one before


def signs(record: Record) -> dict[str, str]:
    """The signs that are there, by name."""
    found = {
        "leader": _elections(record),
        "isr": _shrinks(record),
        "controller": _many(len(record.during("controller")), "change of controller", "changes of controller"),
        "group": _many(len(record.since("assigned")), "rebalance", "rebalances"),
        "errors": _errors(record),
        "latency": _latency(record),
        "store": _many(
            len(record.since("store-lost")), "connection to the store lost", "connections to the store lost"
        ),
        "engine": _many(len(record.since("query-started")), "query restarted", "queries restarted"),
    }
    return {name: words for name, words in found.items() if words}


def _many(number: int, one: str, more: str) -> str:
    return "" if not number else f"{number} {one if number == 1 else more}"


def _elections(record: Record) -> str:
    moved = [e for e in record.during("leader") if e["leader"] >= 0]
    if not moved:
        return ""
    first = min(e["t_s"] for e in moved) - record.faults.from_s
    return f"{_many(len(moved), 'new leader', 'new leaders')}, the first after {first:.2f} s"


def _shrinks(record: Record) -> str:
    out = [e for e in record.during("isr") if len(e["in_sync"]) < len(e["before"])]
    return _many(len(out), "replica out of sync", "replicas out of sync")


def _errors(record: Record) -> str:
    failed = [r for r in record.sent if r["status"] == "failed" and record.faults.holds(r["due_ns"] / 1e9)]
    return _many(len(failed), "message failed", "messages failed")


def _latency(record: Record) -> str:
    """The acknowledgement latency of what was due during the faults beside that of what was due before.

    Its p99 has to be well over that before; or, where a busy machine is slow at times anyway, the middle one of the
    seconds during the faults well over the worst one before.
    """
    span = record.faults
    before = p99(record.ack_waits(SETTLED_S, span.from_s - 0.5))
    during = p99(record.ack_waits(span.from_s, span.to_s + AFTER_S))
    if before and during >= max(RISE * before, before + RISE_S):
        return f"ack p99 {before * 1e3:.0f} -> {during * 1e3:.0f} ms"
    worst = max(_by_second(record, SETTLED_S, span.from_s - 0.5), default=0.0)
    typical = median(_by_second(record, span.from_s, span.to_s) or [0.0])
    if worst and typical >= max(TYPICAL_RISE * worst, worst + TYPICAL_RISE_S):
        return f"ack p50 of the worst second before {worst * 1e3:.0f} ms, a usual one during {typical * 1e3:.0f} ms"
    return ""


def _by_second(record: Record, from_s: float, to_s: float) -> list[float]:
    """The median latency of every whole second."""
    seconds = [record.ack_waits(from_s + n, from_s + n + 1) for n in range(int(to_s - from_s))]
    return [median(waits) for waits in seconds if waits]
