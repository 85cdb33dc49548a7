"""The real compiler on the Java of the wheel: a program compiles and starts, errors come with file and line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stream2gym.errors import BadInput
from stream2gym.software.cache import Cache
from stream2gym.software.java import find_java
from stream2gym.software.java_classes import main_class
from stream2gym.software.java_compiler import compile_java

GOOD = """package org.my;
record Greeting(String text) {}
public class Hello {
    public static void main(String[] words) { System.out.println(new Greeting("hello " + words[0]).text()); }
}
"""
WRONG = """import org.nowhere.Thing;
class Wrong {
    public static void main(String[] words) { int number = "text"; }
}
"""


def test_a_java_file_compiles_and_its_class_starts(tmp_path: Path) -> None:
    source = tmp_path / "Hello.java"
    source.write_text(GOOD)
    jar = compile_java(source, ())
    assert main_class(jar, None) == "org.my.Hello"
    done = subprocess.run(
        [find_java().java, "-cp", str(jar), "org.my.Hello", "you"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "hello you\n"
    jar.unlink()


def test_the_errors_of_the_compiler_name_file_and_line(tmp_path: Path) -> None:
    source = tmp_path / "Wrong.java"
    source.write_text(WRONG)
    with pytest.raises(BadInput) as caught:
        compile_java(source, (), where="engines[0] wrong: app")
    assert str(caught.value).splitlines() == [
        f"{source}:1: engines[0] wrong: app: The import org.nowhere cannot be resolved",
        f"{source}:3: engines[0] wrong: app: Type mismatch: cannot convert from String to int",
    ]
    assert not list(Cache.here().path("programs").glob("Wrong-*"))
