"""The state of a run in the text format of Prometheus. Names and labels are stable: dashboards rest on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

METRICS = {
    "s2g_run_info": ("gauge", "The run; its value is 1."),
    "s2g_load_seconds": ("gauge", "Seconds since the start of the load."),
    "s2g_component_up": ("gauge", "Instances of the component that run."),
    "s2g_component_cpu_cores": ("gauge", "CPU cores that the component uses."),
    "s2g_component_memory_bytes": ("gauge", "Resident memory of the component."),
    "s2g_link_up": ("gauge", "Whether the direction of the link carries packets."),
    "s2g_link_bits_per_second": ("gauge", "Bits a second that the direction of the link delivers."),
    "s2g_link_utilisation": ("gauge", "Share of its bandwidth that the direction of the link uses."),
    "s2g_link_queue_bytes": ("gauge", "Bytes that wait before the direction of the link."),
    "s2g_link_drops_per_second": ("gauge", "Packets a second that the direction of the link drops."),
    "s2g_messages_total": ("counter", "Messages so far, by what became of them; a preview."),
    "s2g_messages_in_flight": ("gauge", "Messages acknowledged and not yet received; a preview."),
    "s2g_latency_seconds": ("gauge", "Latency of the messages received in the last bucket; a preview."),
    "s2g_group_lag": ("gauge", "Messages that the group is behind."),
    "s2g_partition_in_sync": ("gauge", "Replicas of the partition that are in sync."),
    "s2g_partition_leader_info": ("gauge", "The broker that leads the partition; its value is 1."),
    "s2g_elections_total": ("counter", "Changes of leaders so far."),
    "s2g_faults_in_force": ("gauge", "Faults in force, by kind."),
}

Sample = tuple[Mapping[str, str], float]


def prometheus_text(run: str, state: str, snapshot: Mapping[str, Any], elections: int) -> str:
    """The metrics of one snapshot."""
    samples: dict[str, list[Sample]] = {
        "s2g_run_info": [({"run": run, "state": state, "phase": str(snapshot["phase"])}, 1)],
        "s2g_load_seconds": [({}, max(0.0, snapshot["t"]))],
        "s2g_elections_total": [({}, elections)],
    }

    def add(name: str, value: float | None, **labels: str) -> None:
        if value is not None:
            samples.setdefault(name, []).append((labels, value))

    for name, part in snapshot["components"].items():
        add("s2g_component_up", part["up"], component=name)
        add("s2g_component_cpu_cores", part["cpu"], component=name)
        add("s2g_component_memory_bytes", part["memory"], component=name)
    for name, link in snapshot["links"].items():
        for number, direction in enumerate(("forward", "backward")):
            labels = {"link": name, "direction": direction}
            add("s2g_link_up", int(link["up"][number]), **labels)
            add("s2g_link_bits_per_second", link["bps"][number], **labels)
            add("s2g_link_utilisation", link["use"][number], **labels)
            add("s2g_link_queue_bytes", link["queue"][number], **labels)
            add("s2g_link_drops_per_second", link["drops"][number], **labels)
    counts = snapshot["counts"]
    for fate in ("sent", "acknowledged", "failed", "received", "lost", "duplicated"):
        add("s2g_messages_total", counts[fate], fate=fate)
    add("s2g_messages_in_flight", counts["in_flight"])
    add("s2g_latency_seconds", counts["latency_p50"], quantile="0.5")
    add("s2g_latency_seconds", counts["latency_p99"], quantile="0.99")
    for group, lag in snapshot["lag"].items():
        add("s2g_group_lag", lag, group=group)
    for place, partition in snapshot["leaders"].items():
        topic, _, number = place.rpartition("/")
        labels = {"topic": topic, "partition": number}
        add("s2g_partition_in_sync", partition["in_sync"], **labels)
        if partition["leader"]:
            add("s2g_partition_leader_info", 1, **labels, leader=partition["leader"])
    kinds = [fault["do"] for fault in snapshot["faults"]]
    for kind in sorted(set(kinds)):
        add("s2g_faults_in_force", kinds.count(kind), kind=kind)
    return "".join(_lines(samples))


def _lines(samples: Mapping[str, list[Sample]]) -> Iterable[str]:
    for name, (kind, what) in METRICS.items():
        if name in samples:
            yield f"# HELP {name} {what}\n# TYPE {name} {kind}\n"
            for labels, value in samples[name]:
                inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
                yield f"{name}{{{inside}}} {value:.10g}\n" if inside else f"{name} {value:.10g}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
