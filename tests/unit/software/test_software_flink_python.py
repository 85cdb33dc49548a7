"""Where PyFlink is found, and how its environment is made: complete or not at all."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
from pathlib import Path

import pytest

from stream2gym.errors import CannotHere
from stream2gym.software import flink_python
from stream2gym.software.cache import Cache
from stream2gym.software.flink_python import (
    LOCK,
    ask_interpreter,
    choose_python,
    ensure_flink_python,
    find_flink_python,
    install_commands,
)
from stream2gym.software.software_lists import FLINK
from stream2gym.software.status import software_status

JAR = f"pyflink/opt/flink-python-{FLINK}.jar"
# A venv module and a pip in one: makes the environment that it is told, with PyFlink in it.
MAKES = f"""#!/bin/sh
mkdir -p environment/bin environment/lib/python3.11/site-packages/pyflink/opt
echo one >> {{count}}
cp "$0" environment/bin/python
touch environment/lib/python3.11/site-packages/{JAR}
"""
FAILS = "#!/bin/sh\nmkdir -p environment/bin; echo no such index >&2; exit 1\n"


def script(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_every_package_of_the_environment_is_pinned_and_has_a_checksum() -> None:
    lines = [line for line in LOCK.read_text().splitlines() if line and not line.startswith(" ")]
    assert all(re.match(r"[a-z0-9-]+==[\w.]+ ", line) and line.endswith("\\") for line in lines)
    assert f"apache-flink=={FLINK} \\" in lines
    assert "://" not in LOCK.read_text()


def test_an_environment_is_made_once_and_kept_apart_from_half_made_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path / "cache")
    count = tmp_path / "count"
    makes = script(tmp_path / "makes", MAKES.format(count=count))
    monkeypatch.setattr(flink_python, "choose_python", lambda: (makes, (3, 11)))
    monkeypatch.setattr(flink_python, "install_commands", lambda base, _environment: [[base]])
    assert not any(row.name.startswith("pyflink") for row in software_status(cache=cache))
    found = ensure_flink_python(cache=cache)
    assert found.jar.name == f"flink-python-{FLINK}.jar"
    assert found == ensure_flink_python(cache=cache) == find_flink_python(cache)
    assert count.read_text() == "one\n"
    (row,) = (row for row in software_status(cache=cache) if row.name == f"pyflink-{FLINK}")
    assert row.state == "there"
    found.python.unlink()
    with pytest.raises(CannotHere):
        find_flink_python(cache)
    assert ensure_flink_python(cache=cache) == found, "one whose Python is gone is made again"
    assert os.listdir(cache.path("flink-python", "tmp")) == []


def test_an_installation_that_fails_leaves_nothing_and_tells_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path / "cache")
    fails = script(tmp_path / "fails", FAILS)
    monkeypatch.setattr(flink_python, "choose_python", lambda: (fails, (3, 12)))
    monkeypatch.setattr(flink_python, "install_commands", lambda base, _environment: [[base]])
    with pytest.raises(CannotHere, match="no such index") as told:
        ensure_flink_python(cache=cache)
    assert "package index" in told.value.remedy
    assert not list(cache.path("flink-python").glob("3.*"))
    assert os.listdir(cache.path("flink-python", "tmp")) == []


def test_both_ways_to_install_demand_the_checksums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for where in ("/usr/bin/uv", None):
        monkeypatch.setattr(shutil, "which", lambda _name, where=where: where)
        make, install = install_commands("/python", tmp_path)
        assert "venv" in make
        assert install[-3:] == ["--require-hashes", "-r", str(LOCK)]


def test_a_python_that_is_too_new_is_replaced_by_one_on_the_path_or_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 14, 0))
    monkeypatch.setattr(shutil, "which", lambda name: "/12" if name == "python3.12" else None)
    assert choose_python() == ("/12", (3, 12))
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(CannotHere, match=r"needs Python 3\.11 or 3\.12, and there is only 3\.14"):
        choose_python()


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ("echo 1.20.0; echo /nowhere", "has PyFlink 1.20.0, and this Flink is"),
        (f"echo {FLINK}; echo /nowhere", "is not complete"),
        ("echo ModuleNotFoundError: no pyflink >&2; exit 1", "has no PyFlink: ModuleNotFoundError"),
    ],
)
def test_a_named_interpreter_must_have_the_pyflink_of_this_flink(tmp_path: Path, says: str, expected: str) -> None:
    python = script(tmp_path / "python", f"#!/bin/sh\n{says}\n")
    with pytest.raises(CannotHere, match=expected) as told:
        ask_interpreter(python)
    assert f"apache-flink=={FLINK}" in told.value.remedy


def test_a_named_interpreter_with_pyflink_is_taken(tmp_path: Path) -> None:
    jar = tmp_path / JAR
    jar.parent.mkdir(parents=True)
    jar.touch()
    python = script(tmp_path / "python", f"#!/bin/sh\necho {FLINK}; echo {tmp_path}/pyflink\n")
    found = ask_interpreter(python)
    assert (str(found.python), found.jar) == (python, jar)
