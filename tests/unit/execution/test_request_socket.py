"""The sockets of a run: only its owner, or root, can open them, from their first moment on."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream2gym.errors import BadInput, Mistake
from stream2gym.execution.job_server import SOCKET
from stream2gym.execution.request_socket import RequestServer, ask_run

STRANGER = 65533
REFUSAL = Mistake("run", "takes no jobs now")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody may read, made while nothing is kept from anybody."""
    before = os.umask(0)
    try:
        with tempfile.TemporaryDirectory(dir="/tmp") as path:
            os.chmod(path, 0o755)
            yield Path(path)
    finally:
        os.umask(before)


def test_the_socket_is_its_owners_whatever_the_user_lets_others_do(folder: Path) -> None:
    server = RequestServer(folder, SOCKET, lambda request: request["do"])
    try:
        assert stat.S_IMODE((folder / SOCKET).stat().st_mode) == 0o600
        assert ask_run(folder, SOCKET, {"do": "list"}, REFUSAL) == "list"
    finally:
        server.close()
    assert not (folder / SOCKET).exists()


def test_nobody_answers_once_it_is_closed(folder: Path) -> None:
    RequestServer(folder, SOCKET, lambda _: None).close()
    with pytest.raises(BadInput, match="takes no jobs now"):
        ask_run(folder, SOCKET, {"do": "list"}, REFUSAL)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_cannot_open_it(folder: Path) -> None:
    asked: list[object] = []
    server = RequestServer(folder, SOCKET, asked.append)
    script = f"""
import socket
try:
    socket.socket(socket.AF_UNIX).connect({str(folder / SOCKET)!r})
except PermissionError:
    print("refused")
"""
    try:
        told = subprocess.run(
            ["/usr/bin/python3", "-I", "-c", script], user=STRANGER, group=STRANGER, extra_groups=[],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    finally:
        server.close()
    assert told.stdout == "refused\n"
    assert asked == []


def test_whoever_may_not_open_it_is_told_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(f"{ask_run.__module__}.socket.socket.connect", refuse, raising=True)
    with pytest.raises(BadInput, match="answers its owner only"):
        ask_run(folder, SOCKET, {"do": "list"}, REFUSAL)
