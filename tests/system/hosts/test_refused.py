"""Where the machine does not allow namespaces, the command says precisely what to change, and starts nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.leaks import left_behind, snapshot
from tests.support.users import User

# Inside a user namespace of its own a process may forbid further ones, for itself and its children only.
FORBID = """
import os, sys
from stream2gym import linux
uid, gid = os.getuid(), os.getgid()
linux.unshare(linux.CLONE_NEWUSER)
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write(f"{uid} {uid} 1")
open("/proc/self/gid_map", "w").write(f"{gid} {gid} 1")
open("/proc/sys/user/max_user_namespaces", "w").write("0")
os.execv(sys.executable, [sys.executable, "-m", "stream2gym", *sys.argv[1:]])
"""


def forbidden(user: User, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [user.python, "-c", FORBID, *arguments],
        env={**os.environ, **user.env}, user=user.uid, group=user.uid, extra_groups=[],
        capture_output=True, text=True, timeout=60, check=False, cwd="/",
    )  # fmt: skip


@pytest.fixture
def ordinary(users: dict[str, User]) -> User:
    if users["ordinary"].uid is None:
        pytest.skip("needs root to become somebody else")
    return users["ordinary"]


def test_refused_user_namespaces_are_exit_code_4_with_the_remedy(ordinary: User, topology: Path) -> None:
    before = snapshot()
    result = forbidden(ordinary, "shell", str(topology), "h1", "--", "true")
    assert result.returncode == 4, result.stderr
    assert "user.max_user_namespaces" in result.stderr
    assert "Traceback" not in result.stderr
    assert left_behind(before) == {}


def test_the_doctor_tells_it_beforehand(ordinary: User) -> None:
    result = forbidden(ordinary, "doctor")
    assert result.returncode == 4, result.stderr
    flat = " ".join(result.stdout.split())
    assert "missing namespaces" in flat
    assert "user.max_user_namespaces" in flat
