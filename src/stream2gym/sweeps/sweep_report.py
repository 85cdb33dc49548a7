"""The report of a sweep: ``report.html`` with its shapes, figures and runs, and every figure as SVG, PDF and CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stream2gym.figures.figure import Chart, Column, Table
from stream2gym.figures.figure_csv import make_csv_bytes, make_slug
from stream2gym.figures.markup import EMPTY, Markup, element, join
from stream2gym.figures.number_text import show
from stream2gym.figures.pdf import render_pdf
from stream2gym.figures.svg import render_file
from stream2gym.judge.verdict import count_nouns
from stream2gym.report.blocks import bullets, folded, missing, pairs, paragraph
from stream2gym.report.page import Part, Section, make_page
from stream2gym.report.sections.head import ICONS, capitalise
from stream2gym.sweeps.agreement import count_agreement
from stream2gym.sweeps.agreement_table import list_cells, list_sources
from stream2gym.sweeps.response_table import ResponseRow
from stream2gym.sweeps.run_figures import RunFigures, draw_run_figures
from stream2gym.sweeps.shape_judgement import ShapeJudgement
from stream2gym.sweeps.sweep_figures import make_charts
from stream2gym.sweeps.sweep_file import Response, SweepFile
from stream2gym.sweeps.sweep_folder import Attempt, SweepFolder
from stream2gym.sweeps.sweep_plan import PlannedPointRun, describe_values
from stream2gym.sweeps.sweep_verdict import JudgedSweep, SweepVerdict, describe_counts, find_unit
from stream2gym.version import __version__

MOST_RUNS_SHOWN = 500
MOST_REASONS = 20
_WORDS = {
    "wide": "Values whose bounds are too far apart",
    "unknown": "Runs without a finite value",
    "failed": "Values of runs that did not go through",
}


def write_sweep_report(folder: SweepFolder, judged: JudgedSweep) -> None:
    """Write ``report.html`` and ``figures/``."""
    file, verdict, info = judged.file, judged.verdict, folder.info
    charts = make_charts(file, judged.rows, judged.published)
    folder.figures.mkdir(exist_ok=True)
    of_runs = draw_run_figures(folder.points, file, judged.plan, judged.ended)
    for figure in (*charts, *of_runs.drawn):
        name = make_slug(figure.name)
        folder.write_bytes(f"figures/{name}.csv", make_csv_bytes(figure))
        folder.write_bytes(f"figures/{name}.svg", render_file(figure).encode("utf-8", "replace"))
        folder.write_bytes(f"figures/{name}.pdf", render_pdf(figure))
    sections = [
        _make_shapes_section(verdict),
        *([_make_agreement_section(verdict)] if verdict.agreement else []),
        _make_figures_section(judged, charts),
        *([_make_run_figures_section(of_runs)] if file.figures else []),
        _make_values_section(file, judged.rows),
        _make_runs_section(judged, has_reports=info.get("keep") != "summaries"),
        _make_origin_section(info, judged),
    ]
    foot = element(
        "p",
        f"Written by stream2gym {__version__}. ",
        element("code", "figures/"),
        " has every figure as SVG, PDF and CSV, ",
        element("code", "responses.parquet"),
        " all values.",
    )
    page = make_page(f"{file.name}: {verdict.outcome}", _make_head(info, verdict), sections, foot)
    folder.write_bytes("report.html", page.source.encode("utf-8", "replace"))


def _make_head(info: Mapping[str, Any], verdict: SweepVerdict) -> Markup:
    lines = [_count_shapes(verdict), f"{capitalise(describe_counts(verdict.counts or {}))}."]
    lines += [f"{capitalise(count_agreement(verdict.agreement))}."] if verdict.agreement else []
    lines += [f"{capitalise(str(info['stopped']))}."] if info.get("stopped") else []
    if info.get("quick"):
        lines.append("This is a coarse pass: few values of each axis, one repeat.")
    icon = element("div", ICONS[verdict.outcome], class_="icon", aria_hidden="true")
    words = element("div", element("strong", verdict.outcome.capitalize()), *map(paragraph, lines))
    banner = element("div", icon, words, class_=f"verdict {verdict.outcome}", role="status")
    brand = element("div", "stream2gym sweep", class_="brand")
    subtitle = f"{info['id']} · {info['created'][:16].replace('T', ' ')} · seed {info['seed']}"
    return join((brand, element("h1", str(info["name"])), paragraph(subtitle, "soft"), banner))


def _count_shapes(verdict: SweepVerdict) -> str:
    if not verdict.shapes:
        return "No shape was expected."
    held = sum(shape.outcome == "pass" for shape in verdict.shapes)
    return f"{held} of {count_nouns(len(verdict.shapes), 'expected shape')} held."


def _make_shapes_section(verdict: SweepVerdict) -> Section:
    parts: list[Part] = []
    if verdict.shapes:
        parts.append(element("ul", *map(_make_shape, verdict.shapes), class_="checks"))
    else:
        parts.append(missing("The sweep expects no shape; it shows what was measured."))
    left_out = {state: count for state, count in (verdict.left_out or {}).items() if count}
    if left_out:
        told = [f"{_WORDS[state]}: {count}." for state, count in left_out.items()]
        title = element("strong", "Left out of means and fits")
        parts.append(element("div", title, bullets(told), class_="caution"))
    return Section("shapes", "Expected shapes", tuple(parts))


def _make_shape(shape: ShapeJudgement) -> Markup:
    badge = element("span", f"{ICONS[shape.outcome]} {shape.outcome}", class_=f"badge {shape.outcome}")
    rest: Markup = EMPTY
    if len(shape.series) > 1:
        each = [f"{one.outcome}: {one.series or 'all points'}: {one.reason}" for one in shape.series]
        rest = folded(count_nouns(len(each), "series").replace("seriess", "series"), bullets(each, "evidence"))
    return element("li", badge, element("div", element("code", shape.text), paragraph(shape.reason), rest))


def _make_agreement_section(verdict: SweepVerdict) -> Section:
    """What was computed here beside what was published."""
    columns = tuple(map(Column, ("what is compared", "ours", "published", "tolerance", "agreement", "remark")))
    rows = tuple((*list_cells(line), "; ".join(filter(None, (line.reason, line.note)))) for line in verdict.agreement)
    alarms = frozenset(number for number, line in enumerate(verdict.agreement) if line.outcome == "differs")
    table = Table("agreement", "Agreement", columns, rows, alarms=alarms, in_order=True)
    words = (
        "Both numbers are computed in the same way. Ours has the bounds between which the truth lies. A line is "
        "unknown where these leave it open or a point is missing. Agreement does not change the verdict of the sweep."
    )
    parts: list[Part] = [paragraph(words, "soft"), table]
    sources = list_sources(verdict.agreement)
    if sources:
        parts.append(paragraph(f"Sources: {'; '.join(sources)}.", "soft under"))
    return Section("agreement", "Agreement with published values", tuple(parts))


def _make_figures_section(judged: JudgedSweep, charts: Sequence[Chart]) -> Section:
    words = (
        "A dot is the mean of the repeats of a point, its bar the interval of that mean (95 %, widened by what "
        "the machine leaves open)."
    )
    if judged.plan.repeats == 1:
        words = (
            "Every dot is one run; its bar is what the machine leaves open. Repeats would show the spread of runs."
        )
    if (judged.verdict.left_out or {}).get("wide"):
        words += " Hollow circles are values in doubt."
    parts: list[Part] = [paragraph(words, "soft"), *charts]
    if not charts:
        parts = [missing("There is nothing to draw: no response has values at two places of an axis.")]
    return Section("figures", "Responses", tuple(parts))


def _make_run_figures_section(found: RunFigures) -> Section:
    words = "Each is of one run: the first repeat of its point that went through."
    parts: list[Part] = [paragraph(words, "soft"), *found.drawn]
    parts += [missing(f"Not drawn: {one}.") for one in found.missing]
    return Section("run-figures", "Figures of runs", tuple(parts))


def _make_values_section(file: SweepFile, rows: Sequence[ResponseRow]) -> Section:
    """One table for each response, a row for each run, and below it why values are in doubt."""
    parts: list[Part] = []
    for response in file.responses:
        own = [row for row in rows if row.response == response.label]
        parts += [_make_value_table(file, response, own), _explain_doubts(own)]
    return Section("values", "Values", tuple(parts))


def _make_value_table(file: SweepFile, response: Response, rows: Sequence[ResponseRow]) -> Table:
    unit = find_unit(response)
    columns = [Column(axis) for axis in file.axes]
    columns += [Column("of", quiet=True), Column("repeat", ""), Column("value", unit), Column("low", unit)]
    columns += [Column("high", unit), Column("state")]
    body = tuple(
        (
            *(str(row.axes[axis]) for axis in file.axes),
            row.item,
            float(row.repeat),
            row.value,
            row.low,
            row.high,
            row.state,
        )
        for row in rows
    )
    alarms = frozenset(index for index, row in enumerate(rows) if row.state in ("failed", "unknown"))
    name = f"values {response.label}"
    return Table(name, response.label, tuple(columns), body, alarms=alarms, in_order=True)


def _explain_doubts(rows: Sequence[ResponseRow]) -> Markup:
    """Why values are not *measured*, run by run."""
    reasons = [
        f"{describe_values(row.axes)}, repeat {row.repeat}: {row.reason.partition(';')[0]}"
        for row in rows
        if not row.is_usable
    ]
    if not reasons:
        return EMPTY
    shown = list(dict.fromkeys(reasons))
    more = len(shown) - MOST_REASONS
    told = [*shown[:MOST_REASONS], *([f"and {more} more in responses.csv"] if more > 0 else [])]
    return folded("Why some are not measured", bullets(told, "evidence"))


def _make_runs_section(judged: JudgedSweep, *, has_reports: bool) -> Section:
    plan = judged.plan
    shown = plan.runs[:MOST_RUNS_SHOWN]
    page = "report.html" if has_reports else ""
    lines = [_make_run_row(number, run, judged.ended.get(run.name), page) for number, run in enumerate(shown, 1)]
    titles = {"order": "n", "point": "", "repeat": "n", "seed": "n", "verdict": "", "took": "n", "what happened": ""}
    cells = (element("th", title, scope="col", class_=cls) for title, cls in titles.items())
    head = element("thead", element("tr", *cells))
    grid = element("table", head, element("tbody", *lines))
    scroll = element("div", grid, class_="scroll", tabindex="0", role="region", aria_label="All runs")
    parts: list[Part] = [paragraph("In the order in which they ran. Each is an ordinary run folder.", "soft"), scroll]
    if len(plan.runs) > len(shown):
        parts.append(paragraph(f"And {len(plan.runs) - len(shown)} more in results.jsonl.", "soft under"))
    return Section("runs", "Runs", tuple(parts))


def _make_run_row(number: int, run: PlannedPointRun, attempt: Attempt | None, page: str) -> Markup:
    point: Markup | str = describe_values(run.values)
    verdict, took, told = "did not run", "", ""
    if attempt is not None:
        result = attempt.result
        verdict = result.verdict if result.state == "done" else "did not go through"
        took = show(result.took_s, "s")
        told = result.error or result.summary.partition(": ")[2]
        told += f" (on {result.worker})" if result.worker else ""
        if result.state == "done":
            point = element("a", describe_values(run.values), href=f"points/{attempt.folder}/{page}")
    cells = (
        element("td", str(number), class_="n"), element("td", point), element("td", str(run.repeat), class_="n"),
        element("td", str(run.seed), class_="n"), element("td", verdict), element("td", took, class_="n"),
        element("td", told),
    )  # fmt: skip
    is_bad = attempt is not None and (attempt.result.state != "done" or attempt.result.verdict == "fail")
    return element("tr", *cells, class_="alarm" if is_bad else "")


def _make_origin_section(info: Mapping[str, Any], judged: JudgedSweep) -> Section:
    file, plan = judged.file, judged.plan
    machine, versions = info["machine"], info["versions"]
    workers = sorted({one.result.worker for one in judged.ended.values()} - {""})
    entries = [
        ("experiment", str(info.get("experiment", file.experiment))),
        ("points", str(len(plan.points()))),
        ("repeats", str(plan.repeats)),
        ("seed of order and samples", str(plan.seed)),
        ("runs at once", str(info.get("jobs", 1))),
        ("interval that shapes accept", str(file.interval)),
        (
            "machine",
            f"{machine['cpus']} cores, {show(float(machine['memory_bytes']), 'B')}, {machine['architecture']}",
        ),
        *([("workers that ran points", ", ".join(workers))] if workers else []),
        ("stream2gym", str(versions["stream2gym"])),
        ("kernel", str(versions["kernel"])),
    ]
    notes = [str(one) for one in info.get("warnings") or ()]
    parts: list[Part] = [pairs(entries)]
    if notes:
        parts.append(element("div", element("strong", "Warnings"), bullets(notes), class_="caution"))
    return Section("origin", "How it was made", tuple(parts))
