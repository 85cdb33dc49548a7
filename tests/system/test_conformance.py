"""Engines held against each other for real: one requirement always, a coarse pass of all in the long tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.users import myself

ENOUGH_S = 2400.0
ENGINES = ("Spark micro-batches", "Spark Real-Time Mode", "Flink", "Kafka Streams")
NOT_OFFERED = "*not offered*"
EXACTLY_ONCE = ("Flink", "Kafka Streams")
NO_COORDINATOR = ("Kafka Streams", "fault coordinator killed")
STATELESS = "Spark Real-Time Mode"
IMPERFECT = "Handle imperfect streams"
WITH_STATE = (IMPERFECT, "Generate predictable outcomes", "Integrate stored and streaming data")


def measure(tmp_path: Path, *requirements: str) -> dict[tuple[str, str, str], str]:
    """A coarse pass: the cells of its page by requirement, line and engine. Every run behind a cell is there."""
    out, page = tmp_path / "sweeps", tmp_path / "docs" / "engines-compared.md"
    done = myself().run(
        "conformance", *requirements, "--quick", "--out", str(out), "--write", str(page), timeout=ENOUGH_S
    )
    assert done.returncode in (0, 3), done.stderr
    text = page.read_text("utf-8")
    assert "Not run" not in text
    for figure in re.findall(r"\]\((engines-compared/[^)]+\.svg)\)", text):
        assert (page.parent / figure).is_file(), figure
    cells = read_cells(text)
    for cell in cells.values():
        assert not cell.startswith(("failed", "not run")), cell
        if cell != NOT_OFFERED:
            run = cell.rpartition("<br>")[2]
            assert list(out.glob(f"*/{run}/verdict.json")), cell
    return cells


def read_cells(page: str) -> dict[tuple[str, str, str], str]:
    """The cells of a page by requirement, line and engine."""
    cells: dict[tuple[str, str, str], str] = {}
    for table in page.split("\n## ")[1:]:
        requirement = table.splitlines()[0].strip()
        lines = [line for line in table.splitlines() if line.startswith("| ")]
        assert lines[0] == f"| measured | {' | '.join(ENGINES)} |"
        for line in lines[1:]:
            title, *found = (cell.strip() for cell in line.strip("|").split(" | "))
            assert len(found) == len(ENGINES), line
            cells |= {(requirement, title, engine): cell for engine, cell in zip(ENGINES, found, strict=True)}
    return cells


@pytest.mark.timeout(600)
def test_every_engine_responds_and_the_page_names_the_runs_behind_it(tmp_path: Path) -> None:
    cells = measure(tmp_path, "respond")
    assert {title for _, title, _ in cells} == {"first result after", "ready after", "memory"}
    for place, cell in cells.items():
        assert re.match(r"\d", cell), (place, cell)


@pytest.mark.long
@pytest.mark.timeout(ENOUGH_S)
def test_a_coarse_pass_measures_every_requirement_and_engines_keep_their_promises(tmp_path: Path) -> None:
    cells = measure(tmp_path)
    for (requirement, title, engine), cell in cells.items():
        is_offered = not (engine == STATELESS and requirement in WITH_STATE)
        is_offered &= not (engine == NO_COORDINATOR[0] and title.endswith(NO_COORDINATOR[1]))
        assert (cell == NOT_OFFERED) != is_offered, (title, engine, cell)
        if not is_offered:
            continue
        # Nobody knows how far a query in Real-Time Mode is: what it has not copied in time counts as lost.
        if title.startswith(("lost", "windows that differ")) and engine != STATELESS:
            assert cell.startswith("0<br>"), (title, engine, cell)
        if title.startswith("twice") and engine in EXACTLY_ONCE:
            assert cell.startswith("0<br>"), (title, engine, cell)
    for engine in set(ENGINES) - {STATELESS}:
        patient, hasty = (
            float(cells[IMPERFECT, f"error, watermark {watermark}", engine].split("<br>")[0])
            for watermark in ("10 s", "0 s")
        )
        assert patient < hasty, engine


def test_a_requirement_that_nobody_measures_is_refused() -> None:
    done = myself().run("conformance", "keeps-moveing", timeout=60.0)
    assert done.returncode == 2
    assert "there are: imperfect, keeps-moving, predictable, respond, safety" in done.stderr
