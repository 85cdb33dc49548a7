"""The guard: whoever dies, neither the program nor its folder stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stream2gym.software.child_process import Guarded, new_folder_name, run_guarded
from stream2gym.wait import wait_until

PROGRAM = 'echo $$ > "$0/pid"; sleep 600 & echo $! > "$0/child"; wait'
# A process that starts a guarded program and waits.
OWNER = """
import sys, time
from pathlib import Path
from stream2gym.software.child_process import Guarded
Guarded(["sh", "-c", sys.argv[1], sys.argv[2]], Path(sys.argv[2]))
time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return new_folder_name("s2g-test")


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_pids(folder: Path) -> list[int]:
    def written() -> list[int]:
        files = [folder / "pid", folder / "child"]
        texts = [file.read_text() if file.exists() else "" for file in files]
        return [int(text) for text in texts] if all(text.endswith("\n") for text in texts) else []

    return wait_until(written, timeout_s=10, reason="the program and its child to run")


def wait_until_gone(folder: Path, pids: list[int]) -> None:
    wait_until(
        lambda: not folder.exists() and not any(map(is_alive, pids)),
        timeout_s=10,
        reason="program, child and folder to go",
    )


def test_killing_it_takes_the_program_its_children_and_the_folder(folder: Path) -> None:
    guarded = Guarded(["sh", "-c", PROGRAM, str(folder)], folder)
    pids = wait_for_pids(folder)
    guarded.kill()
    wait_until_gone(folder, pids)
    guarded.kill()


def test_the_death_of_its_owner_takes_everything_along(folder: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, PROGRAM, str(folder)])
    pids = wait_for_pids(folder)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    wait_until_gone(folder, pids)


def test_a_program_that_ends_by_itself_gives_its_code_and_its_words(folder: Path) -> None:
    guarded = Guarded(["sh", "-c", "echo words; exit 7"], folder)
    assert guarded.wait(10)
    assert guarded.poll() == 7
    assert guarded.said() == "words\n"
    assert not folder.exists()


def test_a_program_ends_orderly_when_its_input_does(folder: Path) -> None:
    guarded = Guarded(["cat"], folder)
    guarded.end_input()
    assert guarded.wait(10)
    assert guarded.poll() == 0


def test_a_program_that_cannot_be_started_says_why(folder: Path) -> None:
    guarded = Guarded([str(folder / "nothing")], folder)
    assert guarded.wait(10)
    assert guarded.poll() == 127
    assert "No such file" in guarded.said()


def test_the_death_of_the_guard_kills_the_program(folder: Path) -> None:
    guarded = Guarded(["sh", "-c", PROGRAM, str(folder)], folder)
    program, child = wait_for_pids(folder)
    os.kill(guarded._process.pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(program), timeout_s=10, reason="the program to die")
    os.kill(child, signal.SIGKILL)


def test_a_program_is_run_to_its_end(tmp_path: Path) -> None:
    with (tmp_path / "errors").open("wb") as errors:
        done = run_guarded(["sh", "-c", "pwd; exit 3"], tmp_path, os.environ, errors, lambda: "")
    assert done == (3, f"{tmp_path}\n".encode())


def test_a_program_that_is_given_up_is_killed_with_its_children(tmp_path: Path) -> None:
    def why_over() -> str:
        return "it took too long" if (tmp_path / "child").exists() else ""

    with (tmp_path / "errors").open("wb") as errors, pytest.raises(TimeoutError, match="took too long"):
        run_guarded(["sh", "-c", PROGRAM, str(tmp_path)], tmp_path, os.environ, errors, why_over)
    pids = [int((tmp_path / name).read_text()) for name in ("pid", "child")]
    wait_until(lambda: not any(map(is_alive, pids)), timeout_s=10, reason="both to die")
