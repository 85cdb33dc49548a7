"""CPU and memory of every component while load was on."""

from __future__ import annotations

import os

from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.samples import Track, Tracks, steps
from stream2gym.analysis.tables import ResourceRow, SeriesPoint


def resource_tables(
    inputs: Inputs, tracks: Tracks
) -> tuple[tuple[ResourceRow, ...], tuple[SeriesPoint, ...]]:
    """A row a process, and its use over time; CPU as a share of the whole machine."""
    machine = inputs.folder.info.get("machine") or {}
    cores = float(machine.get("cpus") or os.cpu_count() or 1)
    rows, series = [], []
    hosts = inputs.host_of
    for obj in sorted({obj for source, obj, _ in tracks if source == "process"}):
        cpu = tracks.get(("process", obj, "cpu_s"), Track())
        memory = tracks.get(("process", obj, "rss_bytes"), Track())
        used, held = [], []
        for from_s, to_s in steps(inputs):
            if not memory.at_s or to_s < memory.at_s[0]:
                continue
            used.append(max(0.0, cpu.growth(from_s, to_s)) / (to_s - from_s) / cores)
            held.append(memory.last(to_s) or 0.0)
            series += [
                SeriesPoint(obj, "cpu", from_s, round(used[-1], 5)),
                SeriesPoint(obj, "memory_bytes", from_s, held[-1]),
            ]
        if held:
            host = hosts.get(obj) or hosts.get(obj.rpartition(".")[0], "")
            peak = max([*held, *(value for _, value in memory.between(0.0, inputs.load_s))])
            rows.append(
                ResourceRow(
                    obj, host, sum(used) / len(used), max(used), sum(held) / len(held), peak,
                    cpu.values[-1] if cpu.values else 0.0,
                )
            )  # fmt: skip
    return tuple(rows), tuple(series)
