"""What became of a message that a group did not receive. This is the only place that decides it, in SQL.

A *way* is a partition, a producer that writes to it and a group that reads it. ``Limits`` hold what is known about
one way: how far the group came, where Kafka's log begins and ends, what was done to the topic. The limits and a
message's status, offset and times decide its *fate*. Every table and metric about loss uses this decision, so that
all of them speak of the same messages.
"""

from __future__ import annotations

from dataclasses import dataclass

FAR = 1 << 62  # stands for no limit where SQL wants a number

# In the order of the codes that SQL carries.
FATES = (
    "before",  # sent before the group began to read, so that the group is not owed it
    "failed",  # given up by the producer's client
    "unanswered",  # neither acknowledged nor failed when the producer ended
    "lost",  # the group read past it, or it was cut off the log
    "expired",  # lost, too: Kafka's log begins after it
    "in_flight",  # the group had not come that far when the drain ended
    "deleted",  # a fault deleted its topic
    "compacted",  # a later message of its key replaced it
    "unknown_start",  # nobody recorded where the group began
    "unknown_end",  # Kafka did not tell where its log ends
    "unknown_deletion",  # acknowledged while a fault deleted its topic
    "unknown_key",  # compaction may have removed it
)
LOST = ("lost", "expired")
UNKNOWN = tuple(name for name in FATES if name.startswith("unknown"))
NOT_ACKNOWLEDGED = ("failed", "unanswered")
# The group was not to receive these messages.
NOT_OWED = ("before", "deleted", "compacted")
# Nobody knows whether the group was to receive these.
DOUBTFUL = tuple(name for name in UNKNOWN if name != "unknown_end")


@dataclass(frozen=True)
class Limits:
    """What decides the fates on one way. No field is None, so that SQL can compare it."""

    # The group is owed every message from this offset on. It is owed none below, if it is known where the group
    # began.
    owed_from: int = 0
    start_known: bool = True
    # The group is owed a message without an offset if it was sent at this time or later.
    owed_since_ns: int = -FAR
    # The first offset of Kafka's log and the offset after its last one, at the end of the run.
    log_start: int = 0
    log_end: int = FAR
    end_known: bool = False
    # The group's last position, and when it was seen to change to that.
    position: int = -1
    position_ns: int = -FAR
    at_end: bool = False
    # A message beyond the end of the log was cut off if it was acknowledged at this time or before. A later one is
    # not replicated yet.
    cut_ns: int = FAR
    # When a fault began to delete the topic, and when it was done.
    deleted_from_ns: int = -FAR
    deleted_to_ns: int = -FAR
    compacted: bool = False

    @property
    def possible(self) -> frozenset[str]:
        """The fates that messages with these limits can have."""
        fates = {"failed", "unanswered", "lost", "in_flight"}
        if self.owed_from > 0 or self.owed_since_ns > -FAR:
            fates |= {"before", "unknown_start"}
        if self.log_start > 0 or self.log_end <= self.log_start:
            fates.add("expired")
        if not self.end_known:
            fates.add("unknown_end")
        if self.deleted_to_ns > -FAR:
            fates |= {"deleted", "unknown_deletion"}
        if self.compacted:
            fates |= {"compacted", "unknown_key"}
        return frozenset(fates)


def code(fate: str) -> int:
    """The number that stands for a fate in SQL."""
    return FATES.index(fate)


def codes(fates: tuple[str, ...]) -> str:
    """The numbers of several fates as SQL lists them."""
    return ", ".join(str(code(fate)) for fate in fates)


def fate_sql(compacted: bool) -> str:
    """SQL for the code of the fate of message ``s`` on way ``l``.

    ``s`` has the columns status, offset, sent_ns and done_ns, and ``l`` the fields of ``Limits``. With ``compacted``,
    ``s`` also has later_key (a later message of its key stands in its partition) and loose_key (a message of its key
    without a known offset may stand in any partition).
    """
    passed = "(l.at_end OR (s.offset < l.position AND s.done_ns <= l.position_ns))"
    expired = "(s.offset < l.log_start OR (s.offset IS NULL AND l.log_end <= l.log_start))"
    key = f"""
      WHEN l.compacted AND s.later_key AND ({expired} OR {passed}) THEN {code("compacted")}
      WHEN l.compacted AND s.loose_key AND ({expired} OR {passed}) THEN {code("unknown_key")}"""
    return f"""CASE
      WHEN s.status = 'failed' THEN {code("failed")}
      WHEN s.status IS NULL OR s.status NOT IN ('acked', 'unconfirmed') THEN {code("unanswered")}
      WHEN s.done_ns <= l.deleted_from_ns THEN {code("deleted")}
      WHEN s.sent_ns < l.deleted_to_ns THEN {code("unknown_deletion")}
      WHEN s.offset < l.owed_from THEN if(l.start_known, {code("before")}, {code("unknown_start")})
      WHEN s.offset IS NULL AND s.sent_ns < l.owed_since_ns THEN {code("unknown_start")}
      WHEN s.offset IS NULL AND l.compacted THEN {code("unknown_key")}
      WHEN s.offset >= l.log_end THEN if(s.done_ns <= l.cut_ns, {code("lost")}, {code("in_flight")})
      {key if compacted else ""}
      WHEN {expired} THEN {code("expired")}
      WHEN {passed} THEN {code("lost")}
      WHEN NOT l.end_known THEN {code("unknown_end")}
      ELSE {code("in_flight")} END"""
