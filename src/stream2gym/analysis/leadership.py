"""Who led every partition when, and every change of leaders, in-sync sets, controllers and groups."""

from __future__ import annotations

from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.samples import Tracks
from stream2gym.analysis.tables import Change, LeaderSpan


def leadership(inputs: Inputs, tracks: Tracks) -> tuple[tuple[LeaderSpan, ...], tuple[Change, ...]]:
    """Spans of leadership until the drain ended, and changes from the start of load on."""
    spans: list[LeaderSpan] = []
    changes: list[Change] = []
    end_s = max([inputs.load_s, *(event["t_s"] for event in inputs.events if event.get("phase") == "stop")])
    for (source, obj, metric), track in sorted(tracks.items()):
        if source != "kafka":
            continue
        known: float | None = None
        since_s = 0.0
        topic, _, partition = obj.rpartition("/")
        leads = metric == "leader" and partition.isdigit()
        for at_s, value in zip(track.at_s, track.values, strict=True):
            if at_s > end_s:
                break
            if value == known:
                continue
            if known is not None:
                if at_s >= 0 and metric == "leader" and value >= 0:  # that nobody leads is no new leader
                    changes.append(Change("leader", obj, at_s, known, value))
                elif at_s >= 0 and metric == "isr" and value < known:
                    changes.append(Change("isr", obj, at_s, known, value))
                elif at_s >= 0 and metric == "controller":
                    changes.append(Change("controller", obj, at_s, known, value))
                if leads:
                    spans.append(LeaderSpan(topic, int(partition), int(known), since_s, at_s))
            known, since_s = value, at_s
        if leads and known is not None:
            spans.append(LeaderSpan(topic, int(partition), int(known), since_s, end_s))
    for event in inputs.events:
        if event.get("event") == "assigned" and event["t_s"] >= 0:
            changes.append(Change("rebalance", str(event.get("group", "")), event["t_s"], 0.0, 0.0))
    return tuple(spans), tuple(sorted(changes, key=lambda change: change.at_s))
