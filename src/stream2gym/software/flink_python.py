"""PyFlink as software on disk: an environment of its own in the cache, which ``setup --flink-python`` makes.

PyFlink needs other versions of pyarrow, py4j and numpy than we do, so that it cannot be installed beside us. The
packages are pinned with their checksums in ``requirements/flink-python-VERSION.txt``. The environment is made beside
and renamed when it is complete. Of Flink's own jars only the one that connects a JVM with Python is used from it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stream2gym.errors import CannotHere
from stream2gym.software.cache import Cache
from stream2gym.software.child_process import run_guarded
from stream2gym.software.fetch import Progress, silent
from stream2gym.software.software_lists import FLINK

FOLDER = "flink-python"  # in the cache
LOCK = Path(__file__).parent / "requirements" / f"flink-python-{FLINK}.txt"
SETUP = "s2g setup --flink-python"
# The versions of Python that the pinned packages have wheels for, in the order in which they are looked for.
PYTHONS = ((3, 11), (3, 12))
INSTALL_S = 1800.0
ASK_S = 60.0
# What is downloaded, and what is on disk afterwards.
DOWNLOAD_BYTES = 450_000_000
NEEDED_BYTES = 1_400_000_000
KEPT = 2
_JAR = "opt/flink-python-*.jar"
_WHERE_IS_PYFLINK = "import pyflink, pyflink.version as v; print(v.__version__, pyflink.__path__[0], sep='\\n')"


@dataclass(frozen=True)
class FlinkPython:
    """An interpreter that has PyFlink, and the jar that lets a JVM of Flink work with it."""

    python: Path
    jar: Path


def find_flink_python(cache: Cache | None = None) -> FlinkPython:
    """The environment of the cache. Raises CannotHere if it was not made."""
    folder = (cache or Cache.here()).path(FOLDER)
    for version in PYTHONS:
        found = _in_environment(folder / _key(version))
        if found is not None:
            return found
    what = f"a PyFlink program needs PyFlink {FLINK} in an environment of its own, which is not there"
    raise CannotHere(what, f"{SETUP} makes it ({DOWNLOAD_BYTES / 1e6:.0f} MB to download)")


def ask_interpreter(python: str) -> FlinkPython:
    """The PyFlink of an interpreter that an experiment names. CannotHere if it has none, or another version."""
    try:
        said = subprocess.run(
            [python, "-c", _WHERE_IS_PYFLINK],
            cwd="/",  # modules of the caller's folder do not count
            capture_output=True,
            text=True,
            timeout=ASK_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotHere(f"the Python {python} of a PyFlink program does not run: {error}", _own(python)) from error
    words = said.stdout.splitlines()
    if said.returncode != 0 or len(words) != 2:
        last = (said.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise CannotHere(f"the Python {python} of a PyFlink program has no PyFlink: {last}", _own(python))
    if words[0] != FLINK:
        raise CannotHere(f"the Python {python} has PyFlink {words[0]}, and this Flink is {FLINK}", _own(python))
    jars = sorted(Path(words[1]).glob(_JAR))
    if not jars:
        raise CannotHere(f"PyFlink in {words[1]} is not complete: it has no {_JAR}", _own(python))
    return FlinkPython(Path(shutil.which(python) or python), jars[0])


def ensure_flink_python(progress: Progress = silent, *, cache: Cache | None = None) -> FlinkPython:
    """The environment of the cache, made if it is not there yet."""
    whole = cache or Cache.here()
    try:
        return find_flink_python(whole)
    except CannotHere:
        pass
    base, version = choose_python()
    # The lock is that of this folder, not of the whole cache: software may be fetched meanwhile.
    own = Cache(whole.path(FOLDER))
    with own.lock(on_wait=lambda words: progress(words, 0, 0)):
        made = own.path(_key(version))
        if _in_environment(made) is None:
            own.sweep()
            progress(f"installing PyFlink {FLINK} for Python {version[0]}.{version[1]} (some minutes)", 0, 0)
            with own.disk(NEEDED_BYTES), own.scratch() as scratch:
                _install(base, scratch / "environment", scratch)
                if made.exists():  # what is left of one whose Python is gone
                    shutil.rmtree(made)
                (scratch / "environment").replace(made)
            _keep_newest(own.folder)
    return find_flink_python(whole)


def choose_python() -> tuple[str, tuple[int, int]]:
    """The interpreter that the environment is made with: ours if its version fits, or one on the PATH."""
    own = sys.version_info[:2]
    if own in PYTHONS:
        return sys.executable, own
    for version in PYTHONS:
        if found := shutil.which(f"python{version[0]}.{version[1]}"):
            return found, version
    names = " or ".join(f"{major}.{minor}" for major, minor in PYTHONS)
    raise CannotHere(
        f"PyFlink {FLINK} needs Python {names}, and there is only {own[0]}.{own[1]}",
        f"install Python {names} so that it is on the PATH",
    )


def install_commands(base: str, environment: Path) -> list[list[str]]:
    """The commands that make the environment: with uv where it is, else with the venv module and its pip."""
    python = str(environment / "bin" / "python")
    if uv := shutil.which("uv"):
        return [
            [uv, "venv", "--quiet", "--python", base, str(environment)],
            [uv, "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", str(LOCK)],
        ]
    pip = [
        python,
        "-I",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
        "--use-pep517",
    ]
    return [[base, "-I", "-m", "venv", str(environment)], [*pip, "--require-hashes", "-r", str(LOCK)]]


def _install(base: str, environment: Path, scratch: Path) -> None:
    for command in install_commands(base, environment):
        _run(command, scratch)
    if _in_environment(environment) is None:
        raise CannotHere(f"PyFlink was installed without {_JAR}", f"{SETUP} tries again")


def _run(command: Sequence[str], scratch: Path) -> None:
    """Run a step of the installation. CannotHere has its words if it fails."""
    remedy = f"is the package index reachable, and is python3-venv installed? {SETUP} tries again"
    until = time.monotonic() + INSTALL_S
    late = f"PyFlink could not be installed within {INSTALL_S / 60:.0f} min"
    # Packages without a wheel are built in the temporary directory, which may be small.
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with tempfile.TemporaryFile(dir=scratch) as errors:
        try:
            code, _ = run_guarded(
                command, scratch, environment, errors, lambda: late if time.monotonic() > until else ""
            )
        except (OSError, TimeoutError) as error:
            raise CannotHere(f"PyFlink could not be installed: {error}", remedy) from error
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().splitlines()
    if code != 0:
        raise CannotHere(f"PyFlink could not be installed: {' '.join(said[-3:])}", remedy)


def _in_environment(folder: Path) -> FlinkPython | None:
    """What is in an environment; None unless it is complete and its interpreter still exists."""
    python = folder / "bin" / "python"
    jars = sorted(folder.glob(f"lib/python3*/site-packages/pyflink/{_JAR}"))
    return FlinkPython(python, jars[0]) if jars and python.exists() else None


def _key(version: tuple[int, int]) -> str:
    """The name of an environment: what is installed, for which Python and which processor."""
    found = hashlib.sha256(LOCK.read_bytes() + platform.machine().encode())
    return f"{version[0]}.{version[1]}-{found.hexdigest()[:16]}"


def _keep_newest(folder: Path) -> None:
    """Remove the oldest environments; a run may still use the one before."""
    made = sorted(folder.glob("3.*-*"), key=lambda path: path.stat().st_mtime)
    for old in made[: max(0, len(made) - KEPT)]:
        shutil.rmtree(old, ignore_errors=True)


def _own(python: str) -> str:
    return f"install apache-flink=={FLINK} for {python}, or leave 'python' out and call {SETUP}"
