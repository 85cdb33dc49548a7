"""SQL that pairs the messages of a trace with their results. Pure."""

from __future__ import annotations

from stream2gym.analysis.sql import literal

# The messages of which a result can be expected.
GIVEN = "status IN ('acked', 'unconfirmed')"


def trace_pairs_sql(source: str, target: str, by: str, *, given: str = GIVEN) -> str:
    """SQL for the messages of the topic ``source``, each with the first receipt of its result in ``target``.

    The columns are producer, due_ns, status, done_ns and at_ns, which is null without a result. ``given`` is a
    condition for the messages. Of several messages with the same hash, the n-th is taken for the cause of the n-th
    result. Messages without a hash are left out.
    """
    topics = literal(source), literal(target)
    columns = "s.producer, s.due_ns, s.status, s.done_ns, r.at_ns"
    if by == "header":
        return f"""
            SELECT {columns} FROM (SELECT * FROM sent WHERE topic = {topics[0]} AND {given}) s LEFT JOIN (
              SELECT producer, seq, min(at_ns) AS at_ns FROM received
              WHERE topic = {topics[1]} AND seq IS NOT NULL GROUP BY producer, seq) r
            ON s.seq = r.seq AND s.producer = r.producer"""
    hashed = "key_hash" if by == "key" else "value_hash"
    return f"""
        SELECT {columns} FROM (
          SELECT {hashed} AS hash, producer, due_ns, status, done_ns,
            row_number() OVER (PARTITION BY {hashed} ORDER BY due_ns) AS nth
          FROM sent WHERE topic = {topics[0]} AND {hashed} IS NOT NULL AND {given}) s
        LEFT JOIN (
          SELECT hash, at_ns, row_number() OVER (PARTITION BY hash ORDER BY at_ns) AS nth FROM (
            SELECT {hashed} AS hash, min(at_ns) AS at_ns FROM received
            WHERE topic = {topics[1]} AND {hashed} IS NOT NULL GROUP BY {hashed}, partition, offset)) r
        ON s.hash = r.hash AND s.nth = r.nth"""
