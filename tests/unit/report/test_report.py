"""The report: one file, offline, honest about losses and about what it does not know."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stream2gym.analysis.result_tables import ReceivedRow
from stream2gym.cli.main import main
from stream2gym.figures.figure import Bars, Chart, Table
from stream2gym.figures.figure_csv import make_csv_bytes, make_slug
from stream2gym.judge.verdict import Judgement, Verdict
from stream2gym.report.facts import read_facts
from stream2gym.report.sections.fidelity import make_fidelity_section
from stream2gym.report.sections.leadership import make_leadership_section
from stream2gym.report.write import make_figures, make_sections, write_report
from tests.unit.figures.gallery import HOSTILE
from tests.unit.report.page import Page
from tests.unit.report.synthetic import rich_analysis, rich_events, rich_run, tiny_run, write_run


def read(path: Path) -> Page:
    return Page(path.read_text("utf-8"))


def hostile_run(base: Path) -> Path:
    events = [
        *rich_events(),
        {"at_ns": 10**12, "wall": 0, "event": HOSTILE, "component": HOSTILE, "how": HOSTILE},
    ]
    return write_run(base, "rides", hosts=6, analysis=rich_analysis(HOSTILE), events=events)


@pytest.fixture(scope="module")
def rich_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run with everything in it, for tests that only read it."""
    return write_report(rich_run(tmp_path_factory.mktemp("rich")))


def test_names_that_look_like_markup_stay_text(tmp_path: Path) -> None:
    component, experiment = "<script>", "a \"quoted\" & 'named' <run>"
    events = [{"at_ns": 1, "wall": 0, "event": "died", "component": component, "how": "exit 1"}]
    run = write_run(tmp_path, "rides", hosts=2, analysis=rich_analysis(component), events=events)
    info = json.loads((run / "run.json").read_text("utf-8"))
    (run / "run.json").write_text(json.dumps({**info, "name": experiment}), "utf-8")
    page = read(write_report(run))

    assert "script" not in page.tags
    assert "run" not in page.tags
    assert page.open == []
    assert component in page.text
    assert experiment in page.text


@pytest.mark.parametrize("make", [rich_run, tiny_run, hostile_run])
def test_the_page_is_sound_and_needs_nothing_from_outside(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = write_report(make(tmp_path))
    page = read(path)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert set(page.labels) <= set(page.ids)
    assert not {"script", "iframe", "object", "embed", "img", "link"} & set(page.tags)
    assert page.handlers == []
    for link in page.links:
        assert link.startswith("data:text/csv;") or link.removeprefix("#") in page.ids, link
    text = path.read_text("utf-8")
    assert "url(http" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    run = rich_run(tmp_path)
    assert write_report(run).read_bytes() == write_report(run).read_bytes()


def test_a_loss_stands_above_everything_else(rich_report: Path) -> None:
    text = rich_report.read_text("utf-8")
    assert 'role="alert"' in text
    assert "412 acknowledged messages were lost" in text
    assert text.index("412 acknowledged messages were lost") < text.index("<section")
    assert "producer-h4 #10000 in in/2, offset 3400, group billing" in text


def test_what_engines_and_programs_sent_counts_as_received(tmp_path: Path) -> None:
    results = (ReceivedRow("scores", 0, "g", "desk", 600, 38_000, foreign=600),)
    analysis = replace(rich_analysis(), received=results, audit=())
    run = write_run(tmp_path, "scores", hosts=2, analysis=analysis, events=[])
    words = re.sub(r"<[^>]+>", " ", write_report(run).read_text("utf-8")).split()
    assert " results received 600 sent by engines and programs " in " ".join(words)


def test_the_verdict_comes_first_with_its_reasons(rich_report: Path) -> None:
    text = rich_report.read_text("utf-8")
    words = [
        "Fail",
        "Of 3 expectations 1 failed, 1 unknown, 1 held.",
        "broker-h2 died unasked at 32.000 s",
        "<section",
    ]
    places = [text.index(word) for word in words]
    assert places == sorted(places)
    page = Page(text).text
    assert page.index("lost == 0") < page.index("latency.p99 < 2 s") < page.index("received(group=audit) > 100000")
    assert "measured: 412" in page
    assert "producer-h4 #10000 in in/2 offset 3400: never received" in page
    assert "the machine may have shaped it" in page


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict("pass"), "Nothing was expected, nothing died."),
        (Verdict("pass", (Judgement("lost == 0", "pass"),)), "The one expectation holds."),
        (Verdict("pass", (Judgement("lost == 0", "pass"),) * 2), "All 2 expectations hold."),
        (Verdict("fail", (Judgement("lost == 0", "fail"),)), "The one expectation: failed."),
        (Verdict("unknown", doubts=("a fault failed: cut",)), "a fault failed: cut"),
    ],
)
def test_the_banner_says_why(tmp_path: Path, verdict: Verdict, words: str) -> None:
    page = read(write_report(tiny_run(tmp_path), verdict=verdict))
    assert words in page.text
    assert verdict.outcome.capitalize() in page.text


def test_a_run_that_nobody_judged_is_unknown(tmp_path: Path) -> None:
    run = tiny_run(tmp_path)
    (run / "verdict.json").unlink()
    assert "Unknown Nothing has judged this run yet." in read(write_report(run)).text


def test_without_a_loss_there_is_no_alarm(tmp_path: Path) -> None:
    assert 'role="alert"' not in write_report(tiny_run(tmp_path)).read_text("utf-8")


def test_a_run_that_was_never_analysed_still_gets_a_report_that_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path, "early", hosts=2, analysis=None, events=[])
    (run / "plan.json").unlink()
    page = read(write_report(run))
    for words in ("holds no plan", "has not been analysed", "wrote down no events", "Nobody watched who led"):
        assert words in page.text
    assert "svg" not in page.tags


def test_nothing_lost_is_green_only_when_the_fate_of_every_message_is_known(tmp_path: Path) -> None:
    run = tiny_run(tmp_path)
    assert '<div class="tile good"><dt>lost' in write_report(run).read_text("utf-8")
    analysis = read_facts(run).analysis
    assert analysis is not None
    unsure = replace(analysis, audit=(replace(analysis.audit[0], unknown=3, why_unknown="nobody watched"),))
    text = write_report(run, unsure).read_text("utf-8")
    assert '<div class="tile good"><dt>lost' not in text
    assert "nobody watched" in text


def test_every_figure_and_table_can_be_had_as_csv_in_the_page_and_in_the_folder(rich_report: Path) -> None:
    run = rich_report.parent
    text = rich_report.read_text("utf-8")
    embedded = {
        name: base64.b64decode(data)
        for name, data in re.findall(r'download="([^"]+)" href="data:text/csv;charset=utf-8;base64,([^"]*)"', text)
    }
    exhibits = [exhibit for section in make_sections(read_facts(run)) for exhibit in section.exhibits]
    assert len(exhibits) > 15
    names = [make_slug(exhibit.name) for exhibit in exhibits]
    assert len(names) == len(set(names))
    for exhibit, name in zip(exhibits, names, strict=True):
        assert (run / "figures" / f"{name}.csv").read_bytes() == make_csv_bytes(exhibit)
        assert embedded[f"{name}.csv"] == make_csv_bytes(exhibit)
    drawings = list((run / "figures").glob("*.svg"))
    assert len(drawings) > 10
    for drawing in drawings:
        ElementTree.parse(drawing)


def test_every_figure_over_time_shows_the_fault_windows_on_the_same_axis(rich_report: Path) -> None:
    sections = make_sections(read_facts(rich_report.parent))
    charts = [
        part for section in sections for part in section.parts if isinstance(part, Chart) and part.x.unit == "s"
    ]
    assert len(charts) >= 8
    for chart in charts:
        faults = [band.label for band in chart.bands if band.label != "suspect"]
        assert faults == ["cut: h4 -- s1", "kill-leader: broker-h2"]
        assert (chart.x.low, chart.x.high) == (0.0, 60.0)


def test_a_step_without_messages_is_a_zero_in_throughput_and_a_gap_in_latency(rich_report: Path) -> None:
    parts = {part.name: part for s in make_sections(read_facts(rich_report.parent)) for part in s.exhibits}
    latency = parts["latency-time"]
    assert isinstance(latency, Chart)
    assert all(None in series.y for series in latency.series)
    throughput = parts["throughput"]
    assert isinstance(throughput, Chart)
    assert all(None not in series.y for series in throughput.series)


def test_leaders_have_the_names_of_their_brokers(rich_report: Path) -> None:
    text = read(rich_report).text
    assert "broker-h2" in text
    assert "nobody" in text


def test_the_access_port_of_every_host_is_drawn_with_what_the_host_sends(rich_report: Path) -> None:
    exhibits = {e.name: e for section in make_sections(read_facts(rich_report.parent)) for e in section.exhibits}
    chart = exhibits["access-ports"]

    assert isinstance(chart, Chart)
    assert [series.name for series in chart.series] == [f"s1:{number} ← h{number}" for number in range(1, 7)]
    assert "6 times the least" in chart.note


def test_brokers_that_led_nothing_are_in_the_histogram_of_leaders(rich_report: Path) -> None:
    facts = read_facts(rich_report.parent)
    assert facts.analysis is not None
    only_one = replace(facts.analysis, leaders=tuple(s for s in facts.analysis.leaders if s.leader == 1))
    section = make_leadership_section(replace(facts, analysis=only_one))
    bars = next(exhibit for exhibit in section.exhibits if isinstance(exhibit, Bars))

    assert bars.categories == ("broker-h1", "broker-h2", "broker-h3")
    assert [sum(series.values[1] or 0 for series in bars.series)] == [0]


def test_an_even_share_of_leaders_is_a_line_across_the_bars(rich_report: Path) -> None:
    bars = make_figures(read_facts(rich_report.parent))["leadership"]
    assert isinstance(bars, Bars)
    assert [(mark.at, mark.label) for mark in bars.marks] == [(1.0, "1 if all led alike")]
    drawing = (rich_report.parent / "figures" / "leadership.svg").read_text("utf-8")
    assert 'class="mark neutral"' in drawing
    assert ">1 if all led alike</text>" in drawing
    assert "mark: 1 if all led alike,1.0" in (rich_report.parent / "figures" / "leadership.csv").read_text("utf-8")


def test_what_was_told_once_is_a_number_and_no_empty_chart(rich_report: Path) -> None:
    figures = rich_report.parent / "figures"
    assert (figures / "told-once.csv").read_text().splitlines() == [
        "by,what,value",
        "check fraud,precision,0.975",
    ]
    assert [path.name for path in figures.glob("gauge-*.csv")] == ["gauge-1-lag.csv"]


def test_partitions_in_danger_the_lag_and_the_machine_are_drawn_beside_what_they_belong_to(rich_report: Path) -> None:
    figures = rich_report.parent / "figures"
    rows = (figures / "under-replicated.csv").read_text()
    assert "under-replicated" in rows
    assert "without a leader" not in rows, "there was always a leader"
    assert "billing" in (figures / "lag.csv").read_text()
    assert "steal" in (figures / "machine-cpu.csv").read_text()
    assert "used" in (figures / "machine-memory.csv").read_text()


def test_events_are_told_in_words(rich_report: Path) -> None:
    text = read(rich_report).text
    assert "fault cut, instance 1, do down, on h4 -- s1" in text
    assert "planned_ns" not in text


def test_light_and_dark_and_paper_are_all_provided_for(tmp_path: Path) -> None:
    text = write_report(tiny_run(tmp_path)).read_text("utf-8")
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", text))
    light, dark = (set(re.findall(r"--([a-z0-9-]+):", block)) for block in re.findall(r":root\{([^}]*)\}", text)[:2])
    assert used <= light
    assert light == dark


def test_the_drawing_still_has_the_colours_that_the_dark_page_replaces(tmp_path: Path) -> None:
    text = write_report(tiny_run(tmp_path)).read_text("utf-8")
    drawing = text[text.index('<div class="drawing') :]
    replaced = re.findall(r'\.drawing \[(?:fill|stroke)="(#[0-9a-f]{6})"', text)
    assert len(replaced) == 4
    for colour in replaced:
        assert f'"{colour}"' in drawing


def test_the_command_writes_the_report_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tiny_run(tmp_path)
    elsewhere = tmp_path / "other.html"
    assert main(["report", str(run), "--out", str(elsewhere)]) == 0
    assert capsys.readouterr().out.strip() == str(elsewhere)
    assert "hello" in read(elsewhere).text


def test_what_is_no_run_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.json").write_text(json.dumps([]))
    assert main(["report", str(tmp_path)]) == 2
    assert "is not a run folder" in capsys.readouterr().err


def test_suspect_time_is_shaded_and_its_reasons_are_told(rich_report: Path) -> None:
    section = make_fidelity_section(read_facts(rich_report.parent))
    chart = next(part for part in section.parts if isinstance(part, Chart) and part.name == "machine")
    table = next(part for part in section.parts if isinstance(part, Table))

    assert [(band.start, band.end) for band in chart.bands if band.label == "suspect"] == [(12.0, 14.5)]
    assert table.rows == ((12.0, 14.5, "threads of broker-h2 waited for a CPU"),)
