"""What can be done to a component: small capabilities that decide which faults are possible."""

from __future__ import annotations

# A process that we start can be killed, stopped, paused and started again; data survive where they are kept.
PROCESS = frozenset(("kill", "stop", "pause", "restart"))
WITH_DATA = PROCESS | {"data"}

COMPONENTS: dict[str, frozenset[str]] = {
    "broker": WITH_DATA,
    "producer": PROCESS,
    "consumer": PROCESS,
    "sink": PROCESS,
    "source": PROCESS,
}
