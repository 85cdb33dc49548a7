"""Nothing waits for a thread without a bound, so that no hanging thread keeps the command from its end."""

from __future__ import annotations

import re
from pathlib import Path

import stream2gym

KNOWN = {  # file: why its thread has ended, or why nobody waits for the one that waits
    "clients/network_probes.py": "a program on a host, which ends when it is killed",
    "execution/port_forward.py": "a thread of one connection, which nobody waits for",
    "sweep_cluster/folder_stream.py": "its pipe has been read to the end, or is broken",
}


def test_no_thread_is_waited_for_without_a_bound() -> None:
    root = Path(stream2gym.__file__).parent
    found = {
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        if re.search(r"\.join\(\)", file.read_text("utf-8"))
    }
    assert found == set(KNOWN)
