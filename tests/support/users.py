"""Running the command as root and as an ordinary user, from one test run by root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from stream2gym.software.cache import Cache
from tests.support.leaks import MARK

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
PURE = (
    "yaml", "_yaml", "pydantic", "pydantic_core", "annotated_types", "typing_extensions.py", "typing_inspection",
    "rich", "markdown_it", "mdurl", "pygments", "pyroute2", "confluent_kafka",
)  # fmt: skip


@dataclass(frozen=True)
class User:
    """How to start ``s2g`` as somebody."""

    name: str
    python: str
    uid: int | None = None  # None: as we are
    env: dict[str, str] = field(default_factory=dict)

    def popen(self, *arguments: str, **options: object) -> subprocess.Popen[bytes]:
        """Start ``s2g ARGUMENTS`` as this user."""
        identity = {} if self.uid is None else {"user": self.uid, "group": self.uid, "extra_groups": []}
        argv = [self.python, "-P", "-m", "stream2gym", *arguments]
        name, _, value = MARK.partition("=")
        env = {**os.environ, **self.env, name: value, **options.pop("env", {})}  # type: ignore[dict-item]
        options.setdefault("cwd", "/")
        return subprocess.Popen(argv, env=env, **identity, **options)  # type: ignore[call-overload, no-any-return]

    def run(self, *arguments: str, timeout: float = 60, **options: object) -> subprocess.CompletedProcess[str]:
        """Run it to its end and keep its output."""
        with self.popen(
            *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **options
        ) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, out.decode(), err.decode())


def myself() -> User:
    return User("root" if os.geteuid() == 0 else "myself", sys.executable)


def ordinary_user(folder: Path) -> User:
    """An ordinary user who can read the code, wherever root keeps it."""
    if os.geteuid() != 0:
        return myself()
    python = _readable_python()
    code = folder / "code"
    shutil.copytree(ROOT / "src", code, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    site = Path(sysconfig.get_path("purelib"))
    for name in PURE:
        source = site / name
        if source.is_dir():
            shutil.copytree(source, code / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, code / name)
    subprocess.run(["chmod", "-R", "a+rX", str(folder)], check=True)
    home = folder / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    env = {
        "PYTHONPATH": str(code),
        "HOME": str(home),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(home),
    }
    return User("ordinary", python, NOBODY, env)


def with_software(user: User, *further: str) -> User:
    """The same user with every package and a copy of our software cache: enough for real runs.

    ``further`` names folders of the cache that only some runs need.
    """
    if user.uid is None:
        return user
    site = Path(sysconfig.get_path("purelib"))
    if not _others_may_run(str(site)):
        pytest.skip("an ordinary user cannot read the packages here")
    cache = Path(user.env["HOME"]) / "stream2gym"
    missing = [part for part in ("jars", "kafka", "java", *further) if not (cache / part).exists()]
    if missing:
        for part in missing:
            if (ours := Cache.here().path(part)).exists():
                shutil.copytree(ours, cache / part, symlinks=True)
        for folder, _, files in os.walk(cache):
            for name in (folder, *(os.path.join(folder, file) for file in files)):
                os.chown(name, user.uid, user.uid, follow_symlinks=False)
    return replace(user, env={**user.env, "PYTHONPATH": f"{site}:{user.env['PYTHONPATH']}", "S2G_CACHE": str(cache)})


def _readable_python() -> str:
    for candidate in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        probe = subprocess.run(
            [candidate, "-c", "import sys; print(sys.version_info[:2])"],
            capture_output=True, text=True, check=False, user=NOBODY, group=NOBODY, cwd="/",
        ) if _others_may_run(candidate) else None  # fmt: skip
        if probe and probe.stdout.strip() == str(sys.version_info[:2]):
            return candidate
    pytest.skip(f"no Python {sys.version_info[0]}.{sys.version_info[1]} that an ordinary user may run")


def _others_may_run(path: str) -> bool:
    file = Path(path)
    return file.exists() and all(folder.stat().st_mode & 0o001 for folder in (file, *file.parents))
