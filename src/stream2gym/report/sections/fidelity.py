"""The fidelity section: the suspect time of the run with its reasons, and how late packets left."""

from __future__ import annotations

from stream2gym.analysis.result_tables import Fidelity
from stream2gym.figures.figure import Axis, Band, Chart, Column, Series, Table
from stream2gym.figures.number_text import MOMENT, show
from stream2gym.report.blocks import Tile, missing, paragraph, tiles
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.series import make_percentile_curve, make_sample_series

_WORDS = {True: "kept up", False: "fell behind at times", None: "unknown"}
_TONES = {True: "good", False: "warn", None: "warn"}


def make_fidelity_section(facts: Facts) -> Section:
    found = facts.analysis.fidelity if facts.analysis else None
    if found is None or (found.good is None and not found.seconds):
        reason = f": {found.reason}" if found and found.reason else ""
        parts: tuple[Part, ...] = (missing(f"Whether the machine kept up is unknown{reason}."),)
        return Section("fidelity", "Fidelity of the emulation", parts)
    found_parts: list[Part] = [tiles(_make_tiles(found))]
    spans = [span for span in found.suspect or () if span.to_s > 0]
    if found.suspect is None:
        found_parts.append(paragraph(f"Any of it may be suspect: {found.lacks}.", "caution"))
    elif spans:
        found_parts.append(
            paragraph(
                "In suspect time the machine may have shaped what was measured. A figure of performance is given "
                "with its best case, and an expectation is unknown only where its bound lies between the two. "
                f"Remedy: {found.remedy or 'none is needed, the load itself was not touched'}.",
                "caution",
            )
        )
    if found.series:
        found_parts.append(_make_time_chart(facts, found))
    if spans:
        found_parts.append(_make_suspect_table(found))
    if found.histogram.count:
        found_parts.append(_make_lateness_chart(found))
    return Section("fidelity", "Fidelity of the emulation", tuple(found_parts))


def _make_tiles(found: Fidelity) -> list[Tile]:
    drops = sum(found.unasked_drops.values())
    causes = ", ".join(f"{cause} {count}" for cause, count in sorted(found.unasked_drops.items()))
    suspect = f"{found.bad_seconds} of {found.seconds}" if found.suspect is not None else "unknown"
    entries = [
        Tile("the machine", _WORDS[found.good], found.reason, _TONES[found.good]),
        Tile("suspect seconds", suspect, "of load", "warn" if found.bad_seconds else ""),
        Tile("lateness p99", show(found.p99_s, "s"), f"limit {show(found.limit_s, 's')}"),
        Tile("lateness, highest", show(found.max_s, "s")),
        Tile("unasked drops", show(float(drops)), causes or "packets", "bad" if drops else ""),
    ]
    if found.cpu_pressure is not None:
        entries.append(
            Tile("CPU pressure", show(found.cpu_pressure, "share"), "of load some program waited for a CPU")
        )
    return entries


def _make_time_chart(facts: Facts, found: Fidelity) -> Chart:
    return Chart(
        "machine",
        "Signs that the machine could not keep up",
        facts.time,
        Axis("share", "share", low=0.0, high=1.0),
        tuple(make_sample_series(found.series, "share")),
        (*facts.fault_bands, *_make_bands(found)),
        note="Shaded: suspect. Waits are those of the component that waited most.",
        wide=True,
    )


def _make_bands(found: Fidelity) -> list[Band]:
    """Suspect time as bands, neighbouring spans as one."""
    bands: list[Band] = []
    for span in found.suspect or ():
        if span.to_s <= 0:
            continue
        if bands and bands[-1].end >= span.from_s:
            bands[-1] = Band(bands[-1].start, span.to_s, "suspect", "warn")
        else:
            bands.append(Band(max(span.from_s, 0.0), span.to_s, "suspect", "warn"))
    return bands


def _make_suspect_table(found: Fidelity) -> Table:
    rows = tuple((span.from_s, span.to_s, "; ".join(span.reasons)) for span in found.suspect or () if span.to_s > 0)
    columns = (Column("from", MOMENT), Column("to", MOMENT), Column("why"))
    return Table("suspect", "Suspect time", columns, rows, in_order=True)


def _make_lateness_chart(found: Fidelity) -> Chart:
    limit = Series("limit", (0.0, 1.0), (found.limit_s, found.limit_s), tone="bad")
    axis = Axis("share of packets", "share", "percentile")
    series = (make_percentile_curve("lateness", found.histogram), limit)
    return Chart("lateness", "How late packets left", axis, Axis("lateness", "s", "log"), series)
