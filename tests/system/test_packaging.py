"""The package is installed as people install tools: by pip from source, by pipx, by uvx; each in an empty place."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from stream2gym.version import __version__
from tests.support.wheel import base_python, build, command, copy_source, make_environment, share_packages

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]
FETCH_S = 1200.0


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("built"))[0]


def call(words: list[str], folder: Path, env: dict[str, str], timeout_s: float = 300.0) -> str:
    """What a command prints, in an empty folder and with nothing of our Python."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        words, cwd=folder, env=clean | env, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


def works(command_line: list[str], folder: Path, env: dict[str, str]) -> None:
    """The command is there, has its examples, and can check and plan them."""
    assert call([*command_line, "--version"], folder, env) == f"stream2gym {__version__}\n"
    assert "hello" in call([*command_line, "examples"], folder, env)
    call([*command_line, "validate", "hello"], folder, env)
    assert list(folder.iterdir()) == []


def test_pip_installs_the_source_distribution(tmp_path: Path) -> None:
    builder = tmp_path / "builder"
    pip = [*make_environment(builder, "setuptools>=77"), "--disable-pip-version-check", "--quiet"]
    script = "from setuptools.build_meta import build_sdist; build_sdist('../dist')"
    source = copy_source(tmp_path)
    (tmp_path / "dist").mkdir()
    call([str(builder / "bin" / "python"), "-c", script], source, {})
    [sdist] = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "src/stream2gym/examples/hello/experiment.yaml"} <= names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]
    environment = tmp_path / "environment"
    command(base_python(), "-m", "venv", "--without-pip", str(environment))
    python = str(environment / "bin" / "python")
    # setuptools of this pip builds it: nothing else is fetched.
    command(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path / "made"), str(sdist))
    [made] = (tmp_path / "made").glob("*.whl")
    command(*pip, "--python", python, "install", "--no-deps", "--no-index", str(made))
    share_packages(next(environment.glob("lib/python*/site-packages")))
    (tmp_path / "empty").mkdir()
    works([str(environment / "bin" / "s2g")], tmp_path / "empty", {})


def test_pipx_installs_the_command_with_all_that_it_needs(wheel: Path, tmp_path: Path) -> None:
    pip = make_environment(tmp_path / "pipx", "pipx")
    env = {"PIPX_HOME": str(tmp_path / "home"), "PIPX_BIN_DIR": str(tmp_path / "bin"),
           "PIPX_MAN_DIR": str(tmp_path / "man"), "PIPX_DEFAULT_PYTHON": base_python()}  # fmt: skip
    call([pip[0], "-I", "-m", "pipx", "install", str(wheel)], tmp_path, env, FETCH_S)
    (tmp_path / "empty").mkdir()
    works([str(tmp_path / "bin" / "s2g")], tmp_path / "empty", env)
    works([str(tmp_path / "bin" / "stream2gym")], tmp_path / "empty", env)


def test_uvx_runs_the_command_without_an_installation(wheel: Path, tmp_path: Path) -> None:
    make_environment(tmp_path / "uv", "uv")
    env = {"UV_CACHE_DIR": str(tmp_path / "cache"), "UV_PYTHON": base_python(), "UV_HTTP_TIMEOUT": "600"}
    env |= {"SSL_CERT_FILE": os.environ["PIP_CERT"]} if "PIP_CERT" in os.environ else {}
    uvx = [str(tmp_path / "uv" / "bin" / "uvx"), "--quiet", "--from", str(wheel)]
    call([*uvx, "s2g", "--version"], tmp_path, env, FETCH_S)
    (tmp_path / "empty").mkdir()
    works([*uvx, "s2g"], tmp_path / "empty", env)
