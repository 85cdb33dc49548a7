"""One table of measurements: what, ours, goal, the limit or peer measured in the same run."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict, dataclass, field


@dataclass
class Row:
    what: str
    ours: str
    goal: str = ""
    beside: str = ""
    reached: bool | None = None  # None: stated, not judged


@dataclass
class Table:
    """Prints rows as they come, so that a long benchmark shows that it lives; ``--json`` prints them at the end."""

    title: str
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._json = "--json" in sys.argv
        self._say(f"\n{self.title}\n{machine()}\n{'':2}{'what':52} {'ours':34} {'goal':30} beside it")

    def add(self, what: str, ours: str, goal: str = "", beside: str = "", reached: bool | None = None) -> None:
        self.rows.append(Row(what, ours, goal, beside, reached))
        mark = {True: "✓", False: "✗", None: " "}[reached]
        self._say(f"{mark} {what:52} {ours:34} {goal:30} {beside}")

    def finish(self) -> int:
        """0 when every goal was reached."""
        missed = [row for row in self.rows if row.reached is False]
        if self._json:
            print(json.dumps({"title": self.title, "machine": machine(), "rows": [asdict(r) for r in self.rows]}))
        self._say(f"\n{sum(row.reached is True for row in self.rows)} goals reached, {len(missed)} not")
        return 1 if missed else 0

    def _say(self, text: str) -> None:
        if not self._json:
            print(text, flush=True)


def machine() -> str:
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores, Linux {platform.release()}, Python {platform.python_version()}, load {load:.1f}"
