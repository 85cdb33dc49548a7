"""The published results: each sweep loads and plans, its values have a source, its README tells what differs."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from stream2gym.cli.examples import first_sentence
from stream2gym.sweeps.check_points import check_points
from stream2gym.sweeps.load_sweep import LoadedSweep, load_sweep
from stream2gym.sweeps.sweep_plan import make_sweep_plan
from tests.support.examples import EXAMPLES

FOLDERS = sorted(path.parent for path in (EXAMPLES / "published").glob("*/sweep.yaml"))
HEADINGS = ["What they did", "What we do", "What differs, and why", "Run it"]


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


def test_the_readme_tells_what_they_did_what_we_do_and_what_differs(folder: Path) -> None:
    text = (folder / "README.md").read_text("utf-8")

    assert text.startswith(f"# {folder.name}\n\n")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    assert 10 < len(first_sentence(text)) < 100
    assert f"s2g sweep {folder.name}" in text
