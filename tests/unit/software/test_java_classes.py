"""Which class of a jar is started: the one that is named, that of the manifest, or the only one that can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream2gym.errors import BadInput
from stream2gym.software.java_classes import main_class, read_class
from tests.unit.software.class_files import MAIN, class_file, write_jar

NAMES = ["org.my.Count", "org.my.Helper", "org.my.Derived"]
CLASSES = [
    class_file(NAMES[0], [MAIN]),
    class_file(NAMES[1], [("help", "()V")]),
    class_file(NAMES[2], [], base="org.my.Count"),
]


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    return write_jar(tmp_path / "app.jar", CLASSES, NAMES)


def refusal(jar: Path, named: str | None) -> str:
    with pytest.raises(BadInput) as caught:
        main_class(jar, named, where="engines[0] count: main", shown="app.jar")
    (mistake,) = caught.value.mistakes
    assert (mistake.where, mistake.file) == ("engines[0] count: main", "app.jar")
    return f"{mistake.what} ({mistake.hint})"


def test_a_class_file_tells_its_name_base_and_methods() -> None:
    found = read_class(class_file("a.B", [MAIN, ("run", "(IJ)Z")], base="a.Base"))
    assert (found.name, found.base) == ("a.B", "a.Base")
    assert found.methods == {MAIN, ("run", "(IJ)Z")}
    assert found.has_main


def test_what_is_no_class_file_is_refused() -> None:
    with pytest.raises(ValueError, match="no class file"):
        read_class(b"PK\x03\x04 something else")


def test_the_only_class_with_a_main_method_is_started(jar: Path) -> None:
    assert main_class(jar, None) == "org.my.Count"


def test_a_class_that_is_named_is_started(jar: Path) -> None:
    assert main_class(jar, "org.my.Count") == "org.my.Count"


def test_a_class_may_inherit_its_main_method(jar: Path) -> None:
    assert main_class(jar, "org.my.Derived") == "org.my.Derived"


def test_a_main_method_without_arguments_counts(tmp_path: Path) -> None:
    jar = write_jar(tmp_path / "a.jar", [class_file("Compact", [("main", "()V")])], ["Compact"])
    assert main_class(jar, None) == "Compact"


def test_the_manifest_decides_between_several(tmp_path: Path) -> None:
    both = [class_file(name, [MAIN]) for name in ("a.One", "a.Two")]
    stated = write_jar(
        tmp_path / "a.jar", both, ["a.One", "a.Two"], "Manifest-Version: 1.0\r\nMain-Class: a.T\r\n wo\r\n"
    )
    assert main_class(stated, None) == "a.Two"
    assert "several classes have a main method (add 'main:', one of a.One, a.Two)" in refusal(
        write_jar(tmp_path / "b.jar", both, ["a.One", "a.Two"]), None
    )


def test_a_class_that_is_not_there_is_refused_with_those_that_are(jar: Path) -> None:
    assert refusal(jar, "org.my.Cuont") == "there is no class org.my.Cuont in it (can be started: org.my.Count)"
    assert refusal(jar, "Xyzzy") == "there is no class Xyzzy in it (can be started: org.my.Count)"


def test_a_class_without_a_main_method_is_refused(jar: Path) -> None:
    assert refusal(jar, "org.my.Helper") == "class org.my.Helper has no main method ()"


def test_a_jar_without_anything_to_start_is_refused(tmp_path: Path) -> None:
    jar = write_jar(tmp_path / "lib.jar", CLASSES[1:2], NAMES[1:2])
    assert "no class in it has a main method" in refusal(jar, None)
    assert "no class in it has a main method" in refusal(jar, "Other")


def test_what_is_no_jar_is_refused(tmp_path: Path) -> None:
    (tmp_path / "app.jar").write_text("not a zip")
    assert "cannot be read as a jar" in refusal(tmp_path / "app.jar", None)
    assert "cannot be read as a jar" in refusal(tmp_path / "missing.jar", None)
