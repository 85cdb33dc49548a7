"""Recovers the record of a run whose command was killed: seals it, and adds the event that ends it.

The journals have everything up to the kill. Only the end of the run is missing. It is added as the event
``run-failed`` at the last moment that the record knows. So the load ends there, and the verdict cannot be a pass.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from stream2gym.errors import BadInput, Mistake
from stream2gym.execution.fault_server import SOCKET as FAULT_SOCKET
from stream2gym.execution.host_server import SOCKET as HOST_SOCKET
from stream2gym.execution.job_server import SOCKET as JOB_SOCKET
from stream2gym.execution.program_folder import remove_root
from stream2gym.record.folder import RunFolder
from stream2gym.record.seal import seal

# The columns of times of each table.
_TIMES = {"samples": ("at_ns",), "received": ("at_ns",), "sent": ("sent_ns", "done_ns")}


def recover(folder: RunFolder) -> bool:
    """Seal the record of a run that is over and was not sealed. Returns whether there was anything to do."""
    if folder.is_running():
        raise BadInput(Mistake(str(folder.path), "the run still goes on", "wait for its end, or stop it with Ctrl-C"))
    info = folder.info
    # A recovery that was interrupted is repeated: a sealed record without its end would look complete.
    if info["sealed"] and info.get("recovery") != "begun":
        return False
    folder.own()
    try:
        folder.update(recovery="begun")
        remove_root(folder)
        for name in (FAULT_SOCKET, HOST_SOCKET, JOB_SOCKET):
            (folder.path / name).unlink(missing_ok=True)
        seal(folder)
        reason = info.get("error") or f"stream2gym was killed in the phase {info['phase']!r}"
        folder.events.end_line()
        folder.events.add("run-failed", at_ns=last_moment_ns(folder), reason=reason)
        state = "crashed" if info["state"] == "running" else info["state"]
        folder.set_state(state, error=reason, recovery="done")
    finally:
        folder.release()
    return True


def last_moment_ns(folder: RunFolder) -> int:
    """The last moment of which the record has something, on the clock of its events."""
    moments = [int(event["at_ns"]) for event in folder.read_events()]
    for table, columns in _TIMES.items():
        with contextlib.suppress(OSError):
            found: Any = pq.read_table(folder.data / f"{table}.parquet", columns=list(columns))
            latest = [pc.max(found[column]).as_py() for column in columns]
            moments += [folder.t0_ns + int(moment) for moment in latest if moment is not None]
    return max(moments, default=folder.t0_ns)
