"""Files of the clone that pages link to are part of the site."""

from __future__ import annotations

from pathlib import Path

from website.build import take_files_along


def test_a_linked_file_is_taken_along_under_a_name_that_browsers_show(tmp_path: Path) -> None:
    page = tmp_path / "tools.md"
    page.write_text("[a](../examples/ci/gitlab-ci.yml) [b](../examples/notebook/broker-crash.ipynb) [c](faults.md#x)")
    take_files_along(tmp_path)
    assert page.read_text() == (
        "[a](files/examples/ci/gitlab-ci.yml.txt) [b](files/examples/notebook/broker-crash.ipynb) [c](faults.md#x)"
    )
    assert (tmp_path / "files/examples/ci/gitlab-ci.yml.txt").read_text().strip()
    assert (tmp_path / "files/examples/notebook/broker-crash.ipynb").is_file()


def test_what_is_not_there_or_not_in_the_clone_stays_as_it_is_for_the_build_to_refuse(tmp_path: Path) -> None:
    page = tmp_path / "tools.md"
    text = "[a](../examples/nothing.yml) [b](../../../etc/passwd)"
    page.write_text(text)
    take_files_along(tmp_path)
    assert page.read_text() == text
    assert not (tmp_path / "files").exists()
