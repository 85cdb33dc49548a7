"""Compiling a program of the user's that is one Java file, because the Java of the wheel has no compiler.

The compiler is Eclipse's (one jar, which runs on any Java from 17 on). What it makes is packed into a jar, because a
start-up cache accepts no folders on a class path. The jar is kept in the cache under a hash of the source, the class
path and the Java, so that a program is compiled once. The compiler's own messages come back as mistakes with file and
line.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from stream2gym.errors import BadInput, Mistake, StartFailed
from stream2gym.software import child_process
from stream2gym.software.cache import Cache, keep_newest, sync_file
from stream2gym.software.fetch import Progress, ensure_jars, silent
from stream2gym.software.java import JavaRuntime, find_java
from stream2gym.software.software_lists import ECJ

COMPILE_S = 120.0
NEWEST_LANGUAGE = 25  # the newest Java that this compiler knows
KEPT = 64
SHOWN_ERRORS = 8
REPORT = "report.xml"
_JVM_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
# The oldest time that a zip file can hold, so that equal sources make equal jars.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def compile_java(
    source: Path,
    class_path: Sequence[Path],
    *,
    where: str = "",
    java: JavaRuntime | None = None,
    progress: Progress = silent,
    cache: Cache | None = None,
) -> Path:
    """The jar of a Java file, compiled now if this source was never compiled against this class path.

    ``where`` names the element of the experiment that the file belongs to. Raises BadInput with every error that the
    compiler found.
    """
    cache = cache or Cache.here()
    runtime = java or find_java(cache=cache)
    try:
        text = source.read_bytes()
    except OSError as error:
        raise BadInput(Mistake(where, f"cannot be read: {error.strerror}", file=str(source))) from error
    compiler = ensure_jars(ECJ, progress, cache=cache, java=runtime)
    made = cache.path("programs", f"{source.stem}-{_key(text, class_path, runtime)}.jar")
    if not made.is_file():
        # The lock is that of this folder, not of the whole cache: software may be fetched meanwhile.
        folder = Cache(made.parent)
        with folder.lock(on_wait=lambda words: progress(words, 0, 0)):
            if not made.is_file():
                folder.sweep()
                progress(f"compiling {source.name}", 0, 0)
                with folder.disk(), folder.scratch() as scratch:
                    _compile(_command(source, class_path, compiler[0], runtime, scratch), source, scratch, where)
                    jar = _pack(scratch / "classes", scratch / "made.jar")
                    sync_file(jar)
                    jar.replace(made)
                keep_newest(made.parent, "*.jar", KEPT)
    with contextlib.suppress(OSError):
        os.utime(made)
    return made


def _key(text: bytes, class_path: Sequence[Path], java: JavaRuntime) -> str:
    parts = [ECJ, java.version, hashlib.sha256(text).hexdigest()]
    for jar in class_path:
        stat = jar.stat()
        parts.append(f"{jar} {stat.st_size} {stat.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _command(source: Path, class_path: Sequence[Path], compiler: Path, java: JavaRuntime, scratch: Path) -> list[str]:
    classes = scratch / "classes"
    return [
        java.java, *_JVM_FLAGS, "-jar", str(compiler), f"-{min(java.major, NEWEST_LANGUAGE)}", "-proc:none",
        "-nowarn", "-g", "-encoding", "UTF-8", "-log", str(scratch / REPORT), "-cp",
        os.pathsep.join(map(str, class_path or [classes])), "-d", str(classes), str(source.absolute()),
    ]  # fmt: skip


def _compile(command: list[str], source: Path, scratch: Path, where: str) -> None:
    """Run the compiler; it leaves the classes in ``scratch``."""
    (scratch / "classes").mkdir()
    log = scratch / "compiler.log"
    process = child_process.start(command, log, scratch)
    try:
        process.wait(COMPILE_S)
    except subprocess.TimeoutExpired as error:
        raise StartFailed(f"{source}: the Java compiler did not end within {COMPILE_S:.0f} s") from error
    finally:
        child_process.end(process)
    if process.returncode == 0:
        return
    mistakes = compiler_errors(scratch / REPORT, source, where)
    if mistakes:
        raise BadInput(mistakes)
    said = log.read_text("utf-8", errors="replace").strip()[-1000:]
    raise StartFailed(f"{source}: the Java compiler failed without naming an error:\n{said}")


def compiler_errors(report: Path, source: Path, where: str = "") -> list[Mistake]:
    """The errors in the compiler's XML report, with their lines; the last one says how many are not shown."""
    try:
        root = ElementTree.parse(report).getroot()
    except (OSError, ElementTree.ParseError):
        return []
    mistakes = []
    for problem in root.iter("problem"):
        message = problem.find("message")
        if problem.get("severity") == "ERROR" and message is not None:
            line = problem.get("line", "")
            number = int(line) if line.isdigit() else None
            mistakes.append(Mistake(where, message.get("value", ""), file=str(source), line=number))
    left = len(mistakes) - SHOWN_ERRORS
    if left > 0:
        mistakes[SHOWN_ERRORS:] = [Mistake(where, f"{left} more errors of the Java compiler", file=str(source))]
    return mistakes


def _pack(classes: Path, jar: Path) -> Path:
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_STORED) as packed:
        for file in sorted(path for path in classes.rglob("*") if path.is_file()):
            packed.writestr(zipfile.ZipInfo(file.relative_to(classes).as_posix(), _NO_TIME), file.read_bytes())
    return jar
