"""The sources of samples that stream2gym itself writes.

A monitor of a plug-in writes its samples with its own name as their source. It cannot have a name of this list, so
that nothing that the analysis relies on comes from a plug-in.
"""

from __future__ import annotations

from stream2gym.kinds.kind import Kind

FABRIC = Kind("monitor", "fabric", "counters of the links, lateness of packets")
PROCESS = Kind("monitor", "process", "CPU time, waits for a CPU and memory of every process")
MACHINE = Kind("monitor", "machine", "CPU pressure of the machine")
CLOCK = Kind("monitor", "clock", "steps of the wall clock")

KINDS = (
    FABRIC,
    PROCESS,
    MACHINE,
    CLOCK,
    Kind("monitor", "kafka", "leaders and in-sync replicas"),
    Kind("monitor", "client", "positions of consumers, lag of groups", also=("lag",)),
    Kind("monitor", "spark", "progress of streaming queries"),
    Kind("monitor", "sink", "rows that a sink has written"),
    Kind("monitor", "store", "what the audit of a store found"),
    Kind("monitor", "check", "what a check of results found"),
    Kind("monitor", "program", "what a program of the user's reported"),
    Kind("monitor", "monitor", "the looks of the monitors themselves"),
)
