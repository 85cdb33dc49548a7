"""The commands that hand a run to other tools, and the small ones around them."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from stream2gym.analysis.fake_run import rehearsal
from stream2gym.analysis.result_tables import SentRow
from stream2gym.cli.completers import find_wanted_command
from stream2gym.cli.logs import LinePrinter, LogTail, arrange
from stream2gym.cli.main import COMMANDS, main
from stream2gym.cli.repeat_summary import RepeatedRun, summarise
from stream2gym.judge.verdict import Judgement, Verdict
from stream2gym.record.folder import RunFolder
from tests.unit.figures.gallery import HOSTILE
from tests.unit.report.synthetic import rich_analysis, rich_events, rich_run, rich_verdict, tiny_run, write_run

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run that lost messages, with its analysis and its verdict, and the tables of another one."""
    folder = rich_run(tmp_path)
    rehearsal().write(tmp_path / "fake")
    shutil.move(tmp_path / "fake" / "data", folder / "data")
    shutil.copyfile(tmp_path / "fake" / "experiment.yaml", folder / "experiment.yaml")
    return folder


def test_judge_takes_new_expectations_and_ends_with_the_code_of_the_verdict(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in run_folder.rglob("*")}
    assert main(["judge", str(run_folder), "--expect", "received > 100", "--expect", "lost == 0"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"fail +lost == 0 +412", out)
    assert "producer-h4 #10000" in out
    assert "verdict: fail" in out
    assert main(["judge", str(run_folder), "--expect", "received > 100", "--expect", "died(component=*) == 1"]) == 0
    assert {path: path.stat().st_mtime_ns for path in run_folder.rglob("*")} == before


def test_judge_without_expectations_takes_those_of_the_experiment(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (run_folder / "experiment.yaml").read_text("utf-8")
    (run_folder / "experiment.yaml").write_text(text + "expect: [lost < 3]\n", "utf-8")
    assert main(["judge", str(run_folder), "--json"]) == 1
    verdict = json.loads(capsys.readouterr().out)
    (lost,) = verdict["judgements"]
    assert lost["text"] == "lost < 3"
    # The bounds between which the truth lies.
    assert 3 <= lost["low"] <= lost["high"]
    assert verdict["exit_code"] == 1


def test_judge_names_every_mistake_at_once(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run_folder / "analysis.json").unlink()
    words = ["judge", str(run_folder), "--expect", "latancy < 1 s", "--expect", "lost = 3"]
    assert main(words) == 2
    err = capsys.readouterr().err
    assert "did you mean 'latency'" in err
    assert "lost = 3" in err
    assert "has not been analysed" in err


def test_folders_that_are_damaged_are_refused_in_words(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run_folder / "experiment.yaml").write_text("[", "utf-8")
    assert main(["judge", str(run_folder)]) == 2
    assert "experiment.yaml cannot be read" in capsys.readouterr().err
    (run_folder / "analysis.json").write_text("[]", "utf-8")
    for words in (["judge", str(run_folder)], ["export", str(run_folder), "--out", str(run_folder / "x")]):
        assert main(words) == 2
        assert "analysis cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_export_writes_the_same_rows_in_every_format(
    run_folder: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out"
    assert main(["export", str(run_folder), "--format", form, "--out", str(target), "--json"]) == 0
    files = {one["table"]: one for one in json.loads(capsys.readouterr().out)}
    assert files["sent"]["rows"] == 1000
    assert files["audit"]["rows"] == 12
    assert "events" in files
    assert "cut_off" not in files  # it has no rows
    rows = read_any(Path(files["audit"]["file"]))
    assert [int(row["lost"]) for row in rows if int(row["lost"])] == [412]
    sent = read_any(Path(files["sent"]["file"]))
    assert {int(row["seq"]) for row in sent} == set(range(1000))
    assert "p99_s" in read_any(Path(files["latency"]["file"]))[0]


def read_any(file: Path) -> list[dict[str, Any]]:
    if file.suffix == ".csv":
        with file.open(newline="") as source:
            return list(csv.DictReader(source))
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    found: list[dict[str, Any]] = pq.read_table(file).to_pylist()
    return found


def test_export_refuses_unknown_tables_and_folders_in_the_way(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    words = ["export", str(run_folder), "--table", "sentt", "--table", "nonsense", "--out", str(tmp_path / "taken")]
    assert main(words) == 2
    err = capsys.readouterr().err
    assert "did you mean 'sent'" in err
    assert "nonsense" in err
    assert "not an empty folder" in err


def test_export_waits_for_the_record_to_be_sealed(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    info = json.loads((run_folder / "run.json").read_text("utf-8"))
    (run_folder / "run.json").write_text(json.dumps({**info, "sealed": False}), "utf-8")
    assert main(["export", str(run_folder)]) == 2
    assert "not sealed" in capsys.readouterr().err


def test_the_report_as_markdown_has_verdict_findings_and_expectations(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(run_folder), "--format", "md"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("## ❌ rides: fail\n")
    assert "| ❌ fail | lost == 0 | 412 |" in out
    assert "acknowledged messages of in never reached group billing" in out


def test_names_of_a_run_never_become_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "a|b <script>`x` [y](z)"
    hostile = replace(rich_analysis(name), sent=(SentRow(name, 0, HOSTILE, 10, 10),))
    judged = replace(rich_verdict(), failures=(f"{name} died",))
    folder = write_run(tmp_path, "rides", hosts=2, analysis=hostile, events=rich_events(), verdict=judged)
    assert main(["report", str(folder), "--format", "md"]) == 0
    out = capsys.readouterr().out
    assert "<script>" not in out
    assert "a\\|b &lt;script&gt;\\`x\\` \\[y\\](z)" in out


def test_the_report_as_junit_has_a_case_for_each_expectation(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "results.xml"
    assert main(["report", str(run_folder), "--format", "junit", "--out", str(target)]) == 0
    assert capsys.readouterr().out.strip() == str(target)
    suite = ElementTree.parse(target).getroot()[0]
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert len(cases) == 5
    assert [child.tag for child in cases["lost == 0"]] == ["failure"]
    assert [child.tag for child in cases["latency.p99 < 2 s"]] == ["error"]
    assert [child.tag for child in cases["nothing dies unasked"]] == ["failure"]
    assert not list(cases["the run goes through"])
    counts = (suite.get("tests"), suite.get("failures"), suite.get("errors"))
    assert counts == ("5", "2", "1")
    properties = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert properties["lost"] == "412"
    assert float(properties["latency.p99"] or 0) > 0


def test_the_report_as_openmetrics_keeps_to_its_grammar(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run_folder), "--format", "openmetrics"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("# EOF\n")
    sample = re.compile(r'(stream2gym_\w+)(\{(\w+="(?:[^"\\\n]|\\.)*",?)+\})? (NaN|[+-]Inf|-?[\d.]+(e[+-]?\d+)?)')
    known: set[str] = set()
    for line in out.splitlines()[:-1]:
        if line.startswith("# TYPE "):
            known.add(line.split()[2])
        elif not line.startswith("#"):
            found = sample.fullmatch(line)
            assert found, line
            assert found[1].removesuffix("_info") in known
    assert 'stream2gym_verdict{stream2gym_verdict="fail"} 1' in out
    assert 'expectation="latency.p99 < 2 s"} NaN' in out
    assert 'stream2gym_audited_messages{topic="in",group="billing",fate="lost"} 412' in out


@pytest.mark.parametrize("form", ["md", "junit", "openmetrics"])
def test_a_run_that_failed_early_has_every_format(tmp_path: Path, form: str) -> None:
    folder = write_run(tmp_path, "rides", hosts=2, analysis=None, events=[])
    assert main(["report", str(folder), "--format", form]) == 0


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG\r\n")])
def test_a_figure_by_name(run_folder: Path, tmp_path: Path, kind: str, start: bytes) -> None:
    if kind == "png":
        pytest.importorskip("pypdfium2")
    for figure in ("latency", "leaders", "port-bars"):
        target = tmp_path / f"{figure}.{kind}"
        assert main(["report", str(run_folder), "--figure", figure, f"--{kind}", "--out", str(target)]) == 0
        assert target.read_bytes().startswith(start)
        assert target.stat().st_size > 1000


def test_a_png_without_its_library_is_refused(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    assert main(["report", str(run_folder), "--figure", "latency", "--png"]) == 2
    assert "stream2gym[png]" in capsys.readouterr().err


def test_figures_are_listed_and_unknown_ones_named(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run_folder), "--figure", "list"]) == 0
    assert "latency-time" in capsys.readouterr().out
    assert main(["report", str(run_folder), "--figure", "latencies"]) == 2
    assert "did you mean" in capsys.readouterr().err
    assert main(["report", str(run_folder), "--figure", "audit"]) == 2
    assert "is a table" in capsys.readouterr().err


def test_options_of_report_that_do_not_go_together(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["report", str(run_folder), "--figure", "latency", "--format", "md", "--open"]
    assert main(words) == 2
    err = capsys.readouterr().err
    assert "--format" in err
    assert "--open" in err
    assert main(["report", str(run_folder), "--pdf"]) == 2


def test_logs_of_several_components_have_their_names_in_front(
    run_folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    write_logs(run_folder)
    assert main(["logs", str(run_folder), "broker-h1", "--tail", "1", "producer-h4"]) == 0
    assert capfdbinary.readouterr().out == b"broker-h1   | two\nproducer-h4 | sent\n"


def write_logs(folder: Path) -> None:
    (folder / "logs").mkdir()
    (folder / "logs" / "h1.broker-h1.log").write_text("one\ntwo\n", "utf-8")
    (folder / "logs" / "h4.producer-h4.log").write_text("sent\n", "utf-8")


def test_logs_name_every_unknown_component(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(run_folder)
    for words in (["no-1", "no-2"], ["-f", "no-1", "no-2"]):
        assert main(["logs", str(run_folder), *words]) == 2
        err = capsys.readouterr().err
        assert "no-1" in err
        assert "no-2" in err


def test_logs_follow_a_run_until_it_is_over_and_take_up_logs_that_begin_later(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    folder = RunFolder.create("rides", seed=1, out=tmp_path / "run")
    early, late = folder.logs / "h1.early.log", folder.logs / "h2.late.log"
    early.write_text("first\nsecond\n", "utf-8")

    def go_on() -> None:
        time.sleep(0.4)
        with early.open("a") as file:
            file.write("third\nunfin")
        late.write_text("hello\n", "utf-8")
        time.sleep(0.4)
        with early.open("a") as file:
            file.write("ished")
        folder.release()

    writer = threading.Thread(target=go_on)
    writer.start()
    assert main(["logs", str(folder.path), "-f", "--tail", "1"]) == 0
    writer.join()
    lines = [line.split(" | ") for line in capfdbinary.readouterr().out.decode().splitlines()]
    assert [text for name, text in lines if name.strip() == "early"] == ["second", "third", "unfinished"]
    assert [text for name, text in lines if name.strip() == "late"] == ["hello"]


def test_a_log_is_read_by_whole_lines(tmp_path: Path) -> None:
    log = tmp_path / "h1.a.log"
    log.write_bytes(b"one\ntw")
    tail = LogTail(log, None)
    assert list(tail.read_lines()) == [b"one"]
    with log.open("ab") as file:
        file.write(b"o\n")
    assert list(tail.read_lines()) == [b"two"]
    assert list(tail.read_lines(to_end=True)) == []


def test_bytes_that_are_no_text_pass_through() -> None:
    written: list[bytes] = []
    LinePrinter(["a", "longer"], written.append).print("a", b"\xff\x00")
    assert written == [b"a      | \xff\x00\n"]


def test_options_of_logs_may_stand_anywhere() -> None:
    assert arrange(["latest", "-f", "a", "--tail", "3", "b"]) == ["-f", "--tail", "3", "latest", "a", "b"]


def test_repeated_runs_end_with_a_summary() -> None:
    good, bad = Judgement("lost == 0", "pass", 0.0, "0"), Judgement("lost == 0", "fail", 3.0, "3")
    analysis = rich_analysis()
    other = replace(analysis, sent=tuple(replace(row, acknowledged=row.acknowledged - 5) for row in analysis.sent))
    runs = [
        RepeatedRun("rides-1", 1, Verdict("pass", (good,)), analysis, []),
        RepeatedRun("rides-2", 2, Verdict("fail", (bad,)), other, []),
        RepeatedRun("rides-3", 3, Verdict("unknown"), None, []),
    ]
    lines = summarise(runs)
    assert lines[0] == "3 runs: 1 pass, 1 fail, 1 unknown"
    assert "  seed 2: fail  rides-2" in lines
    assert "  held in 1 of 3: lost == 0" in lines
    assert re.fullmatch(r" +acknowledged +119910 +119940", next(one for one in lines if "acknowledged " in one))
    assert not any(line.lstrip().startswith("received") for line in lines)


def test_an_example_is_copied_to_start_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["examples", "--copy", "word-count"]) == 0
    assert "s2g run ./word-count" in capsys.readouterr().out
    assert main(["validate", "./word-count"]) == 0
    assert not list(tmp_path.rglob("__pycache__"))
    assert main(["examples", "--copy", "word-count"]) == 2
    assert main(["examples", "--copy", "word-cuont"]) == 2
    assert "did you mean 'word-count'" in capsys.readouterr().err
    assert main(["examples", "--copy", "link-latency", "--to", "mine"]) == 0
    assert "s2g sweep ./mine/sweep.yaml" in capsys.readouterr().out
    assert main(["examples", "--to", "elsewhere"]) == 2


def test_a_folder_of_that_name_is_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wc").mkdir()
    assert main(["validate", "wc"]) == 2
    assert "write ./wc" in capsys.readouterr().err


def test_the_help_in_a_clone_names_test_and_bench(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    assert "./s2g test" in out
    assert "./s2g bench" in out


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("s2g rep", {"report"}),
        ("s2g run he", {"hello"}),
        ("s2g run --re", {"--read-only", "--repeat"}),
        ("s2g report ri", {"rides-20261116-120000-abcd"}),
        ("s2g logs rides producer", {"producer-h4", "producer-h5"}),
        ("s2g examples --copy link", {"link-latency"}),
        ("s2g logs nosuch bro", set()),
        ("s2g completion ", {"bash", "zsh", "fish"}),
    ],
)
def test_a_shell_is_offered_what_fits(tmp_path: Path, line: str, offered: set[str]) -> None:
    """Asked as the script of ``s2g completion`` asks."""
    rich_run(tmp_path / "runs")
    answer = tmp_path / "answer"
    env = os.environ | {
        "_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": "bash", "_ARGCOMPLETE_SUPPRESS_SPACE": "1", "COMP_LINE": line,
        "COMP_POINT": str(len(line)), "COMP_TYPE": "9", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "_ARGCOMPLETE_IFS": "\n",
    }  # fmt: skip
    subprocess.run([sys.executable, "-I", "-m", "stream2gym"], env=env, cwd=tmp_path, check=True, timeout=60)
    found = {word.strip() for word in answer.read_text("utf-8").split("\n") if word.strip()}
    assert {word for word in found if not word.startswith("-") or line.endswith("--re")} == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert "s2g" in out
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=out, text=True, check=True, timeout=30)


def test_the_command_of_an_unfinished_line() -> None:
    assert find_wanted_command("s2g run --time '5 ") == "run"
    assert find_wanted_command("s2g --help ") == ""
    assert set(COMMANDS) >= {"judge", "export", "completion"}


def test_the_findings_end_the_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from stream2gym.analysis.analyse import load_analysis
    from stream2gym.api import Result
    from stream2gym.cli.run import as_json
    from stream2gym.cli.run_summary import SummaryPrinter

    path = tiny_run(tmp_path)
    result = Result(RunFolder.open(path), "done", Verdict("pass"), load_analysis(path))
    SummaryPrinter(quiet=False).result(result)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("verdict: pass")
    assert lines[-len(result.findings) :] == list(result.findings)
    assert result.findings[0] == "No acknowledged message was lost: all 10 were received."
    described = as_json(result)["findings"]
    assert isinstance(described, list)
    assert described[0]["evidence"] == [{"text": "10", "in": "table-audit"}]
