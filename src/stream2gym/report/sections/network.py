"""The network section: the topology with the components of each host."""

from __future__ import annotations

from stream2gym.analysis.job_history import find_jobs, place_jobs
from stream2gym.figures.markup import element
from stream2gym.figures.topology_drawing import draw_topology
from stream2gym.report.blocks import missing
from stream2gym.report.facts import Facts
from stream2gym.report.page import Section

_FITS = 560  # a drawing no wider than this may shrink on a phone; a wider one is scrolled


def make_network_section(facts: Facts) -> Section:
    if facts.plan is None:
        return Section("network", "Network", (missing("The run folder holds no plan, so there is nothing to draw."),))
    # What was moved by hand is drawn where it was in the end; the time line has its moves.
    drawing = draw_topology(place_jobs(facts.plan, find_jobs(facts.events)))
    kind = "drawing big" if drawing.width > _FITS else "drawing"
    box = element("div", drawing.markup, class_=kind, tabindex="0", role="region", aria_label="Topology")
    return Section("network", "Network", (box,))
