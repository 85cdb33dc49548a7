"""A coarse pass of one requirement: every engine is measured, and the page has the runs behind every cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.users import myself

ENOUGH_S = 600.0
ENGINES = ("Spark micro-batches", "Spark Real-Time Mode", "Kafka Streams")


@pytest.mark.long
@pytest.mark.timeout(ENOUGH_S)
def test_a_coarse_pass_measures_every_engine_and_names_the_runs_behind_it(tmp_path: Path) -> None:
    out, page = tmp_path / "sweeps", tmp_path / "docs" / "engines-compared.md"
    done = myself().run(
        "conformance", "keeps-moving", "--quick", "--out", str(out), "--write", str(page), timeout=ENOUGH_S
    )
    assert done.returncode in (0, 3), done.stderr
    table = [line for line in page.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert table[0] == f"| measured | {' | '.join(ENGINES)} |"
    for line in table[1:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")][1:]
        assert len(cells) == len(ENGINES)
        for cell in cells:
            assert not cell.startswith("failed"), cell
            run = cell.rpartition("<br>")[2]
            assert (out / "keeps-moving" / run / "verdict.json").is_file(), cell


def test_a_requirement_that_nobody_measures_is_refused() -> None:
    done = myself().run("conformance", "keeps-moveing", timeout=60.0)
    assert done.returncode == 2
    assert "there are: keeps-moving, respond, safety" in done.stderr
