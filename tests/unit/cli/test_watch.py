"""``s2g watch`` and ``s2g run --live``: what they refuse, before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream2gym.cli.main import main
from tests.unit.web.web_runs import fake_folder


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["watch", "nothing"], "there are no runs"),
        (["watch", "RUN", "--port", "70000"], "70000 is no port"),
        (["watch", "RUN", "--port", "-1"], "-1 is no port"),
        (["run", "hello", "--read-only"], "add --live"),
        (["run", "hello", "--port", "8000"], "add --live"),
        (["run", "hello", "--live", "--port", "99999"], "99999 is no port"),
    ],
)
def test_mistakes_are_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    run = fake_folder(tmp_path / "fake")
    assert main([str(run.path) if word == "RUN" else word for word in words]) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("name", "text"), [("plan.json", None), ("plan.json", "{}"), ("experiment.yaml", "[")])
def test_a_folder_that_cannot_be_shown_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str | None
) -> None:
    run = fake_folder(tmp_path / "fake")
    if text is None:
        (run.path / name).unlink()
    else:
        (run.path / name).write_text(text)
    assert main(["watch", str(run.path)]) == 2
    said = capsys.readouterr().err
    assert str(run.path) in said
    assert "Traceback" not in said
