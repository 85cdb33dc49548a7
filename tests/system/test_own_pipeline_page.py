"""The page "Test your own pipeline in ten minutes", taken step by step as it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import Addition, Command, read_steps
from tests.support.users import myself

PROJECT = "my-shop"


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_every_step_of_the_page_ends_as_it_says(tmp_path: Path) -> None:
    output = ""
    for step in read_steps("own-pipeline.md"):
        if isinstance(step, Command):
            done = myself().run(*step.words, cwd=tmp_path, timeout=600)
            assert done.returncode == step.exit_code, f"{step}\n{done.stdout}{done.stderr}"
            output += done.stdout
        elif isinstance(step, Addition):
            with (tmp_path / PROJECT / "experiment.yaml").open("a") as experiment:
                experiment.write(step.text)
        else:
            assert step.missing_from(output) == [], output
            output = ""
