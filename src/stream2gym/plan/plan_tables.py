"""The plan as tables of plain text for people. Pure; the command line draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stream2gym.kinds.registry import registry
from stream2gym.plan.link_text import bandwidth, link_words, milliseconds
from stream2gym.plan.planned import PathView, Plan, PlannedComponent, PlannedFault, PlannedHost, Window
from stream2gym.units import Share, Size

Row = tuple[str, ...]
BAR = 40  # characters that stand for the whole load

_ROUTING = {
    "hops": "fewest hops",
    "latency": "lowest latency",
    "widest": "widest bottleneck, then fewest hops",
    "ecmp": "fewest hops, flows spread over equal paths (shown: one of them)",
    "given": "as given per pair, else fewest hops",
}


@dataclass(frozen=True)
class Table:
    """A title, column heads, rows, and a note, for example about rows that were left out."""

    title: str
    heads: Row
    rows: tuple[Row, ...]
    note: str = ""


def plan_tables(plan: Plan, *, most: int | None = 40) -> list[Table]:
    """The tables of hosts, components, links, paths and faults, each with at most ``most`` rows."""
    tables = [_hosts(plan)]
    if plan.components:
        tables.append(_components(plan))
    tables += [_links(plan), _paths(plan), _faults(plan)]
    return [_cut(table, most) for table in tables if table.rows]


def plan_facts(plan: Plan) -> list[tuple[str, str]]:
    """Facts about the whole plan, each as a name and a text."""
    network = plan.network
    size = ", ".join(
        f"{count} {word if count != 1 else one}"
        for count, word, one in (
            (len(network.hosts), "hosts", "host"),
            (len(network.switches), "switches", "switch"),
            (len(network.links), "links", "link"),
        )
    )
    reconverge = network.routing.reconverge_ms
    after = "stays after a cut" if reconverge is None else f"chosen anew {milliseconds(reconverge)} after a cut"
    facts = [
        ("network", size),
        ("routing", f"{_ROUTING[network.routing.by]}; {after}"),
        ("seed", str(plan.seed)),
    ]
    if plan.components:
        start = "over unshaped links; the configured ones are applied before load"
        facts.append(("start-up", start if plan.startup == "fast" else "over the links as configured"))
    if plan.has_warmup:
        facts.append(("warm-up", _describe_warmup(plan)))
    if plan.voters:
        facts.append(("controllers", f"{', '.join(plan.voters)} vote" + ("s" if len(plan.voters) == 1 else "")))
    return facts


def _describe_warmup(plan: Plan) -> str:
    """How long the warm-up lasts, who sends it and what it does not count for."""
    lasts = [f"{plan.warmup_s:g} s"] if plan.warmup_s else []
    if plan.warmup_engines:
        lasts.append(f"until the first batch of {_some(plan.warmup_engines)}")
    told = " and ".join(lasts)
    return f"{told}, sent by {_some(plan.warmup_producers)}; no performance figure counts it, delivery does"


def _hosts(plan: Plan) -> Table:
    limits = any(host.cpu_share is not None or host.memory_bytes is not None for host in plan.network.hosts)
    runs: dict[str, list[PlannedComponent]] = {}
    for component in plan.components:
        runs.setdefault(component.host, []).append(component)
    heads = ("host", "address", "interface", *(("limits",) if limits else ()))
    heads += ("runs",) if runs else ()
    rows = []
    for host in plan.network.hosts:
        row: Row = (host.name, host.address, host.interface)
        row += (_limits(host),) if limits else ()
        row += (", ".join(_with_count(part) for part in runs.get(host.name, ())),) if runs else ()
        rows.append(row)
    return Table("Hosts", heads, tuple(rows))


def _limits(host: PlannedHost) -> str:
    words = []
    if host.cpu_share is not None:
        words.append(f"{Share(host.cpu_share)} cpu")
    if host.memory_bytes is not None:
        words.append(str(Size(host.memory_bytes)))
    return ", ".join(words)


def _with_count(component: PlannedComponent) -> str:
    return component.name if component.instances == 1 else f"{component.name} ×{component.instances}"


def _components(plan: Plan) -> Table:
    rows = tuple(
        (
            _with_count(part),
            part.kind if part.type == part.kind else f"{part.kind} ({part.type})",
            part.host,
            part.placed_by,
            _some(part.talks_to),
        )
        for part in plan.components
    )
    return Table("Components", ("component", "kind", "on", "placed by", "talks to"), rows)


def _some(names: Sequence[str], shown: int = 4) -> str:
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more} more" if more > 0 else "")


def _links(plan: Plan) -> Table:
    rows = tuple((link.name, f"{link.port_a} – {link.port_b}", link_words(link)) for link in plan.network.links)
    return Table("Links", ("link", "ports", "settings, each way"), rows)


def _paths(plan: Plan) -> Table:
    title = "Paths of hosts that talk" if plan.components else "Paths between hosts"
    heads = ("from", "to", "over", "RTT", "bottleneck")
    note = ""
    if plan.pairs_left_out:
        note = f"{plan.pairs_left_out} more pairs of hosts are not looked at: no component says who talks"
    return Table(title, heads, tuple(_path_row(view) for view in plan.paths), note)


def _path_row(view: PathView) -> Row:
    if not view.nodes:
        return (view.source, view.target, "no path", "–", "–")
    over = _over(view.nodes) + (f"; back over {_over(view.back_nodes)}" if view.back_nodes else "")
    width = bandwidth(view.bottleneck_bps)
    if view.back_bottleneck_bps != view.bottleneck_bps:
        width += f"; back {bandwidth(view.back_bottleneck_bps)}"
    return (view.source, view.target, over, milliseconds(view.rtt_ms), width)


def _over(nodes: Sequence[str], shown: int = 7) -> str:
    inner = list(nodes[1:-1])
    if len(inner) > shown:
        inner = [*inner[:3], f"… {len(inner) - 6} more …", *inner[-3:]]
    return " ".join(inner) or "their link"


def _faults(plan: Plan) -> Table:
    """The faults in the order of their times, then those that wait for a condition."""
    timed = sorted(
        ((window, fault) for fault in plan.faults for window in fault.windows),
        key=lambda pair: (pair[0].start_s, pair[1].name),
    )
    rows = [
        (
            _seconds(window.start_s),
            _end(window, fault),
            fault.name,
            fault.kind,
            ", ".join(fault.on) or "–",
            _bar(window, fault, plan.load_s),
        )
        for window, fault in timed
    ]
    for fault in plan.faults:
        if fault.trigger:
            lasts = "the end" if fault.for_s is None else f"{_seconds(fault.for_s)} later"
            word = "after" if fault.trigger.startswith("fault ") else "at"
            later = f"{_seconds(fault.delay_s)} after" if fault.delay_s else word
            when = f"{later} {fault.trigger}"
            rows.append((when, lasts, fault.name, fault.kind, ", ".join(fault.on) or "–", ""))
    load = f"{_seconds(plan.load_s)} of load"
    return Table("Faults, from the start of load", ("from", "to", "fault", "does", "on", load), tuple(rows))


def _bar(window: Window, fault: PlannedFault, load_s: float) -> str:
    """A line of fixed length that stands for the load, with the fault marked on it."""
    if load_s <= 0:
        return ""
    start = min(int(window.start_s / load_s * BAR), BAR - 1)
    if _is_momentary(fault):
        return "─" * start + "◆" + "─" * (BAR - start - 1)
    end_s = load_s if window.end_s is None else min(window.end_s, load_s)
    length = max(1, round(end_s / load_s * BAR) - start)
    return "─" * start + "█" * length + "─" * (BAR - start - length)


def _end(window: Window, fault: PlannedFault) -> str:
    if window.end_s is not None:
        return _seconds(window.end_s)
    return "done" if _is_momentary(fault) else "the end"


def _is_momentary(fault: PlannedFault) -> bool:
    kind = registry("fault").find(fault.kind)
    return kind is not None and kind.momentary


def _seconds(number: float) -> str:
    return f"{round(number, 3):g} s"


def _cut(table: Table, most: int | None) -> Table:
    if most is None or len(table.rows) <= most:
        return table
    left = len(table.rows) - most
    note = f"{left} more rows; --all shows them" + (f". {table.note}" if table.note else "")
    return Table(table.title, table.heads, table.rows[:most], note)
