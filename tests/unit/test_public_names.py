"""What users import from the package itself."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "before", ["pass", "import stream2gym.api", "from stream2gym.cli import run", "import stream2gym.sweeps.point"]
)
@pytest.mark.parametrize(("name", "module"), [("run", "stream2gym.api"), ("sweep", "stream2gym.sweep_api")])
def test_a_door_is_the_function_whatever_was_imported_before(before: str, name: str, module: str) -> None:
    code = f"{before}\nfrom stream2gym import {name}\nprint({name}.__module__, callable({name}))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.split() == [module, "True"], done.stderr
