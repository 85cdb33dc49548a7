"""The sources of samples that stream2gym itself writes.

A monitor of a plug-in writes its samples with its own name as their source. It cannot have a name of this list, so
that nothing that the analysis relies on comes from a plug-in.
"""

from __future__ import annotations

from stream2gym.kinds.kind import Kind

# How closely the emulation did what was asked for is known from these. They look every half second in every run.
FABRIC = Kind("monitor", "fabric", "counters of the links, lateness of packets", adjustable=False)
PROCESS = Kind("monitor", "process", "CPU time, waits for a CPU and memory of every process", adjustable=False)
MACHINE = Kind("monitor", "machine", "CPU pressure of the machine", adjustable=False)
CLOCK = Kind("monitor", "clock", "steps of the wall clock", adjustable=False)

MACHINE_USE = Kind("monitor", "machine-use", "memory, disk and CPU of the machine, with steal", every_s=2.0)
HOST = Kind("monitor", "host", "network, threads and open files of every host", every_s=2.0)
# To read the proportional memory of a process, the kernel walks through all its pages.
MEMORY = Kind("monitor", "memory", "proportional memory of every host", every_s=10.0, shortest_s=1.0)
LINK = Kind("monitor", "link", "utilisation and queue of every link, as rates", every_s=2.0, shortest_s=0.5)
KAFKA = Kind("monitor", "kafka", "partitions, their end offsets and leaders, groups with state and lag", every_s=2.0)
STORE = Kind("monitor", "store", "connections and rows of every store, and what its audit found", every_s=2.0)

KINDS = (
    FABRIC,
    PROCESS,
    MACHINE,
    CLOCK,
    MACHINE_USE,
    HOST,
    MEMORY,
    LINK,
    KAFKA,
    STORE,
    # What these sources report comes from clients, logs and programs, whenever there is something to report.
    Kind("monitor", "client", "positions of consumers, lag of groups", also=("lag",), adjustable=False),
    Kind("monitor", "spark", "progress of streaming queries, executors", adjustable=False),
    Kind("monitor", "kafka-streams", "progress and state of Kafka Streams programs", adjustable=False),
    Kind("monitor", "flink", "records, back pressure, checkpoints and watermarks of Flink jobs", adjustable=False),
    Kind("monitor", "sink", "rows that a sink has written", adjustable=False),
    Kind("monitor", "check", "what a check of results found", adjustable=False),
    Kind("monitor", "program", "what a program of the user's reported", adjustable=False),
    Kind("monitor", "monitor", "the looks of the monitors themselves, and what they cost", adjustable=False),
)
