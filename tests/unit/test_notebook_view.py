"""A run in a cell of a notebook: what the cell shows, and that nothing is shown elsewhere."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stream2gym import notebook_view
from stream2gym.execution.view import LoadProgress, SilentView
from stream2gym.notebook_view import NotebookView, find_view
from tests.unit.report.page import Page


def test_a_cell_shows_phases_the_load_and_what_happened() -> None:
    drawn: list[str] = []
    view = NotebookView(drawn.append, 10.0, {2: "broker-h2", 3: "broker-h3"})
    view.phase("network")
    view.phase("load")
    view.progress(LoadProgress(sent=1500, acked=1400, received=1300, lag=100, load_s=5.0))
    view.event({"event": "leader", "partition": 0, "topic": "<in>", "before": 2, "leader": 3})
    page = Page(drawn[-1])
    assert page.open == []
    assert "network 0.0 s › load 0.0 s" in page.text
    assert "sent 1,500" in page.text
    assert "partition 0 of <in>: leader broker-h2 -> broker-h3" in page.text
    assert 'value="0.500"' in drawn[-1]
    assert "<in>" not in drawn[-1]


def test_progress_is_drawn_a_few_times_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(number / 100 for number in range(1000))
    monkeypatch.setattr(notebook_view, "time", SimpleNamespace(monotonic=lambda: next(moments)))
    drawn: list[str] = []
    view = NotebookView(drawn.append, None)
    for _ in range(100):
        view.progress(LoadProgress(sent=1))
    assert len(drawn) == 4, "in a second"


def test_a_notebook_that_is_gone_does_not_end_the_run() -> None:
    def fail(_html: str) -> None:
        raise RuntimeError("the kernel is gone")

    view = NotebookView(fail, 1.0)
    view.phase("load")
    view.note("stopping")


def test_outside_of_notebooks_a_run_is_silent() -> None:
    assert isinstance(find_view(10.0), SilentView)
