"""Compiling Java files, with a compiler that is a script: what is kept, and how its errors come back."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from stream2gym.errors import BadInput, StartFailed
from stream2gym.software import java_compiler
from stream2gym.software.cache import Cache
from stream2gym.software.java import JavaRuntime
from stream2gym.software.java_compiler import SHOWN_ERRORS, compile_java, compiler_errors

# Compiles a file by copying it; reports the lines that say "error"; counts how often it ran.
COMPILER = """#!{python}
import pathlib, sys
words = sys.argv[1:]
given = lambda name: pathlib.Path(words[words.index(name) + 1])
source = pathlib.Path(words[-1])
with open({runs!r}, "a") as runs:
    runs.write(" ".join(words) + "\\n")
lines = source.read_text().splitlines()
if "crash" in lines:
    sys.exit("it broke")
wrong = [(n, line) for n, line in enumerate(lines, 1) if line.startswith("error")]
problem = '<problem line="%d" severity="ERROR"><message value="%s"/></problem>'
warning = '<problem line="1" severity="WARNING"><message value="unused"/></problem>'
given("-log").write_text("<compiler>" + warning + "".join(problem % one for one in wrong) + "</compiler>")
if wrong:
    sys.exit(255)
(given("-d") / "org").mkdir()
(given("-d") / "org" / (source.stem + ".class")).write_text(source.read_text())
"""


class Compiler:
    """A cache, a Java and a folder of sources."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = Cache(folder / "cache")
        self.runs = folder / "runs"
        program = folder / "java"
        program.write_text(COMPILER.format(python=sys.executable, runs=str(self.runs)))
        program.chmod(0o755)
        self.java = JavaRuntime(str(folder), str(program), "25.0.1")

    def compile(
        self, text: str, *class_path: Path, name: str = "Count.java", java: JavaRuntime | None = None
    ) -> Path:
        source = self.folder / name
        source.write_text(text)
        return compile_java(source, class_path, where="engines count", java=java or self.java, cache=self.cache)

    @property
    def commands(self) -> list[str]:
        return self.runs.read_text().splitlines() if self.runs.is_file() else []


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    monkeypatch.setattr(java_compiler, "ensure_jars", lambda *_, **__: (tmp_path / "ecj.jar",))
    return Compiler(tmp_path)


def test_a_program_is_compiled_into_a_jar_once(compiler: Compiler) -> None:
    jar = compiler.compile("class Count")
    assert zipfile.ZipFile(jar).namelist() == ["org/Count.class"]
    assert compiler.compile("class Count") == jar
    assert len(compiler.commands) == 1
    assert list(jar.parent.glob("tmp/*")) == []


def test_another_source_class_path_or_java_is_compiled_again(compiler: Compiler) -> None:
    library = compiler.folder / "library.jar"
    library.write_text("one")
    older = JavaRuntime(compiler.java.home, compiler.java.java, "17.0.2")
    jars = {
        compiler.compile("a"),
        compiler.compile("b"),
        compiler.compile("a", library),
        compiler.compile("a", java=older),
    }
    library.write_text("another")
    jars.add(compiler.compile("a", library))
    assert len(jars) == len(compiler.commands) == 5
    assert f"-cp {library} " in compiler.commands[2]
    assert " -25 " in compiler.commands[0]
    assert " -17 " in compiler.commands[3]


def test_every_error_comes_back_with_file_and_line(compiler: Compiler) -> None:
    with pytest.raises(BadInput) as caught:
        compiler.compile("fine\nerror one\nfine\nerror two")
    source = compiler.folder / "Count.java"
    assert str(caught.value) == f"{source}:2: engines count: error one\n{source}:4: engines count: error two"
    assert list(compiler.cache.path("programs").glob("*.jar")) == []


def test_what_did_not_compile_is_tried_again(compiler: Compiler) -> None:
    for _ in range(2):
        with pytest.raises(BadInput):
            compiler.compile("error one")
    assert len(compiler.commands) == 2


def test_only_the_first_of_many_errors_are_shown(compiler: Compiler) -> None:
    with pytest.raises(BadInput) as caught:
        compiler.compile("\n".join(f"error {n}" for n in range(SHOWN_ERRORS + 3)))
    assert len(caught.value.mistakes) == SHOWN_ERRORS + 1
    assert caught.value.mistakes[-1].what == "3 more errors of the Java compiler"


def test_a_compiler_that_breaks_says_so_in_its_own_words(compiler: Compiler) -> None:
    with pytest.raises(StartFailed, match=r"failed without naming an error:\nit broke"):
        compiler.compile("crash")


def test_a_source_that_is_not_there_is_refused(compiler: Compiler) -> None:
    missing = compiler.folder / "Missing.java"
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        compile_java(missing, (), where="engines count", java=compiler.java, cache=compiler.cache)


def test_a_report_that_is_not_there_has_no_errors(tmp_path: Path) -> None:
    assert compiler_errors(tmp_path / "none.xml", tmp_path / "A.java") == []
