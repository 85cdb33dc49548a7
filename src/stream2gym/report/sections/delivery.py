"""The audit: what became of every message, with the evidence of every claim."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from stream2gym.analysis.tables import Analysis, AuditRow, Evidence, SentRow
from stream2gym.figures.model import Cell, Column, Table
from stream2gym.kinds import metrics
from stream2gym.report.blocks import bullets, folded, missing, subtitle
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.sections.matrix import delivery_matrix

NOBODY = "(nobody subscribed)"
_COUNTS = (
    Column("lost", "", alarm=True), Column("sent", ""), Column("acked", ""), Column("failed", ""),
    Column("received", ""), Column("unanswered", "", quiet=True), Column("acks-0 sent", "", quiet=True),
    Column("acks-0 lost", "", alarm=True, quiet=True), Column("late", "", quiet=True),
    Column("in flight", "", quiet=True),
    Column("received un-acked", "", quiet=True), Column("doubled in log", "", alarm=True, quiet=True),
    Column("read again", "", quiet=True), Column("out of order", "", alarm=True, quiet=True),
    Column("unknown", "", quiet=True),
)  # fmt: skip
_WORST_FIRST = ("lost", "unconfirmed_lost", "duplicated_in_log", "out_of_order")

Key = tuple[str, ...]


def delivery(facts: Facts) -> Section:
    analysis = facts.analysis
    if analysis is None or not (analysis.sent or analysis.audit):
        parts: tuple[Part, ...] = (
            missing("No recorded client sent a message, so there is nothing to audit."),
        )
        return Section("delivery", "Delivery", parts)
    found: list[Part] = [_table(analysis, detailed=False)]
    found += _evidence(analysis.evidence)
    found += delivery_matrix(analysis)
    found.append(_table(analysis, detailed=True))
    if analysis.positions:
        found.append(_positions(analysis))
    if analysis.traces:
        found.append(_traces(analysis))
    return Section("delivery", "Delivery", tuple(found))


def _table(analysis: Analysis, *, detailed: bool) -> Table:
    """Counts by topic and group, or by partition and producer too."""
    counts: dict[Key, dict[str, float]] = defaultdict(lambda: {column.label: 0.0 for column in _COUNTS})
    reasons: dict[Key, str] = {}
    for group, sent in _sent_by_group(analysis):
        _add(counts[_key(sent, group, detailed)], _sent_counts(sent))
    for row in analysis.audit:
        key = _key(row, row.group, detailed)
        _add(counts[key], _audit_counts(row))
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


def _sent_by_group(analysis: Analysis) -> Iterable[tuple[str, SentRow]]:
    """Each row of sent once for every group that audits it, so that its counts stand beside theirs."""
    groups: dict[str, dict[str, None]] = defaultdict(dict)
    for row in analysis.audit:
        groups[row.topic][row.group] = None
    for sent in analysis.sent:
        for group in groups.get(sent.topic) or {NOBODY: None}:
            yield group, sent


def _key(row: SentRow | AuditRow, group: str, detailed: bool) -> Key:
    partition = f"{row.topic}/{row.partition}" if row.partition >= 0 else f"{row.topic}, none told"
    return (partition, row.producer, group) if detailed else (row.topic, group)


def _sent_counts(row: SentRow) -> dict[str, int]:
    return {
        "sent": row.sent, "acked": row.acknowledged, "failed": row.failed, "unanswered": row.unanswered,
        "acks-0 sent": row.unconfirmed,
    }  # fmt: skip


def _audit_counts(row: AuditRow) -> dict[str, int]:
    return {
        "received": row.received, "lost": row.lost, "acks-0 lost": row.unconfirmed_lost,
        "late": row.late, "in flight": row.in_flight,
        "received un-acked": row.unacknowledged_received, "doubled in log": row.duplicated_in_log,
        "read again": row.redelivered, "out of order": row.out_of_order, "unknown": row.unknown,
    }  # fmt: skip


def _add(counts: dict[str, float], more: dict[str, int]) -> None:
    for name, value in more.items():
        counts[name] += value


def _evidence(evidence: tuple[Evidence, ...]) -> list[Part]:
    """The first offending messages of each claim; losses stand open."""
    claims: dict[str, list[Evidence]] = defaultdict(list)
    for item in evidence:
        claims[item.claim].append(item)
    parts: list[Part] = [subtitle("Evidence")] if claims else []
    for claim in sorted(claims, key=lambda name: (_rank(name), name)):
        metric = metrics.find(claim)
        words = f"{claim.replace('_', ' ')}: {metric.noun}" if metric else claim.replace("_", " ")
        inside = bullets((evidence_text(item) for item in claims[claim]), "evidence")
        parts.append(folded(f"{words} (first {len(claims[claim])})", inside, open_="lost" in claim))
    return parts


def _rank(claim: str) -> int:
    return _WORST_FIRST.index(claim) if claim in _WORST_FIRST else len(_WORST_FIRST)


def evidence_text(item: Evidence) -> str:
    number = "" if item.seq is None else f" #{item.seq}"
    place = f"{item.topic}/{item.partition}" if item.partition >= 0 else item.topic
    offset = "" if item.offset is None else f", offset {item.offset}"
    group = f", group {item.group}" if item.group else ""
    who = f"{item.producer}{number} in " if item.producer else ""
    return f"{who}{place}{offset}{group}: {item.text}"


def _positions(analysis: Analysis) -> Table:
    names = ("first offset", "end offset", "group began", "group reached", "receipts", "gaps", "foreign")
    columns = (
        Column("topic"), Column("partition"), Column("group"),
        *(Column(name, "", alarm=name == "gaps") for name in names), Column("observed"),
    )  # fmt: skip
    rows = []
    for row in analysis.positions:
        numbers = (row.start, row.end, row.first, row.position, row.receipts, row.gaps, row.foreign)
        cells: tuple[Cell, ...] = tuple(None if number is None else float(number) for number in numbers)
        rows.append((row.topic, str(row.partition), row.group, *cells, "yes" if row.observed else "no"))
    note = "How far each group came, beside Kafka's own offsets at the end."
    return Table("positions", "Offsets", columns, tuple(rows), note)


def _traces(analysis: Analysis) -> Table:
    columns = (
        Column("from"), Column("to"), Column("by"), Column("sent", ""), Column("recognised", ""),
        Column("missing", "", quiet=True), Column("doubled", "", alarm=True), Column("unknown"),
    )  # fmt: skip
    rows = tuple(
        (r.source, r.target, r.by, float(r.sent), float(r.recognised), r.missing, r.doubled, r.why_unknown)
        for r in analysis.traces
    )
    return Table("traces", "Through engines", columns, rows)
