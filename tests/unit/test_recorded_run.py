"""A recorded run in Python: tables, figures and findings, as a notebook shows them."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pytest

import stream2gym
from stream2gym.analysis.fake_run import rehearsal
from stream2gym.errors import BadInput
from stream2gym.recorded_run import RecordedRun
from tests.unit.report.page import Page
from tests.unit.report.synthetic import rich_run, write_run


@pytest.fixture
def run(tmp_path: Path) -> RecordedRun:
    folder = rich_run(tmp_path)
    rehearsal().write(tmp_path / "fake")
    shutil.move(tmp_path / "fake" / "data", folder / "data")
    return stream2gym.load_run(folder)


def test_a_run_tells_what_it_found(run: RecordedRun) -> None:
    assert run.verdict == "fail"
    assert not run.passed
    assert any("never reached group billing" in text for text in run.findings)
    assert run.value("lost") == 412
    assert run.judge("lost < 500").judgements[0].outcome == "pass"
    assert repr(run) == "<run rides-20261116-120000-abcd: fail>"


def test_tables_come_by_name_as_arrow(run: RecordedRun) -> None:
    assert {"sent", "received", "events", "audit", "sent_counts"} <= set(run.tables)
    assert run.arrow("sent").num_rows == 1000
    assert sum(run.arrow("audit").column("lost").to_pylist()) == 412
    for table in run.tables:
        run.arrow(table)
    with pytest.raises(BadInput, match="did you mean 'audit'"):
        run.arrow("audti")


def test_without_pandas_it_says_how_to_get_it(run: RecordedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    find: Any = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pandas" else find(name))
    with pytest.raises(ImportError, match="pip install pandas"):
        run.pandas("sent")


def test_a_notebook_shows_the_run_and_its_figures(run: RecordedRun, tmp_path: Path) -> None:
    page = Page(run._repr_html_())
    assert page.open == []
    assert "rides: fail" in page.text
    assert "lost == 0" in page.text
    figure = run.figure("latency")
    assert "data:image/svg+xml;base64," in figure._repr_html_()
    assert figure.save(tmp_path / "a.svg").read_text("utf-8").startswith("<?xml")
    assert figure.save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(BadInput, match="names no format"):
        figure.save(tmp_path / "a.gif")
    with pytest.raises(BadInput, match="did you mean"):
        run.figure("latensy-time")


def test_a_run_that_was_not_judged_can_be_loaded(tmp_path: Path) -> None:
    run = stream2gym.load_run(write_run(tmp_path, "rides", hosts=2, analysis=None, events=[]))
    assert run.verdict == "unknown"
    assert run.analysis is None
    assert run.value("lost") is None
    assert run.tables == ["events"]
    assert "rides" in run._repr_html_()
    with pytest.raises(BadInput, match="not been analysed"):
        run.judge("lost == 0")


def test_there_is_no_such_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="no runs"):
        stream2gym.load_run()
