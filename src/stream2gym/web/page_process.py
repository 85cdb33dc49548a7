"""The process that serves the page beside ``s2g run --live``.

``python -m stream2gym.web.page_process FOLDER [--read-only] [--port N]`` prints one JSON line with the link, or with
an error. It ends when its standard input ends, that is, with the process that started it, however that one ended. Its
priority is the lowest before it imports anything, so that it takes nothing from the run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path

NICENESS = 19


def main() -> int:
    """Serve until standard input ends."""
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    from stream2gym.errors import S2gError
    from stream2gym.record.folder import RunFolder
    from stream2gym.web.serve import ServedPage

    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--read-only", action="store_true")
    parser.add_argument("--port", type=int, default=0)
    args = parser.parse_args()
    try:
        page = ServedPage(RunFolder.open(args.folder), read_only=args.read_only, port=args.port)
    except (S2gError, OSError, ValueError) as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 1
    print(json.dumps({"link": page.link, "port": page.port}), flush=True)
    while sys.stdin.buffer.read(1):
        pass
    page.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
