"""Wheels and source distributions of this clone, and empty environments that they are installed in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("pyproject.toml", "README.md", "LICENSE", "src", "examples")


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and an empty folder to work in."""

    wheel: Path
    environment: Path
    folder: Path

    def run(self, *words: str, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run a script of the environment. Nothing of the caller's Python reaches it."""
        script, *arguments = words
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        return subprocess.run(
            [self.environment / "bin" / script, *arguments],
            cwd=self.folder, env=env, capture_output=True, text=True, timeout=timeout_s, check=False,
        )  # fmt: skip


def build(base: Path) -> tuple[Path, list[str]]:
    """The wheel of this clone, built from a copy of it, and the command of the pip that built it."""
    pip = [*make_environment(base / "builder", "setuptools>=77"), "--disable-pip-version-check", "--quiet"]
    command(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(base), str(copy_source(base)))
    [wheel] = base.glob("*.whl")
    return wheel, pip


def make_environment(path: Path, package: str) -> list[str]:
    """A new environment with a package of the index; returns the command of its pip."""
    command(base_python(), "-m", "venv", str(path))
    pip = [str(path / "bin" / "python"), "-I", "-m", "pip"]
    fetched = subprocess.run([*pip, "install", "--quiet", package], capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        pytest.skip(f"{package} cannot be fetched here: {fetched.stderr[-300:]}")
    return pip


def share_packages(site: Path) -> None:
    """Put the packages of this environment into another one without the time that an installation takes.

    They are linked: hosts of a run see nothing of /tmp but the environment itself. On another file system their
    folder is named.
    """
    ours = Path(sysconfig.get_path("purelib"))
    if os.stat(ours).st_dev != os.stat(site).st_dev:
        (site / "packages.pth").write_text(f"{ours}\n")
        return
    unwanted = shutil.ignore_patterns("stream2gym*", "pip", "pip-*")
    shutil.copytree(ours, site, copy_function=os.link, dirs_exist_ok=True, ignore=unwanted)


def base_python() -> str:
    """The Python that this environment was made with."""
    return str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")


def copy_source(base: Path) -> Path:
    """What a wheel is built from, because a build writes beside it. Links stay links, as in a clone."""
    copy = base / "source"
    copy.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info", "runs")
            shutil.copytree(ROOT / part, copy / part, symlinks=True, ignore=unwanted)
        else:
            shutil.copy(ROOT / part, copy / part)
    return copy


def command(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
