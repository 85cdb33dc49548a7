"""The topology with what ran where."""

from __future__ import annotations

import re

from stream2gym.figures.draw import clean
from stream2gym.plan.drawing import draw
from stream2gym.report.blocks import missing
from stream2gym.report.facts import Facts
from stream2gym.report.page import Section

_FITS = 560  # a drawing no wider than this may shrink on a phone; a wider one is scrolled


def network(facts: Facts) -> Section:
    if facts.plan is None:
        return Section(
            "network", "Network", (missing("The run folder holds no plan, so there is nothing to draw."),)
        )
    drawing = draw(facts.plan)
    size = re.search(r'<svg[^>]* width="(\d+)"', drawing)
    kind = "drawing big" if size and int(size[1]) > _FITS else "drawing"
    box = f'<div class="{kind}" tabindex="0" role="region" aria-label="Topology">{clean(drawing)}</div>'
    return Section("network", "Network", (box,))
