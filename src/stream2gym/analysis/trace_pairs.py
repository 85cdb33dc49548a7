"""SQL that pairs the messages of a trace with their results, and that counts them. Pure.

By header every result names its message. By the hash of a key, a value or a field, several messages may have the same
hash. Then the n-th of them is taken for the cause of the n-th result, but never of a result that came before it was
sent. A message that failed or was unanswered is *loose*: Kafka may have it all the same, so that nobody knows whether
a result with its hash is its own or that of another message.
"""

from __future__ import annotations

from stream2gym.analysis.sql import literal

# The messages of which a result can be expected.
GIVEN = "status IN ('acked', 'unconfirmed')"
_IS_GIVEN = f"coalesce({GIVEN}, false)"
# Stands for the number of messages that nobody recorded.
_ANY_NUMBER = 1 << 40


def trace_pairs_sql(source: str, target: str, by: str, *, given: str = "true", loose: bool = True) -> str:
    """SQL for the messages of the topic ``source``, each with the first receipt of its result in ``target``.

    The columns are producer, due_ns, status, done_ns, at_ns and early_ns. ``at_ns`` is the result that a message has
    if Kafka has every message, and null without one. ``early_ns`` is the one that it has if Kafka has no loose
    message before it: no result of this message is earlier. Without a loose message before it, both are the same.
    ``given`` is a condition for the messages. ``loose``: there may be loose messages. Messages without a hash are
    left out.
    """
    topics = literal(source), literal(target)
    if by == "header":
        return f"""
            SELECT s.producer, s.due_ns, s.status, s.done_ns, r.at_ns, r.at_ns AS early_ns
            FROM (SELECT * FROM sent WHERE topic = {topics[0]} AND {given}) s LEFT JOIN (
              SELECT producer, seq, min(at_ns) AS at_ns FROM received
              WHERE topic = {topics[1]} AND seq IS NOT NULL GROUP BY producer, seq) r
            ON s.seq = r.seq AND s.producer = r.producer"""
    hashed = "key_hash" if by == "key" else "value_hash"
    results = f"""
        SELECT hash, at_ns, row_number() OVER (PARTITION BY hash ORDER BY at_ns) AS nth FROM (
          SELECT {hashed} AS hash, min(at_ns) AS at_ns FROM received
          WHERE topic = {topics[1]} AND {hashed} IS NOT NULL GROUP BY {hashed}, partition, offset)"""
    # Messages and results in the order of time; a result of the same nanosecond comes after the message.
    so_far = "(PARTITION BY hash ORDER BY since_ns, is_result, due_ns, producer, seq ROWS UNBOUNDED PRECEDING)"
    bounded = "if(e.at_ns < s.since_ns, s.since_ns, e.at_ns)"
    early_ns = f"if(s.loose_before = 0, r.at_ns, {bounded})" if loose else "r.at_ns"
    early = f"LEFT JOIN ({results}) e ON s.hash = e.hash AND s.nth - s.loose_before = e.nth" if loose else ""
    return f"""
        SELECT s.producer, s.due_ns, s.status, s.done_ns, r.at_ns,
          {early_ns} AS early_ns
        FROM (
          SELECT *, nth + max(first_after - nth) OVER (PARTITION BY hash ORDER BY nth ROWS UNBOUNDED PRECEDING)
              AS paired
          FROM (
            SELECT *, count_if(NOT is_result) OVER {so_far} AS nth,
              count_if(is_result) OVER {so_far} + 1 AS first_after,
              count_if(is_loose) OVER {so_far} - if(is_loose, 1, 0) AS loose_before
            FROM (
              SELECT {hashed} AS hash, producer, seq, due_ns, status, done_ns, coalesce(sent_ns, due_ns) AS since_ns,
                NOT {_IS_GIVEN} AS is_loose, false AS is_result
              FROM sent WHERE topic = {topics[0]} AND {hashed} IS NOT NULL AND {given}
              UNION ALL
              SELECT hash, NULL, NULL, NULL, NULL, NULL, at_ns, false, true FROM ({results})))
          WHERE NOT is_result) s
        LEFT JOIN ({results}) r ON s.hash = r.hash AND s.paired = r.nth
        {early}"""


def count_results_sql(source: str, target: str, by: str, *, has_unrecorded: bool) -> str:
    """SQL that counts messages of the source without a result, and further results of messages that have one.

    A result is counted once, however often it was received. Where loose messages share a hash with others, the
    columns ``missing`` and ``doubled`` count what is certain, and ``missing_most`` and ``doubled_most`` what is
    possible. ``has_unrecorded``: the topic also has messages that nobody recorded, with any hash. A message without
    a key cannot be recognised by its key; it is counted as untraceable.
    """
    who = {"header": "producer, seq", "key": "key_hash"}.get(by, "value_hash")
    has_none = "key_hash IS NULL" if by == "key" else "false"
    unrecorded = _ANY_NUMBER if has_unrecorded and by != "header" else 0
    return f"""
        SELECT sum(greatest(given - results, 0)) AS missing,
          sum(greatest(given - greatest(results - loose, 0), 0)) AS missing_most,
          sum(greatest(results - given - loose, 0)) AS doubled,
          sum(greatest(results - greatest(given, 1), 0)) AS doubled_most,
          sum(greatest(given - results, 0) - greatest(acked - results, 0)) AS unconfirmed_missing,
          sum(own_loose) AS loose,
          (SELECT count(*) FROM sent WHERE topic = {literal(source)}) AS every,
          (SELECT count(*) FROM sent WHERE topic = {literal(source)} AND {GIVEN} AND {has_none}) AS untraceable
        FROM (
          SELECT given, acked, loose AS own_loose, loose + {unrecorded}L AS loose, coalesce(r.n, 0) AS results
          FROM (SELECT {who}, count_if({_IS_GIVEN}) AS given, count_if(status <=> 'acked') AS acked,
                  count_if(NOT {_IS_GIVEN}) AS loose
                FROM sent WHERE topic = {literal(source)} AND NOT ({has_none}) GROUP BY {who}) s
          LEFT JOIN (SELECT {who}, count(DISTINCT partition, offset) AS n FROM received
                WHERE topic = {literal(target)} GROUP BY {who}) r USING ({who}))"""
