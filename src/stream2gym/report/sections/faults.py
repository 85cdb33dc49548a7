"""What each fault hit, how punctual it was, and what it cost."""

from __future__ import annotations

from stream2gym.analysis.recoverytables import FaultRow
from stream2gym.analysis.tables import Analysis
from stream2gym.figures.model import Column, Table
from stream2gym.report.facts import Facts
from stream2gym.report.page import Section

_FAULTS = (
    Column("fault"), Column("does"), Column("on"), Column("from", "s"), Column("to", "s"), Column("late by", "s"),
    Column("leader changes", "", quiet=True), Column("replicas out of sync", "", quiet=True),
    Column("controller changes", "", quiet=True), Column("rebalances", "", quiet=True),
    Column("next leader after", "s", quiet=True), Column("queries failed", "", alarm=True, quiet=True),
    Column("queries started again", "", quiet=True),
)  # fmt: skip
_COSTS = (
    Column("fault"), Column("topic"), Column("messages/s before"), Column("lowest, messages/s"),
    Column("recovered after"), Column("backlog", "", quiet=True), Column("worked off in", "s", quiet=True),
    Column("lost", "", alarm=True), Column("failed", "", alarm=True, quiet=True),
    Column("doubled", "", alarm=True, quiet=True),
    Column("out of order", "", alarm=True, quiet=True), Column("latency p99 before", "s"), Column("during", "s"),
    Column("after", "s"),
)  # fmt: skip
_OUTAGES = (
    Column("fault"), Column("client"), Column("topic"), Column("without"), Column("longest silence", "s"),
    Column("silences together", "s"),
)  # fmt: skip


def faults(facts: Facts) -> Section | None:
    """None in a run without faults."""
    if facts.analysis is None or not facts.analysis.faults:
        return None
    tables = (_faults(facts.analysis), _costs(facts.analysis), _outages(facts.analysis))
    return Section("faults", "Faults and what they cost", tuple(table for table in tables if table.rows))


def _name(fault: str, instance: int) -> str:
    return fault if instance == 1 else f"{fault} ({instance})"


def _late(row: FaultRow) -> float | None:
    return None if row.planned_from_s is None else row.from_s - row.planned_from_s


def _faults(analysis: Analysis) -> Table:
    rows = tuple(
        (_name(r.fault, r.instance), r.kind, ", ".join(r.on), r.from_s, r.to_s, _late(r), r.leader_changes,
         r.isr_shrinks, r.controller_changes, r.rebalances, r.election_s, r.query_failures, r.query_restarts)
        for r in analysis.faults
    )  # fmt: skip
    note = (
        "From the start of load. A fault answers for what happens until the next one begins or the load ends."
    )
    return Table("faults-table", "Every fault", _FAULTS, rows, note)


def _costs(analysis: Analysis) -> Table:
    rows = tuple(
        (_name(r.fault, r.instance), r.topic, f"{r.before_per_s:.0f}", f"{r.lowest_per_s:.0f}",
         "never" if r.recovery_s is None else f"{r.recovery_s:.2f} s", r.backlog, r.drain_s, r.lost,
         r.failed, r.doubled, r.out_of_order, r.latency_before_s, r.latency_during_s, r.latency_after_s)
        for r in analysis.recovery
    )  # fmt: skip
    note = "Recovered: deliveries are back at 95 % of the five seconds before, and stay there."
    return Table("faults-cost", "What they cost, by topic", _COSTS, rows, note)


def _outages(analysis: Analysis) -> Table:
    words = {"acknowledged": "acknowledgements", "received": "deliveries"}
    rows = tuple(
        (_name(r.fault, r.instance), r.client, r.topic, words[r.side], r.longest_s, r.total_s)
        for r in analysis.outages
        if r.longest_s > 0
    )
    return Table("faults-silence", "Who saw nothing for how long", _OUTAGES, rows)
