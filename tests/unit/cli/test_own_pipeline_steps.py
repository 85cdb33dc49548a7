"""The page "Test your own pipeline in ten minutes": its commands exist, and what the reader adds is valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream2gym.cli.main import COMMANDS, main
from tests.support.pages import Addition, Command, Shown, read_steps

QUICK = ("new", "validate", "plan")


def test_what_needs_no_run_is_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = []
    for step in read_steps("own-pipeline.md"):
        if isinstance(step, Addition):
            with (tmp_path / "my-shop" / "experiment.yaml").open("a") as experiment:
                experiment.write(step.text)
            assert main(["validate", "my-shop/"]) == 0
        elif isinstance(step, Command):
            commands.append(step.words[0])
            assert step.words[0] in COMMANDS
            if step.words[0] in QUICK:
                assert main(list(step.words)) == step.exit_code, capsys.readouterr().err
    assert commands.count("run") == 3


def test_the_page_ends_in_a_failure_that_is_explained_and_mended() -> None:
    steps = list(read_steps("own-pipeline.md"))
    codes = [step.exit_code for step in steps if isinstance(step, Command) and step.words[0] == "run"]
    assert codes == [0, 1, 0]
    shown = [line for step in steps if isinstance(step, Shown) for line in step.lines]
    assert "verdict: fail" in shown
    assert any(line.startswith("gave up order") for line in shown)
