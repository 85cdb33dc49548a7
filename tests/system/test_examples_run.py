"""Every bundled application of the stream processing engine, run by its one command to a verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.examples import EXAMPLES
from tests.support.users import myself

APPLICATIONS = sorted(
    path.parent.name for path in EXAMPLES.glob("*/experiment.yaml") if "\nengines:" in path.read_text()
)


def test_there_are_applications_and_each_is_explained_and_checked() -> None:
    assert {"word-count", "fraud-detection", "intrusion-detection"} <= set(APPLICATIONS)
    for name in APPLICATIONS:
        assert (EXAMPLES / name / "README.md").is_file()
        assert "mismatches(" in (EXAMPLES / name / "experiment.yaml").read_text()


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", APPLICATIONS)
def test_an_application_passes_with_one_command(tmp_path: Path, name: str) -> None:
    run = tmp_path / "run"
    done = myself().run("run", name, "--out", str(run), timeout=800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verdict: pass" in done.stdout
    verdict = json.loads((run / "verdict.json").read_text())
    assert verdict["outcome"] == "pass"
    assert (run / "report.html").stat().st_size > 0


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_programs_that_come_with_spark_run_as_they_are(tmp_path: Path) -> None:
    run = tmp_path / "run"
    experiment = EXAMPLES / "socket-word-count" / "shipped.yaml"
    done = myself().run("run", str(experiment), "--out", str(run), "--no-report", timeout=800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((run / "verdict.json").read_text())["outcome"] == "pass"
