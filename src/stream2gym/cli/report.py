"""``report``: write the report of a run or a sweep again; ``--again`` analyses the record of a run again, too.

``--format`` prints the report for other readers, ``--figure`` writes one figure of it into a file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stream2gym.cli.arguments import RUN, add_run
from stream2gym.errors import BadInput, Mistake

if TYPE_CHECKING:
    from stream2gym.figures.figure import Figure

KINDS = ("svg", "pdf", "png")
EXAMPLES = """\
examples:
  s2g report latest --format md            the summary for a comment on a change
  s2g report latest --format junit --out results.xml
  s2g report latest --figure list          the figures of a run, by name
  s2g report latest --figure latency --pdf
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    add_run(parser, nargs="?", what=f"{RUN}; or the folder of a sweep")
    parser.add_argument("--out", metavar="FILE", type=Path, help="where to write it (default: in the run folder)")
    parser.add_argument("--open", action="store_true", help="show it in the browser")
    parser.add_argument("--again", action="store_true", help="analyse and judge the record again first")
    parser.add_argument(
        "--master", metavar="URL", help="analyse it again on this Spark cluster, such as spark://HOST:7077"
    )
    parser.add_argument(
        "--format",
        choices=("html", "md", "junit", "openmetrics"),
        default="html",
        help="html writes report.html; the others are printed, or written to --out",
    )
    parser.add_argument(
        "--figure",
        metavar="NAME",
        help="write this figure only, or the first one that begins so; list: show their names",
    )
    kind = parser.add_mutually_exclusive_group()
    for name in KINDS:
        text = f"the figure as {name.upper()}{' (default)' if name == 'svg' else ''}"
        kind.add_argument(f"--{name}", dest="kind", action="store_const", const=name, help=text)


def run(args: argparse.Namespace) -> int:
    from stream2gym.record.folder import find_run
    from stream2gym.report.write import write_report

    check_options(args)
    if (Path(args.run) / "sweep.json").is_file():
        return report_sweep(args)
    folder = find_run(args.run)
    if args.again or args.master:
        from stream2gym.api import analyse_again

        analyse_again(folder, args.master)
    if args.figure is not None:
        return write_figure(folder.path, args.figure, args.kind or "svg", args.out)
    if args.format != "html":
        return write_text(make_text(folder.path, args.format), args.out)
    return show(write_report(folder.path, out=args.out), args.open)


def check_options(args: argparse.Namespace) -> None:
    """Raise BadInput for options that do not go together."""
    mistakes = []
    if args.kind and args.figure is None:
        mistakes.append(Mistake(f"--{args.kind}", "says how to draw a figure, and none is named", "--figure NAME"))
    if args.figure is not None and args.format != "html":
        mistakes.append(Mistake("--format", "is for the whole report", "leave it out with --figure"))
    if args.open and (args.figure is not None or args.format != "html"):
        mistakes.append(Mistake("--open", "shows report.html", "leave it out here"))
    if mistakes:
        raise BadInput(mistakes)


def make_text(path: Path, form: str) -> str:
    from stream2gym.report.facts import read_facts
    from stream2gym.report.formats.junit import make_junit
    from stream2gym.report.formats.markdown import make_markdown
    from stream2gym.report.formats.openmetrics import make_openmetrics

    makers = {"md": make_markdown, "junit": make_junit, "openmetrics": make_openmetrics}
    return makers[form](read_facts(path))


def write_text(text: str, out: Path | None) -> int:
    if out is None:
        sys.stdout.write(text)
        return 0
    write_bytes(out, text.encode("utf-8", "replace"))
    print(out)
    return 0


def write_figure(path: Path, name: str, kind: str, out: Path | None) -> int:
    """Write one figure of a run, or show the names of all."""
    from stream2gym.figures.figure_csv import make_slug
    from stream2gym.report.facts import read_facts
    from stream2gym.report.write import make_figures, make_sections, pick_figure

    facts = read_facts(path)
    figures = make_figures(facts)
    if name == "list":
        width = max(map(len, figures), default=0)
        for slug, figure in figures.items():
            print(f"{slug:<{width}}  {figure.title}")
        return 0
    chosen = pick_figure(figures, name)
    if chosen is None:
        exhibits = {make_slug(one.name) for section in make_sections(facts) for one in section.exhibits}
        raise BadInput(explain_unknown(name, exhibits, list(figures)))
    target = out or Path(f"{name}.{kind}")
    write_bytes(target, draw(figures[chosen], kind))
    print(target)
    return 0


def explain_unknown(name: str, exhibits: set[str], figures: list[str]) -> Mistake:
    from stream2gym.spec.findings import did_you_mean

    if name in exhibits:
        return Mistake(f"--figure {name}", "is a table", f"its data are in figures/{name}.csv of the run folder")
    hint = did_you_mean(name, figures) or f"figures: {', '.join(figures)}"
    return Mistake(f"--figure {name}", "there is no such figure in this run", hint)


def draw(figure: Figure, kind: str) -> bytes:
    from stream2gym.figures.pdf import render_pdf
    from stream2gym.figures.png import render_png
    from stream2gym.figures.svg import render_file

    if kind == "svg":
        return render_file(figure).encode("utf-8", "replace")
    return render_pdf(figure) if kind == "pdf" else render_png(figure)


def write_bytes(target: Path, data: bytes) -> None:
    try:
        target.write_bytes(data)
    except OSError as error:
        raise BadInput(Mistake("--out", f"{target}: {error.strerror}", "name a file that you may write")) from None


def report_sweep(args: argparse.Namespace) -> int:
    """Judge a sweep again by what its runs measured, and write its report."""
    from stream2gym.sweeps.sweep_folder import SweepFolder
    from stream2gym.sweeps.sweep_results import finish_sweep, load_results

    given = {"--out": args.out, "--again": args.again, "--master": args.master, "--figure": args.figure}
    given["--format"] = args.format != "html"
    wrong = next((option for option, value in given.items() if value), None)
    if wrong:
        raise BadInput(Mistake(wrong, "is for single runs", "leave it out for a sweep"))
    known = load_results(SweepFolder.open(Path(args.run)))
    return show(finish_sweep(known.folder, known.file, known.state, known.stopped).report, args.open)


def show(path: Path, in_browser: bool) -> int:
    print(path)
    if in_browser:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0
