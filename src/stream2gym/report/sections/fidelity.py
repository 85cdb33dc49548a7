"""Whether the emulation kept up: how late packets left against the time that the links asked for."""

from __future__ import annotations

from stream2gym.analysis.tables import Fidelity
from stream2gym.figures.model import Axis, Chart, Series
from stream2gym.figures.numbers import show
from stream2gym.report.blocks import Tile, bullets, missing, paragraph, tiles
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.series import percentile_curve


def fidelity(facts: Facts) -> Section:
    found = facts.analysis.fidelity if facts.analysis else None
    if found is None or (found.good is None and not found.seconds):
        reason = f": {found.reason}" if found and found.reason else ""
        parts: tuple[Part, ...] = (missing(f"Whether the emulation kept up is unknown{reason}."),)
        return Section("fidelity", "Fidelity of the emulation", parts)
    words = {True: "kept up", False: "could not keep up", None: "unknown"}[found.good]
    tone = {True: "good", False: "bad", None: "warn"}[found.good]
    drops = sum(found.unasked_drops.values())
    causes = ", ".join(f"{cause} {count}" for cause, count in sorted(found.unasked_drops.items()))
    entries = [
        Tile("the emulation", words, found.reason, tone),
        Tile(
            "late seconds",
            f"{found.bad_seconds} of {found.seconds}",
            "of load",
            "bad" if found.bad_seconds else "",
        ),
        Tile("lateness p99", show(found.p99_s, "s"), f"limit {show(found.limit_s, 's')}"),
        Tile("lateness, highest", show(found.max_s, "s")),
        Tile("unasked drops", show(float(drops)), causes or "packets", "bad" if drops else ""),
    ]
    found_parts: list[Part] = [tiles(entries)]
    if found.good is False:
        found_parts.append(
            paragraph(
                "Figures of performance are figures of this machine; such expectations are unknown.",
                "caution",
            )
        )
    if found.histogram.count:
        found_parts.append(_lateness(found))
    if found.warnings:
        found_parts.append(bullets(found.warnings))
    return Section("fidelity", "Fidelity of the emulation", tuple(found_parts))


def _lateness(found: Fidelity) -> Chart:
    limit = Series("limit", (0.0, 1.0), (found.limit_s, found.limit_s), tone="bad")
    axis = Axis("share of packets", "share", "percentile")
    series = (percentile_curve("lateness", found.histogram), limit)
    return Chart("lateness", "How late packets left", axis, Axis("lateness", "s", "log"), series)
