"""What programs inherit of the caller's environment."""

from __future__ import annotations

import os
from pathlib import Path

import stream2gym
from stream2gym.hosts.environment import clean_environment


def test_programs_inherit_where_software_is_and_how_text_and_time_are_meant() -> None:
    kept = {
        "PATH": "/bin",
        "HOME": "/home/me",
        "LANG": "C.UTF-8",
        "LC_ALL": "C",
        "TZ": "UTC",
        "TERM": "vt100",
    }

    assert clean_environment(kept) == kept


def test_nothing_else_of_the_caller_reaches_a_program() -> None:
    secrets = {
        "AWS_SECRET_ACCESS_KEY": "x",
        "S2G_JAVA": "y",
        "JAVA_TOOL_OPTIONS": "-Dz",
        "TMPDIR": "/tmp/mine",
    }

    assert clean_environment({"PATH": "/bin", "PYTHONPATH": "/mine", **secrets}) == {"PATH": "/bin"}


def test_a_package_that_comes_from_the_python_path_can_still_be_imported_on_hosts() -> None:
    path = os.pathsep.join(["/mine", str(Path(stream2gym.__file__).parents[1])])

    assert clean_environment({"PYTHONPATH": path}) == {"PYTHONPATH": path}
