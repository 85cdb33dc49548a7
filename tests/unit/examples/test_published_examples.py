"""The published results: each sweep loads and plans, its values have a source, its README tells what agrees and what
differs."""

from __future__ import annotations

import csv
import json
import re
import runpy
from pathlib import Path

import pytest

from stream2gym.cli.examples import first_sentence
from stream2gym.packets.round_trips import RoundTrip
from stream2gym.sweeps.check_points import check_points
from stream2gym.sweeps.load_sweep import LoadedSweep, load_sweep
from stream2gym.sweeps.sweep_plan import make_sweep_plan
from tests.support.examples import EXAMPLES

FOLDERS = sorted(path.parent for path in (EXAMPLES / "published").glob("*/sweep.yaml"))
HEADINGS = ["What they did", "What we do", "What agrees", "What differs, and why", "Run it"]


@pytest.fixture(params=FOLDERS, ids=lambda path: path.name)
def folder(request: pytest.FixtureRequest) -> Path:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def loaded(folder: Path) -> LoadedSweep:
    return load_sweep(folder / "sweep.yaml")


def test_the_sweep_has_the_name_of_its_folder_and_every_point_can_be_planned(
    folder: Path, loaded: LoadedSweep
) -> None:
    whole, coarse = make_sweep_plan(loaded.file), make_sweep_plan(loaded.file, is_quick=True)

    assert loaded.file.name == folder.name
    assert check_points(loaded, whole).warnings == ()
    assert {str(run.values) for run in coarse.runs} <= {str(run.values) for run in whole.runs}
    assert len(coarse.runs) < len(whole.runs)


def test_every_published_value_has_a_source_and_is_used(folder: Path, loaded: LoadedSweep) -> None:
    with (folder / "published.csv").open() as file:
        rows = list(csv.DictReader(file))

    assert all(row["source"] for row in rows)
    named = " ".join(line.published for line in loaded.file.agreement)
    assert loaded.file.agreement
    assert any(row["series"] in named or "{" in named for row in rows)


def test_the_readme_tells_what_they_did_what_we_do_what_agrees_and_what_differs(folder: Path) -> None:
    text = (folder / "README.md").read_text("utf-8")

    assert text.startswith(f"# {folder.name}\n\n")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    assert 10 < len(first_sentence(text)) < 100
    assert f"s2g sweep {folder.name}" in text


def test_the_documented_durations_of_all_are_the_sums_of_those_in_the_readmes() -> None:
    def add_minutes(option: str) -> int:
        told = " ".join((folder / "README.md").read_text("utf-8") for folder in FOLDERS)
        return sum(map(int, re.findall(rf"s2g sweep [\w-]+ *{option}# [^\n]*?(\d+) minute", told)))

    docs = " ".join((EXAMPLES.parent / "docs" / "sweep.md").read_text("utf-8").split())
    assert f"a coarse pass of all, about {5 * round(add_minutes('--quick *') / 5)} minutes" in docs
    assert "all, a little more than two hours" in docs
    assert 120 < add_minutes("") < 150


def test_round_trips_of_a_batch_are_counted_and_those_that_a_burst_waits_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every round trip takes 100 ms. The driver asks twice in a row; the last burst comes while it asks again.

    A burst that comes while the first batch is at work does not count.
    """
    ms = 1_000_000

    def trips(begin_ms: int, *kinds: str) -> list[RoundTrip]:
        clients = {"metadata": "adminclient-1", "list offsets": "adminclient-1", "produce": "producer-1"}
        begins = range(begin_ms, begin_ms + 100 * len(kinds), 100)
        return [
            RoundTrip(kind, clients.get(kind, "consumer-1"), begin * ms, (begin + 100) * ms)
            for begin, kind in zip(begins, kinds, strict=True)
        ]

    questions = ("metadata", "list offsets")
    captured = [
        *trips(2000, *questions, *questions, "connect", "fetch", "produce"),
        *trips(5000, *questions, *questions, "fetch", "produce"),
    ]
    sent_ms = (500, 2550, 5250)
    monkeypatch.setattr("stream2gym.check_api.round_trips", lambda link: captured)
    monkeypatch.setattr("stream2gym.check_api.topic", lambda name: [{"time_ms": time} for time in sent_ms])
    monkeypatch.setattr("sys.argv", ["round_trips.py", "micro-batch"])
    runpy.run_path(str(EXAMPLES / "published" / "link-delay" / "round_trips.py"))
    said = json.loads(capsys.readouterr().out.rpartition("S2G ")[2])
    # Of the third question half is left, and half of the last round trip counts.
    assert said == {"mismatches": 0, "batches": 2, "first": 5, "later": 4, "waited": 0.5 + 1 + 1 + 0.5}
