"""The folder of temporary files is found without writing into it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from stream2gym.temporary_folder import choose_temporary_folder


@pytest.fixture(autouse=True)
def _undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_nothing_is_written_to_find_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def look_by_writing() -> str:
        raise AssertionError

    monkeypatch.setattr(tempfile, "_get_default_tempdir", look_by_writing)
    choose_temporary_folder({"TMPDIR": str(tmp_path)})
    assert tempfile.gettempdir() == str(tmp_path)


def test_a_folder_that_is_not_there_is_passed_over(tmp_path: Path) -> None:
    choose_temporary_folder({"TMPDIR": str(tmp_path / "none"), "TMP": str(tmp_path)})
    assert tempfile.gettempdir() == str(tmp_path)


def test_without_a_named_folder_it_is_the_usual_one() -> None:
    choose_temporary_folder({"TMPDIR": ""})
    assert tempfile.gettempdir() in ("/tmp", "/var/tmp")
