"""The section of links and ports: throughput, use, drops and queues."""

from __future__ import annotations

from dataclasses import replace

from stream2gym.analysis.result_tables import Analysis, LinkRow
from stream2gym.figures.figure import Axis, Bars, BarSeries, Chart, Column, Series, Table
from stream2gym.figures.number_text import show
from stream2gym.figures.time_charts import QUEUES
from stream2gym.plan.natural_order import natural
from stream2gym.report.blocks import missing
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.series import make_sample_series, pick_busiest

_MOST_BARS = 24
# Hosts whose ports are drawn one by one, and hosts from which on that tells more than the busiest ports do.
_MOST_HOSTS = 24
_FEWEST_HOSTS = 4


def make_links_section(facts: Facts) -> Section:
    analysis = facts.analysis
    if analysis is None or not analysis.links:
        return Section("links", "Links and ports", (missing("No counters of links were recorded."),))
    ports = {f"{row.link} {row.direction}": name_port(row) for row in analysis.links}
    parts: list[Part] = [*_make_access_chart(facts, analysis)]
    for name, title, axis, metric in (
        ("port-throughput", "Throughput by port", Axis("delivered", "bps"), "bps"),
        ("port-drops", "Drops by port", Axis(f"packets dropped every {show(analysis.step_s, 's')}"), "drops"),
        ("port-queues", QUEUES.title, QUEUES.y, "queue_bytes"),
    ):
        series = [s for s in _name_series(make_sample_series(analysis.link_series, metric), ports) if any(s.y)]
        if series:
            shown, note = pick_busiest(series)
            parts.append(
                Chart(name, title, facts.time, axis, shown, facts.fault_bands, note=note, wide=metric == "bps")
            )
    parts.append(_make_bars(analysis))
    parts.append(_make_table(analysis))
    return Section("links", "Links and ports", tuple(parts))


def _make_access_chart(facts: Facts, analysis: Analysis) -> list[Part]:
    """What each host sends over time, as the port of the switch at its link receives it. All hosts are drawn."""
    hosts = {host.name for host in facts.plan.network.hosts} if facts.plan else set()
    # A host with several links has several such ports; they are drawn one by one.
    sending = {f"{row.link} {row.direction}": row for row in analysis.links if row.source in hosts}
    ports = {name: f"{row.target}:{row.target_port} ← {row.source}" for name, row in sending.items()}
    if not _FEWEST_HOSTS <= len(sending) <= _MOST_HOSTS:
        return []
    series = [one for one in make_sample_series(analysis.link_series, "bps") if one.name in sending]
    if not any(any(one.y) for one in series):
        return []
    drawn = tuple(sorted(_name_series(series, ports), key=lambda one: natural(one.name.rpartition(" ")[2])))
    means = [row.mean_bps for row in sending.values()]
    spread = f", {max(means) / min(means):.3g} times the least" if min(means) > 0 else ""
    note = f"Mean {show(sum(means) / len(means), 'bps')}; the most is {show(max(means), 'bps')}{spread}."
    title = "Received by each access port"
    axis = Axis("received from the host", "bps")
    return [Chart("access-ports", title, facts.time, axis, drawn, facts.fault_bands, note=note, wide=True)]


def name_port(row: LinkRow) -> str:
    """The port at which packets enter a link, and the node at its other end: ``s1:2 → h3``."""
    return f"{row.source}:{row.source_port} → {row.target}"


def _name_series(series: list[Series], ports: dict[str, str]) -> list[Series]:
    return [replace(one, name=ports.get(one.name, one.name), shape="step") for one in series]


def _make_bars(analysis: Analysis) -> Bars:
    rows = sorted(analysis.links, key=lambda row: -row.mean_bps)[:_MOST_BARS]
    note = f"The {_MOST_BARS} busiest of {len(analysis.links)}." if len(analysis.links) > _MOST_BARS else ""
    series = (
        BarSeries("mean", tuple(row.mean_bps for row in rows)),
        BarSeries("highest", tuple(row.max_bps for row in rows)),
    )
    axis = Axis("delivered", "bps")
    names = tuple(name_port(row) for row in rows)
    return Bars("port-bars", "Mean and highest by port", axis, names, series, False, "port", note)


def _make_table(analysis: Analysis) -> Table:
    causes = sorted({cause for row in analysis.links for cause in row.dropped})
    columns = (
        Column("port"), Column("link"), Column("packets", ""), Column("bytes", "B"), Column("mean", "bps"),
        Column("highest", "bps"), Column("bandwidth", "bps"), Column("use", "share"),
        *(Column(f"dropped: {cause}", "") for cause in causes), Column("loss", "share"), Column("queue, most", "B"),
    )  # fmt: skip
    rows = []
    for row in analysis.links:
        use = row.mean_bps / row.bandwidth_bps if row.bandwidth_bps else None
        dropped = sum(row.dropped.values())
        loss = dropped / row.entered_packets if row.entered_packets else None
        rows.append(
            (name_port(row), row.link, float(row.packets), float(row.bytes), row.mean_bps, row.max_bps,
             row.bandwidth_bps, use, *(float(row.dropped.get(cause, 0)) for cause in causes), loss,
             float(row.queue_max_bytes))
        )  # fmt: skip
    return Table("ports", "Every port", columns, tuple(rows), "One direction of a link each, while load was on.")
