"""What should become of a message on its way to a group: the one place that decides it, in SQL and in Python.

``Reach`` says how far a group came in a partition. From it and a message's status and offset follows its
class: *must* have been received, *flight* (not reached when the drain ended), *maybe* and *maybe_flight* (the
same for messages that nobody acknowledges), *refused* (failed or never answered), *unknown*, or *none* (sent
before the group was there).
"""

from __future__ import annotations

from dataclasses import dataclass

CLASSES = ("must", "flight", "maybe", "maybe_flight", "refused", "unknown", "none")
_FAR = 1 << 62


@dataclass(frozen=True)
class Reach:
    """How far a group came in a partition; None: not known."""

    start: int | None  # Kafka's own word at the end
    end: int | None
    latest: bool
    first: int | None  # where the group began, when it began at the end
    position: int | None  # the next offset it would have read

    @property
    def low(self) -> int:
        """From this offset on the group was there; everything, when it read from the beginning."""
        if not self.latest:
            return 0
        return _FAR if self.first is None else self.first

    @property
    def reached_end(self) -> bool:
        return self.position is not None and self.end is not None and self.position >= self.end

    @property
    def blind(self) -> bool:
        """Nobody can tell which messages were meant for the group."""
        return self.latest and self.first is None


@dataclass(frozen=True)
class Limits:
    """The numbers of a reach that decide, without None, so that SQL can hold them."""

    low: int
    gone: int  # below this offset Kafka has nothing any more
    position: int
    cut: int  # from this offset on Kafka's log has nothing: what was acknowledged there was cut off
    reached_end: bool
    blind: bool

    @classmethod
    def of(cls, reach: Reach) -> Limits:
        return cls(
            reach.low,
            reach.start or 0,
            reach.position or 0,
            _FAR if reach.end is None else reach.end,
            reach.reached_end,
            reach.blind,
        )


def class_of(status: str | None, offset: int | None, limits: Limits) -> str:
    """The class of a message."""
    if status not in ("acked", "unconfirmed"):
        return "refused"
    if limits.blind:
        return "unknown"
    if offset is not None and offset < limits.low:
        return "none"
    if offset is None:
        arrived = limits.reached_end
    else:
        arrived = offset < limits.position or offset < limits.gone or offset >= limits.cut
    if status == "acked":
        return "must" if arrived else "flight"
    return "maybe" if arrived else "maybe_flight"


def class_sql(status: str = "s.status", offset: str = "s.offset", limits: str = "l") -> str:
    """The same decision for Spark SQL, over a table with the fields of ``Limits``."""
    return f"""CASE
      WHEN {status} IS NULL OR {status} NOT IN ('acked', 'unconfirmed') THEN 'refused'
      WHEN {limits}.blind THEN 'unknown'
      WHEN {offset} < {limits}.low THEN 'none'
      WHEN ({offset} IS NULL AND {limits}.reached_end) OR {offset} < {limits}.position
        OR {offset} < {limits}.gone OR {offset} >= {limits}.cut
        THEN if({status} = 'acked', 'must', 'maybe')
      ELSE if({status} = 'acked', 'flight', 'maybe_flight') END"""
