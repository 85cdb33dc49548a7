"""``shell``: a command on an emulated host behaves as it does anywhere else, and sees only its own host."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import pytest

from stream2gym.wait import wait_until
from tests.support.leaks import left_behind, snapshot
from tests.support.users import User


def test_a_command_runs_on_its_host(user: User, topology: Path) -> None:
    script = "hostname; cat /etc/hosts; pwd; echo $S2G_HOST $S2G_ADDRESS"
    result = user.run("shell", str(topology), "h2", "--", "sh", "-c", script, cwd=str(topology.parent))
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "h2"
    assert {"10.0.0.1 h1", "10.0.0.2 h2", "10.0.0.3 h3", "127.0.0.1 localhost"} <= set(lines)
    assert lines[-2:] == [str(topology.parent), "h2 10.0.0.2"]


def test_packets_take_the_configured_time(user: User, topology: Path) -> None:
    if not Path("/bin/ping").exists():
        pytest.skip("needs ping")
    result = user.run("shell", str(topology), "h1", "--", "ping", "-c", "5", "-i", "0.05", "-q", "h2")
    assert result.returncode == 0, result.stdout + result.stderr
    mean_ms = float(result.stdout.split("=")[-1].split("/")[1])
    assert 20.0 <= mean_ms < 24.0  # four times 5 ms, and what a busy machine adds


def test_the_exit_code_is_the_commands_own(user: User, topology: Path) -> None:
    assert user.run("shell", str(topology), "h1", "--", "sh", "-c", "exit 7").returncode == 7
    assert user.run("shell", str(topology), "h1", "--", "sh", "-c", "kill -9 $$").returncode == 137


def test_standard_input_reaches_the_command(user: User, topology: Path) -> None:
    with user.popen(
        "shell", str(topology), "h1", "--", "tr", "a-z", "A-Z", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        out, _ = process.communicate(b"hello", timeout=30)
    assert (process.returncode, out) == (0, b"HELLO")


def test_a_host_has_no_way_out_and_its_own_tmp(user: User, topology: Path) -> None:
    script = "ls -A /tmp /dev/shm; touch /tmp/mine /dev/shm/mine; cat /proc/net/route; cat /proc/net/dev"
    before = snapshot()
    result = user.run("shell", str(topology), "h1", "--", "sh", "-c", script)
    assert result.returncode == 0, result.stderr
    routes = [
        line.split()[1] for line in result.stdout.splitlines() if line.startswith("h1-eth1") and ":" not in line
    ]
    assert routes == ["0000000A"]  # 10.0.0.0/8 and no default route
    interfaces = {
        line.split(":")[0].strip() for line in result.stdout.splitlines() if ":" in line and "|" not in line
    }
    assert interfaces & {"h1-eth1", "lo"} == {"h1-eth1", "lo"}
    assert left_behind(before) == {}


def test_two_at_once_with_the_same_addresses_do_not_meet(user: User, topology: Path) -> None:
    listen = "import socket; s = socket.create_server(('10.0.0.1', 80)); print('up', flush=True); input()"
    runs = [
        user.popen(
            "shell", str(topology), "h1", "--", "/usr/bin/python3", "-c", listen,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]  # fmt: skip
    try:
        assert [run.stdout.readline() for run in runs if run.stdout] == [b"up\n", b"up\n"]
    finally:
        codes = []
        for run in runs:
            run.communicate(b"\n", timeout=30)
            codes.append(run.returncode)
    assert codes == [0, 0]


def test_an_unknown_host_is_bad_input_and_starts_nothing(user: User, topology: Path) -> None:
    before = snapshot()
    result = user.run("shell", str(topology), "h33", "--", "true")
    assert result.returncode == 2
    assert "h33" in result.stderr
    assert "did you mean h3" in result.stderr
    assert "Traceback" not in result.stderr
    assert left_behind(before) == {}


def test_a_program_that_does_not_exist_is_named(user: User, topology: Path) -> None:
    result = user.run("shell", str(topology), "h1", "--", "no-such-program")
    assert result.returncode == 125
    assert "no-such-program" in result.stderr
    assert "No such file" in result.stderr
    assert "Traceback" not in result.stderr


def test_ctrl_c_reaches_the_command_and_its_answer_counts(user: User, topology: Path) -> None:
    script = "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.1; done"
    leader, follower = pty.openpty()
    process = user.popen(
        "shell", str(topology), "h1", "--", "sh", "-c", script,
        stdin=follower, stdout=follower, stderr=follower, preexec_fn=_take_terminal,
    )  # fmt: skip
    os.close(follower)
    seen = _read_until(leader, b"ready")
    os.write(leader, b"\x03")
    seen += _read_until(leader, b"caught")
    assert process.wait(20) == 9, seen
    os.close(leader)


def test_without_a_command_it_is_an_interactive_shell(user: User, topology: Path) -> None:
    leader, follower = pty.openpty()
    process = user.popen(
        "shell", str(topology), "h2",
        stdin=follower, stdout=follower, stderr=follower, preexec_fn=_take_terminal, env={"SHELL": "/bin/sh"},
    )  # fmt: skip
    os.close(follower)
    os.write(leader, b"echo on $(hostname)\nexit 4\n")
    seen = _read_until(leader, b"on h2")
    assert process.wait(20) == 4, seen
    os.close(leader)


def test_terminating_the_command_ends_the_program_on_the_host(user: User, topology: Path) -> None:
    before = snapshot()
    process = user.popen("shell", str(topology), "h1", "--", "sh", "-c", "echo up; sleep 60", stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"up\n"
    process.terminate()
    process.stdout.close()
    assert process.wait(20) == 128 + signal.SIGTERM
    assert left_behind(before) == {}


def test_a_fabric_that_dies_ends_the_run_and_is_named(user: User, topology: Path) -> None:
    process = user.popen(
        "shell", str(topology), "h1", "--", "sh", "-c", "echo up; sleep 60",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == b"up\n"
    os.kill(_fabric_of(process.pid), signal.SIGKILL)
    _out, err = process.communicate(timeout=20)
    assert process.returncode == 125
    assert b"fabric" in err


def _fabric_of(command: int) -> int:
    for name in ("keeper", "supervisor", "fabric"):
        children = wait_until(
            lambda parent=command: Path(f"/proc/{parent}/task/{parent}/children").read_text().split(),  # type: ignore[misc]
            timeout_s=10,
            reason=f"the {name} to appear",
        )
        command = int(children[0])
    return command


def _take_terminal() -> None:
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read_until(fd: int, wanted: bytes) -> bytes:
    seen = b""
    deadline = time.monotonic() + 20
    while wanted not in seen.replace(b"echo on $(hostname)", b""):
        assert time.monotonic() < deadline, seen
        try:
            seen += os.read(fd, 4096)
        except OSError:
            break
    return seen


def test_a_cpu_limit_is_in_force_or_said_to_be_missing(user: User, topology: Path) -> None:
    burn = "import os, time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\nprint(os.times()[0])"
    result = user.run("shell", str(topology), "h3", "--", "/usr/bin/python3", "-c", burn)
    assert result.returncode == 0, result.stderr
    share = float(result.stdout) / (os.cpu_count() or 1)
    if "cpu limit" in result.stderr:
        assert "h3" in result.stderr
    else:
        assert share < 0.32  # 25 % of the machine for one second


def test_a_memory_limit_is_in_force_or_said_to_be_missing(user: User, topology: Path) -> None:
    grab = "b = bytearray(200 << 20); b[::4096] = b'x' * len(b[::4096]); print('got it')"
    result = user.run("shell", str(topology), "h3", "--", "/usr/bin/python3", "-c", grab)
    if "memory limit" in result.stderr:
        assert "h3" in result.stderr
    else:
        assert result.returncode != 0
        assert "got it" not in result.stdout
