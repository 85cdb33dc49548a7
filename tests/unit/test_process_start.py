"""When the command of a run began: with its process, whatever was executed in it first."""

from __future__ import annotations

import subprocess
import time

from stream2gym.own_python import own_python

TICK_NS = 20_000_000
FIND = "from stream2gym.linux import find_process_start_ns; print(find_process_start_ns())"


def test_a_process_begins_before_the_shell_that_becomes_python() -> None:
    before_ns = time.monotonic_ns()
    command = ["sh", "-c", 'sleep 0.3; exec "$@"', "sh", *own_python("-c", FIND)]
    found_ns = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert before_ns - TICK_NS <= found_ns <= before_ns + 300_000_000
