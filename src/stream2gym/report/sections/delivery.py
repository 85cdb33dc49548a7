"""The delivery section: the audit, with the evidence of every claim."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import inf

from stream2gym.analysis.result_tables import Analysis, AuditRow, CutOffRow, Evidence, PositionRow, SentRow
from stream2gym.figures.figure import Cell, Column, Table
from stream2gym.judge.unobserved import count_unread
from stream2gym.kinds import metrics
from stream2gym.report.blocks import bullets, folded, missing, subtitle
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.sections.delivery_matrix import make_delivery_matrix

NOBODY = "(nobody subscribed)"
_COUNTS = (
    Column("lost", "", alarm=True), Column("sent", ""), Column("acknowledged", ""), Column("failed", ""),
    Column("received", ""), Column("unanswered", "", quiet=True), Column("acks-0 sent", "", quiet=True),
    Column("acks-0 lost", "", alarm=True, quiet=True), Column("late", "", quiet=True),
    Column("in flight", "", quiet=True), Column("lost by expiry", "", alarm=True, quiet=True),
    Column("deleted with topic", "", quiet=True), Column("compacted", "", quiet=True),
    Column("received unacknowledged", "", quiet=True), Column("duplicated in log", "", alarm=True, quiet=True),
    Column("redelivered", "", quiet=True), Column("out of order", "", alarm=True, quiet=True),
    Column("unknown", "", quiet=True),
)  # fmt: skip
_WORST_FIRST = ("lost", "unconfirmed_lost", "duplicated_in_log", "out_of_order")

Key = tuple[str, ...]


def make_delivery_section(facts: Facts) -> Section:
    analysis = facts.analysis
    if analysis is None or not (analysis.sent or analysis.audit):
        parts: tuple[Part, ...] = (missing("No recorded client sent a message, so there is nothing to audit."),)
        return Section("delivery", "Delivery", parts)
    found: list[Part] = [_make_table(analysis, detailed=False)]
    if analysis.cut_off:
        found.append(_make_cut_off_table(analysis))
    found += _make_evidence(analysis.evidence)
    found += make_delivery_matrix(analysis)
    found.append(_make_table(analysis, detailed=True))
    if analysis.positions:
        found.append(_make_position_table(analysis))
    if analysis.traces:
        found.append(_make_trace_table(analysis))
    return Section("delivery", "Delivery", tuple(found))


def _make_table(analysis: Analysis, *, detailed: bool) -> Table:
    """The counts of the audit by topic and group or, in detail, also by partition and producer."""
    counts: dict[Key, dict[str, float]] = defaultdict(lambda: {column.label: 0.0 for column in _COUNTS})
    reasons: dict[Key, str] = {}
    for group, sent in _pair_sent_with_groups(analysis):
        _add(counts[_make_key(sent, group, detailed)], _count_sent(sent))
    audited = {row.topic for row in analysis.audit}
    for gone in analysis.cut_off:
        if gone.topic not in audited:
            _add(counts[_make_key(gone, NOBODY, detailed)], {"lost": gone.messages})
    for row in analysis.audit:
        key = _make_key(row, row.group, detailed)
        _add(counts[key], _count_audited(row))
        reasons[key] = row.why_unknown or reasons.get(key, "")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (*key, *values.values(), reasons.get(key, "")) for key, values in counts.items()
    )
    alarms = frozenset(
        index for index, values in enumerate(counts.values()) if values["lost"] or values["acks-0 lost"]
    )
    names = ("partition", "producer", "group") if detailed else ("topic", "group")
    columns = (*map(Column, names), *_COUNTS, Column("why unknown", quiet=True))
    if detailed:
        return Table("audit-detail", "By partition and producer", columns, rows, alarms=alarms)
    note = "What became of the messages of each topic on the way to each group that should have them."
    return Table("audit", "Audit", columns, rows, note, alarms)


def _pair_sent_with_groups(analysis: Analysis) -> Iterable[tuple[str, SentRow]]:
    """Each row of sent messages once for every group that reads the topic, so that it stands beside the group's
    counts."""
    groups: dict[str, dict[str, None]] = defaultdict(dict)
    for row in analysis.audit:
        groups[row.topic][row.group] = None
    for sent in analysis.sent:
        for group in groups.get(sent.topic) or {NOBODY: None}:
            yield group, sent


def _make_key(row: SentRow | AuditRow | CutOffRow, group: str, detailed: bool) -> Key:
    partition = f"{row.topic}/{row.partition}" if row.partition >= 0 else f"{row.topic}, none told"
    return (partition, row.producer, group) if detailed else (row.topic, group)


def _count_sent(row: SentRow) -> dict[str, int]:
    return {
        "sent": row.sent, "acknowledged": row.acknowledged, "failed": row.failed, "unanswered": row.unanswered,
        "acks-0 sent": row.unconfirmed,
    }  # fmt: skip


def _count_audited(row: AuditRow) -> dict[str, int]:
    return {
        "received": row.received, "lost": row.lost, "acks-0 lost": row.unconfirmed_lost,
        "late": row.late, "in flight": row.in_flight, "lost by expiry": row.expired,
        "deleted with topic": row.deleted, "compacted": row.compacted,
        "received unacknowledged": row.unacknowledged_received, "duplicated in log": row.duplicated_in_log,
        "redelivered": row.redelivered, "out of order": row.out_of_order, "unknown": row.unknown,
    }  # fmt: skip


def _add(counts: dict[str, float], more: dict[str, int]) -> None:
    for name, value in more.items():
        counts[name] += value


def _make_cut_off_table(analysis: Analysis) -> Table:
    columns = (
        Column("partition"), Column("producer"), Column("acknowledged while led by"), Column("next leader"),
        Column("it led from", "s"), Column("messages", "", alarm=True), Column("acknowledged from", "s"),
        Column("to", "s"), Column("first offset", ""), Column("last offset", ""),
    )  # fmt: skip
    rows = tuple(
        (f"{r.topic}/{r.partition}", r.producer, r.leader, r.successor, r.led_from_s, r.messages, r.first_s, r.last_s,
         r.first_offset, r.last_offset)
        for r in analysis.cut_off
    )  # fmt: skip
    note = (
        "Acknowledged messages that the next leader of their partition never had a copy of: it gave their offsets to "
        "other messages, or its log ends before them. With acks 1 a leader acknowledges what it alone has."
    )
    return Table("cut-off", "Lost with a leader", columns, rows, note)


def _make_evidence(evidence: tuple[Evidence, ...]) -> list[Part]:
    """The first messages that prove each claim. Those of losses are not folded."""
    claims: dict[str, list[Evidence]] = defaultdict(list)
    for item in evidence:
        claims[item.claim].append(item)
    parts: list[Part] = [subtitle("Evidence")] if claims else []
    for claim in sorted(claims, key=lambda name: (_rank_claim(name), name)):
        metric = metrics.find(claim)
        words = f"{claim.replace('_', ' ')}: {metric.noun}" if metric else claim.replace("_", " ")
        inside = bullets((describe_evidence(item) for item in claims[claim]), "evidence")
        parts.append(folded(f"{words} (first {len(claims[claim])})", inside, is_open="lost" in claim))
    return parts


def _rank_claim(claim: str) -> int:
    return _WORST_FIRST.index(claim) if claim in _WORST_FIRST else len(_WORST_FIRST)


def describe_evidence(item: Evidence) -> str:
    number = "" if item.seq is None else f" #{item.seq}"
    place = f"{item.topic}/{item.partition}" if item.partition >= 0 else item.topic
    offset = "" if item.offset is None else f", offset {item.offset}"
    group = f", group {item.group}" if item.group else ""
    who = f"{item.producer}{number} in " if item.producer else ""
    return f"{who}{place}{offset}{group}: {item.text}"


def _make_position_table(analysis: Analysis) -> Table:
    names = (
        "first offset",
        "end offset",
        "group began",
        "group reached",
        "lag",
        "receipts",
        "gaps",
        "foreign",
    )
    columns = (
        Column("topic"), Column("partition"), Column("group"),
        *(Column(name, "", alarm=name in ("gaps", "lag")) for name in names), Column("observed"),
    )  # fmt: skip
    rows = []
    for row in analysis.positions:
        gaps = row.gaps if row.has_offsets else None
        numbers = (row.start, row.end, row.first, row.position, _find_lag(row), row.receipts, gaps, row.foreign)
        cells: tuple[Cell, ...] = tuple(None if number is None else float(number) for number in numbers)
        rows.append((row.topic, str(row.partition), row.group, *cells, "yes" if row.observed else "no"))
    note = "How far each group came, beside Kafka's own offsets at the end."
    if not all(row.has_offsets for row in analysis.positions):
        note = "How far each group came. A queue of a group has no offsets: its lag is what was left in it."
    return Table("positions", "Offsets", columns, tuple(rows), note)


def _find_lag(row: PositionRow) -> int | None:
    """The lag of a group when the drain ended. None: nobody knows it."""
    left = count_unread(row) if row.observed else inf
    return None if left == inf else int(left)


def _make_trace_table(analysis: Analysis) -> Table:
    columns = (
        Column("from"), Column("to"), Column("by"), Column("sent", ""), Column("recognised", ""),
        Column("missing", "", quiet=True), Column("duplicated", "", alarm=True), Column("unknown"),
    )  # fmt: skip
    rows = tuple(
        (
            r.source,
            r.target,
            r.by,
            float(r.sent),
            float(r.recognised),
            r.missing,
            r.doubled,
            r.why_unknown or r.why_more,
        )
        for r in analysis.traces
    )
    return Table("traces", "Through engines", columns, rows)
