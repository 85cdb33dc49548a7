"""The socket through which a run that goes on is entered. Its network is made up: programs run beside the test."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.errors import BadInput
from stream2gym.execution import host_server
from stream2gym.execution.host_requests import OVER, capture_link, start_on_host
from stream2gym.execution.host_server import SOCKET, HostServer
from stream2gym.execution.request_socket import socket_path
from stream2gym.hosts.process import Exit, Process
from stream2gym.record.folder import RunFolder
from stream2gym.wait import wait_until


class FakeNetwork:
    """Starts programs on this machine, and notes captures."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[bytes]] = []
        self.captured: dict[str, Any] = {}
        self.fabric = self

    def spawn(
        self, host: str, argv: Sequence[str], *, env: Mapping[str, str], stdio: tuple[int, int, int], terminal: str
    ) -> Process:
        if host != "h1":
            raise KeyError(host)
        child = subprocess.Popen(
            argv, stdin=stdio[0], stdout=stdio[1], stderr=stdio[2], env={**os.environ, **env}, start_new_session=True
        )
        self.started.append(child)
        process = Process(1, host, argv[0], lambda _process, number: self._signal(child, number))
        threading.Thread(target=lambda: process.ended(Exit(child.wait())), daemon=True).start()
        return process

    @staticmethod
    def _signal(child: subprocess.Popen[bytes], number: int) -> bool:
        child.send_signal(number)
        return True

    def capture(self, link: str, path: Path) -> None:
        self.captured[link] = path.open("wb")

    def stop_capture(self, link: str) -> None:
        file = self.captured.pop(link)
        file.write(b"packets")
        file.close()


@pytest.fixture
def events() -> list[str]:
    return []


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    made = RunFolder.create("rides", seed=1, out=tmp_path / "run")
    yield made
    made.release()


@pytest.fixture
def network() -> FakeNetwork:
    return FakeNetwork()


@pytest.fixture
def server(folder: RunFolder, network: FakeNetwork, events: list[str]) -> Iterator[HostServer]:
    context: Any = SimpleNamespace(
        folder=folder, network=network, tell=lambda kind, **rest: events.append(f"{kind} {rest}")
    )
    made = HostServer(context, is_captured=False)
    yield made
    made.close()


@pytest.mark.usefixtures("server")
def test_a_program_runs_and_its_exit_code_comes_back(folder: RunFolder, events: list[str]) -> None:
    read, write = os.pipe()
    program = start_on_host(folder, "h1", ["sh", "-c", "echo $WORD; exit 7"], (0, write, 2), env={"WORD": "hello"})
    os.close(write)
    with os.fdopen(read, "rb") as output:
        assert output.read() == b"hello\n"
    assert program.wait() == 7
    program.close()
    assert events == ["command-by-hand {'host': 'h1', 'command': \"sh -c 'echo $WORD; exit 7'\"}"]


@pytest.mark.usefixtures("server")
def test_a_program_ends_with_the_connection_that_asked_for_it(folder: RunFolder, network: FakeNetwork) -> None:
    program = start_on_host(folder, "h1", ["sleep", "60"], (0, 1, 2))
    program.close()
    wait_until(lambda: network.started[0].poll() is not None, timeout_s=10, reason="the program to end")
    assert network.started[0].returncode == -signal.SIGKILL


def test_programs_and_captures_end_when_the_run_stops(
    folder: RunFolder, network: FakeNetwork, server: HostServer, tmp_path: Path
) -> None:
    program = start_on_host(folder, "h1", ["sleep", "60"], (0, 1, 2))
    with (tmp_path / "packets").open("wb") as file, capture_link(folder, "h1 -- s1", file.fileno()):
        server.close()
        assert network.captured == {}
    assert (tmp_path / "packets").read_bytes() == b"packets"
    assert program.wait() in (128 + signal.SIGKILL, OVER)
    program.close()
    assert not (folder.path / SOCKET).exists()
    with pytest.raises(BadInput, match="does not answer now"):
        start_on_host(folder, "h1", ["true"], (0, 1, 2))


@pytest.mark.usefixtures("server")
def test_a_capture_is_complete_when_it_is_stopped_and_is_taken_once(
    folder: RunFolder, network: FakeNetwork, tmp_path: Path
) -> None:
    with (tmp_path / "packets").open("wb") as file:
        with capture_link(folder, "h1 -- s1", file.fileno()):
            assert list(network.captured) == ["h1 -- s1"]
            with pytest.raises(BadInput, match="captured already"), capture_link(folder, "h1 -- s1", file.fileno()):
                pass
        assert (tmp_path / "packets").read_bytes() == b"packets"
        with capture_link(folder, "h1 -- s1", file.fileno()):
            pass


@pytest.mark.usefixtures("server")
def test_wrong_requests_are_answered_with_mistakes(folder: RunFolder) -> None:
    with pytest.raises(BadInput, match="h9"):
        start_on_host(folder, "h9", ["true"], (0, 1, 2))
    assert start_on_host(folder, "h1", ["true"], (0, 1, 2)).wait() == 0


@pytest.mark.usefixtures("server")
def test_a_client_that_says_nothing_holds_nobody_up(folder: RunFolder) -> None:
    with socket_path(folder.path, SOCKET) as name, socket.socket(socket.AF_UNIX) as silent:
        silent.connect(name)
        time.sleep(0.1)
        assert start_on_host(folder, "h1", ["true"], (0, 1, 2)).wait() == 0


def test_only_the_owner_may_connect(folder: RunFolder, server: HostServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (folder.path / SOCKET).stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr(host_server, "_is_owner", lambda _connection: False)
    with pytest.raises(BadInput, match="answers its owner"):
        start_on_host(folder, "h1", ["true"], (0, 1, 2))


def test_a_run_that_is_over_says_so(tmp_path: Path) -> None:
    made = RunFolder.create("rides", seed=1, out=tmp_path / "over")
    made.release()
    with pytest.raises(BadInput, match="is over"):
        start_on_host(made, "h1", ["true"], (0, 1, 2))
