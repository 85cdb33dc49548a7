"""The faults section: what each fault hit, how late it was, and what it cost."""

from __future__ import annotations

from stream2gym.analysis.result_tables import Analysis, DebtPoint, FaultRow
from stream2gym.figures.figure import Axis, Cell, Chart, Column, Series, Table
from stream2gym.figures.number_text import show
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.series import pick_busiest

_FAULTS = (
    Column("fault"), Column("does"), Column("on"), Column("from", "s"), Column("to", "s"), Column("late by", "s"),
    Column("leader changes", "", quiet=True), Column("replicas out of sync", "", quiet=True),
    Column("controller changes", "", quiet=True), Column("rebalances", "", quiet=True),
    Column("next leader after", "s", quiet=True), Column("queries failed", "", alarm=True, quiet=True),
    Column("queries started again", "", quiet=True),
)  # fmt: skip
_COSTS = (
    Column("fault"), Column("topic"), Column("messages/s before", "/s"), Column("lowest", "/s"),
    Column("recovered after", "s"), Column("backlog", "", quiet=True), Column("worked off in", "s", quiet=True),
    Column("lost", "", alarm=True), Column("failed", "", alarm=True, quiet=True),
    Column("duplicated", "", alarm=True, quiet=True),
    Column("out of order", "", alarm=True, quiet=True), Column("latency p99 before", "s"), Column("during", "s"),
    Column("after", "s"),
)  # fmt: skip
_OUTAGES = (
    Column("fault"), Column("client"), Column("topic"), Column("without"), Column("longest silence", "s"),
    Column("silences together", "s"),
)  # fmt: skip
_FAULTS_NOTE = (
    "Times count from the start of load. What happens is attributed to a fault until the next one begins or the "
    "drain ends. A fault without an end was never undone."
)
_COSTS_NOTE = (
    "Messages are owed when they are due and neither delivered, failed nor lost. A topic has recovered when no more "
    "are owed than usual before the fault, for two seconds; the time counts from the beginning of the fault. "
    "Latency before: of messages delivered before the fault. At least: it was not over when the next fault began or "
    "the drain ended. A dash: there is no such figure."
)


def make_faults_section(facts: Facts) -> Section | None:
    """The section. None in a run without faults."""
    if facts.analysis is None or not facts.analysis.faults:
        return None
    tables = (_make_fault_table(facts.analysis), _make_cost_table(facts.analysis), _make_outage_table(facts.analysis))
    parts: list[Part] = [table for table in tables if table.rows]
    if facts.analysis.debts:
        parts.append(_make_debt_chart(facts, facts.analysis))
    return Section("faults", "Faults and what they cost", tuple(parts))


def _name_fault(fault: str, instance: int) -> str:
    return fault if instance == 1 else f"{fault} ({instance})"


def _compute_delay(row: FaultRow) -> float | None:
    return None if row.planned_from_s is None else row.from_s - row.planned_from_s


def _make_fault_table(analysis: Analysis) -> Table:
    rows = tuple(
        (_name_fault(r.fault, r.instance), r.kind, ", ".join(r.on), r.from_s, r.to_s, _compute_delay(r),
         r.leader_changes, r.isr_shrinks, r.controller_changes, r.rebalances, r.election_s,
         r.query_failures, r.query_restarts)
        for r in analysis.faults
    )  # fmt: skip
    return Table("faults-table", "Every fault", _FAULTS, rows, _FAULTS_NOTE)


def _make_cost_table(analysis: Analysis) -> Table:
    rows = tuple(
        (_name_fault(r.fault, r.instance), r.topic, r.before_per_s, r.lowest_per_s,
         _show_bound(r.recovery_s, r.recovery_open), r.backlog, _show_bound(r.drain_s, r.drain_open), r.lost,
         r.failed, r.doubled, r.out_of_order, r.latency_before_s,
         _show_bound(r.latency_during_s, r.latency_during_open), _show_bound(r.latency_after_s, r.latency_after_open))
        for r in analysis.recovery
    )  # fmt: skip
    return Table("faults-cost", "What they cost, by topic", _COSTS, rows, _COSTS_NOTE)


def _show_bound(value: float | None, is_open: bool) -> Cell:
    """A figure, or in words that it is a lower bound."""
    return f"at least {show(value, 's')}" if is_open else value


def _make_outage_table(analysis: Analysis) -> Table:
    words = {"acknowledged": "acknowledgements", "received": "deliveries"}
    rows = tuple(
        (_name_fault(r.fault, r.instance), r.client, r.topic, words[r.side], _show_bound(r.longest_s, r.longest_open),
         _show_bound(r.total_s, r.total_open))
        for r in analysis.outages
        if r.longest_s > 0
    )  # fmt: skip
    return Table("faults-silence", "Who saw nothing for how long", _OUTAGES, rows)


def _make_debt_chart(facts: Facts, analysis: Analysis) -> Chart:
    lines: dict[str, list[DebtPoint]] = {}
    for point in analysis.debts:
        lines.setdefault(_name_line(point), []).append(point)
    series = [
        Series(name, tuple(p.at_s for p in points), tuple(float(p.messages) for p in points))
        for name, points in lines.items()
    ]
    shown, left_out = pick_busiest(series)
    note = f"Messages that were due by then and neither delivered, failed nor lost. {left_out}".strip()
    axis = Axis("messages")
    return Chart("faults-debt", "Messages owed", facts.time, axis, shown, facts.fault_bands, note=note, wide=True)


def _name_line(point: DebtPoint) -> str:
    """The name of a line of debt: the topic, and who is owed its messages."""
    if point.side == "acknowledged":
        return f"{point.topic}: acknowledgements"
    word = "results of" if point.side == "result" else "to"
    return f"{point.topic}: {word} {point.group}"
