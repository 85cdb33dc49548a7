"""A run without components: every link is measured, and shown beside its settings."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from stream2gym.hosts.emulation import start_network
from stream2gym.hosts.link_check import LinkMeasure, check_links
from stream2gym.plan.planned import Plan


def show_links(plan: Plan, *, as_json: bool) -> int:
    """Measure and show the links. Returns exit code 0 when every measured link has its settings, 1 otherwise."""
    with start_network(plan.network) as network:
        for warning in network.limits.unenforced.values():
            print(f"s2g: warning: {warning}", file=sys.stderr)
        if not as_json:
            print(f"{'link':<24} {'rtt asked':>11} {'measured':>11}   {'Mbit/s asked':>15} {'measured':>15}")
        measures = check_links(network, on_measure=(lambda _: None) if as_json else _show)
    if as_json:
        print(json.dumps([{**m.to_json(), "as_asked": m.as_asked} for m in measures], indent=1))
    return code(measures)


def code(measures: Sequence[LinkMeasure]) -> int:
    return 1 if any(measure.as_asked is False for measure in measures) else 0


def _show(measure: LinkMeasure) -> None:
    seen = "-" if measure.rtt_ms is None else f"{measure.rtt_ms:.2f} ms"
    note = {True: "", False: "  differs", None: "  not measured: no pair of hosts uses it"}[measure.as_asked]
    asked, measured = (_pair(pair) for pair in (measure.goodput_asked_mbps, measure.goodput_mbps))
    print(
        f"{measure.link:<24} {measure.rtt_asked_ms:>8.2f} ms {seen:>11}   {asked:>15} {measured:>15}{note}",
        flush=True,
    )


def _pair(rates: tuple[float | None, float | None]) -> str:
    there, back = ("-" if rate is None else f"{rate:.0f}" for rate in rates)
    return there if there == back else f"{there} / {back}"
