"""The capabilities of components: what faults can do to them. They decide which faults are possible."""

from __future__ import annotations

# Every process that stream2gym starts can be killed, stopped, paused and started again.
PROCESS = frozenset(("kill", "stop", "pause", "restart"))
# Some components also keep data, which survive a restart or are wiped.
WITH_DATA = PROCESS | {"data"}

COMPONENTS: dict[str, frozenset[str]] = {
    "broker": WITH_DATA,
    "producer": PROCESS,
    "consumer": PROCESS,
    "sink": PROCESS,
    "source": PROCESS,
}
