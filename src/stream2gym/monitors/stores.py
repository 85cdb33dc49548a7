"""Samples the connections and the rows of stores, through a client on the observer host that asks them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from stream2gym.errors import Defect
from stream2gym.kinds.monitor_sources import STORE
from stream2gym.monitors.monitor import Monitor, MonitoredRun

# How much longer than its interval the client may take to report.
SPARE_S = 10.0

Report = dict[str, Any]


class StoreMonitor(Monitor):
    """Takes the reports of the client. A store that does not answer is a failure; the others are sampled."""

    KIND = STORE

    def __init__(self, run: MonitoredRun, watch: Callable[[Callable[[Report], None]], None], every_s: float) -> None:
        """``watch`` starts the client, which then reports to the function that is handed to it."""
        super().__init__(run)
        self._reports: deque[Report] = deque()
        self._silent_s = every_s + SPARE_S
        self._heard_s = time.monotonic()
        # Why stores did not answer, by the last report.
        self._failed: dict[str, str] = {}
        watch(self._reports.append)

    def look(self) -> None:
        while self._reports:
            report = self._reports.popleft()
            self._heard_s = time.monotonic()
            for store, told in report.get("found", {}).items():
                self._note(store, told, int(report["at_ns"]))
            self._failed = report.get("failed", {})
        if self._failed:
            raise Defect("; ".join(f"{store}: {reason}" for store, reason in self._failed.items()))
        if time.monotonic() - self._heard_s > self._silent_s:
            raise Defect("the client that asks the stores has ended or hangs")

    def _note(self, store: str, told: dict[str, Any], at_ns: int) -> None:
        self.run.sample(store, "connections", told["connections"], at_ns=at_ns)
        for table, rows in told["rows"].items():
            self.run.sample(f"{store}/{table}", "rows", rows, at_ns=at_ns)
