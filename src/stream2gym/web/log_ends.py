"""The logs of a run for the page: which there are, and the end of one. No path outside ``logs/`` is ever opened."""

from __future__ import annotations

import os
import stat
from typing import Any

from stream2gym.record.folder import RunFolder, split_log_name

END_BYTES = 64 << 10
LINES = 200


def list_logs(folder: RunFolder) -> list[dict[str, Any]]:
    """The logs with their host, component and size."""
    found = []
    for path in sorted(folder.logs.glob("*.log")):
        try:
            facts = path.lstat()
        except OSError:
            continue
        if stat.S_ISREG(facts.st_mode):
            host, component = split_log_name(path)
            found.append({"name": path.name, "host": host, "component": component, "bytes": facts.st_size})
    return found


def read_log_end(folder: RunFolder, name: str) -> list[str] | None:
    """The last lines of a log; None if there is no such log. ``name`` must be one that ``list_logs`` tells."""
    if name not in {log["name"] for log in list_logs(folder)}:
        return None
    try:
        fd = os.open(folder.logs / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - END_BYTES))
        text = file.read(END_BYTES).decode("utf-8", "replace")
    lines = text.splitlines()
    if size > END_BYTES:
        lines = lines[1:]
    return lines[-LINES:]
