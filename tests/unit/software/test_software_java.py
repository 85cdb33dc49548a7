import subprocess
from pathlib import Path

import pytest

from stream2gym.errors import CannotHere
from stream2gym.software.cache import Cache
from stream2gym.software.java import JavaRuntime, find_java, spark_home


def fake_java(folder: Path, version: str) -> Path:
    """A program that answers like a Java and counts how often it was asked."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\necho asked >> "{folder}/asked"\n'
        f'echo "    java.version = {version}" >&2\necho "    java.home = {folder}" >&2\n'
    )
    program.chmod(0o755)
    return program


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_a_java_can_be_named_by_its_program_or_its_home(tmp_path: Path, cache: Cache) -> None:
    program = fake_java(tmp_path / "jdk", "21.0.2")
    expected = JavaRuntime(str(tmp_path / "jdk"), str(program), "21.0.2")
    assert find_java(str(program), cache) == expected
    assert find_java(str(tmp_path / "jdk"), cache) == expected
    assert expected.major == 21


def test_a_java_is_asked_once_until_it_changes(tmp_path: Path, cache: Cache) -> None:
    program = fake_java(tmp_path / "jdk", "21.0.2")
    find_java(str(program), cache)
    find_java(str(program), cache)
    assert (tmp_path / "jdk" / "asked").read_text().count("asked") == 1
    program.write_text(program.read_text().replace("21.0.2", "22.0.10"))
    assert find_java(str(program), cache).version == "22.0.10"


def test_a_java_in_the_environment_is_used(tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    program = fake_java(tmp_path / "jdk", "17")
    monkeypatch.setenv("S2G_JAVA", str(program))
    assert find_java(cache=cache).major == 17


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_392"])
def test_a_java_that_is_too_old_is_refused(tmp_path: Path, cache: Cache, version: str) -> None:
    program = fake_java(tmp_path / "jdk", version)
    with pytest.raises(CannotHere, match="need 17 or later"):
        find_java(str(program), cache)


def test_a_java_that_is_not_there_is_told(tmp_path: Path, cache: Cache) -> None:
    with pytest.raises(CannotHere, match="there is no Java at"):
        find_java(str(tmp_path / "nothing"), cache)


def test_a_program_that_is_no_java_is_told(cache: Cache) -> None:
    with pytest.raises(CannotHere, match="does not answer like a Java"):
        find_java("/bin/true", cache)


def test_sparks_java_drops_the_one_module_and_keeps_every_other_word(tmp_path: Path, cache: Cache) -> None:
    program = tmp_path / "a java"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    home = spark_home(JavaRuntime(str(tmp_path), str(program), "25", bundled=True), cache)
    words = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "", "--add-opens=x", "$HOME", "*"]
    said = subprocess.run([home / "bin" / "java", *words], capture_output=True, text=True, check=True).stdout
    assert said.split("\n")[:-1] == ["-cp", "a b", "", "--add-opens=x", "$HOME", "*"]


def test_a_java_of_the_users_own_needs_no_shim(tmp_path: Path, cache: Cache) -> None:
    assert spark_home(JavaRuntime(str(tmp_path), "java", "21"), cache) == tmp_path


def test_a_java_whose_path_no_system_takes_is_not_there(cache: Cache) -> None:
    with pytest.raises(CannotHere, match="there is no Java at"):
        find_java("/" + "x" * 300, cache)
