"""The commands in the example files for CI systems, as those systems would run them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

CI = Path(__file__).resolve().parents[2] / "examples" / "ci"


def read(name: str) -> dict[Any, Any]:
    loaded = yaml.safe_load((CI / name).read_text("utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def github_steps() -> list[dict[str, Any]]:
    [job] = read("github-actions.yml")["jobs"].values()
    return list(job["steps"])


def github_scripts() -> list[str]:
    """What each step runs. The shell of a step stops at the first failure."""
    return [str(step["run"]) for step in github_steps() if "run" in step]


def gitlab_scripts() -> list[str]:
    """What the job runs: the commands before and in the script in one shell, those after it in another."""
    job = read("gitlab-ci.yml")["stream2gym"]
    return ["\n".join([*job["before_script"], *job["script"]]), "\n".join(job["after_script"])]


def commands_of(scripts: list[str]) -> list[list[str]]:
    """The calls of ``s2g`` in scripts, as lists of words."""
    import shlex

    lines = [line for script in scripts for line in script.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("s2g ")]
