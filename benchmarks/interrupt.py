"""Ends a run of ours whose rest nobody needs, as a person would: Ctrl-C, and once more to drop everything."""

from __future__ import annotations

import signal
import subprocess
import time

APART_S = 0.2  # signals that come together are one to the kernel


def drop(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    for _ in range(2):
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(APART_S)
    if process.stderr is not None:
        process.stderr.close()
    process.wait(timeout_s)
