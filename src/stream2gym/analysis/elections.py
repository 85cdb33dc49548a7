"""How long partitions were without the leader that a fault took from them, from the watch of the brokers. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from stream2gym.analysis.result_tables import Change, LeaderSpan


def find_election(
    from_s: float, to_s: float | None, horizon_s: float, changes: Sequence[Change], leaders: Sequence[LeaderSpan]
) -> tuple[float | None, bool]:
    """The time from the beginning of a fault until the last of the partitions concerned had a new leader.

    Also says whether that is only a lower bound, because a partition had no leader when the time of the fault was
    over. None: no leader was lost or elected. Once a fault is undone, leadership may return to the broker that came
    back. Such a change counts only for a partition that nobody led until then, or where nobody was elected before.
    """
    first: dict[str, float] = {}
    for change in changes:
        if change.what == "leader" and change.after >= 0 and from_s <= change.at_s <= horizon_s:
            first.setdefault(change.object, change.at_s)
    vacant = [span for span in leaders if span.leader < 0 and from_s <= span.from_s < horizon_s]
    if to_s is not None:
        waiting = {f"{span.topic}/{span.partition}" for span in vacant if span.from_s <= to_s < span.to_s}
        in_force = {place: at_s for place, at_s in first.items() if at_s <= to_s or place in waiting}
        first = in_force or first
    if any(span.to_s >= horizon_s for span in vacant):
        return horizon_s - from_s, True
    return max(first.values(), default=from_s) - from_s if first else None, False
