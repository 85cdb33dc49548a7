"""The state of a run at one moment, as plain data for the page: the same for a run that goes on and for a replay."""

from __future__ import annotations

from typing import Any

from stream2gym.plan.link_text import settings_words
from stream2gym.web import message_preview as messages
from stream2gym.web.link_state import LinkState, hosts_apart, links_under_faults
from stream2gym.web.run_story import FaultSpan, RunStory, Steps

# What is sampled twice a second is out of date after this.
STALE_NS = 3_000_000_000
_WORST = ("died", "killed", "stopped", "finished", "starting", "running", "ready")


def snapshot_at(story: RunStory, at_ns: int, t0_ns: int) -> dict[str, Any]:
    """What was known at a moment. Times are seconds from ``t0_ns``."""
    faults = faults_at(story, at_ns)
    network = story.plan.network
    links = links_under_faults(network.links, faults)
    components = components_at(story, at_ns, faults)
    return {
        "t": _seconds(at_ns, t0_ns),
        "phase": story.phases.at(at_ns) or "created",
        "components": components,
        "jobs": story.jobs.list_at(at_ns, t0_ns, components),
        "picture": story.jobs.picture_at(at_ns),
        "hosts": hosts_apart((host.name for host in network.hosts), faults),
        "links": {name: link_at(story, name, state, at_ns) for name, state in links.items()},
        "leaders": leaders_at(story, at_ns),
        "topics": topics_at(story, at_ns),
        "controller": story.brokers.get(_whole(story.steps.get(("kafka", "cluster", "controller")), at_ns)),
        "faults": [fault_words(fault, t0_ns) for fault in faults],
        "counts": counts_at(story, at_ns),
        "lag": lag_at(story, at_ns),
    }


def faults_at(story: RunStory, at_ns: int) -> list[FaultSpan]:
    """The faults in force at a moment, in the order in which they began."""
    return [one for one in story.faults if one.start_ns <= at_ns and (one.end_ns is None or one.end_ns > at_ns)]


def fault_words(fault: FaultSpan, t0_ns: int) -> dict[str, Any]:
    return {
        "fault": fault.name,
        "do": fault.do,
        "on": list(fault.on),
        "settings": {key: str(value) for key, value in fault.settings.items()},
        "from": _seconds(fault.start_ns, t0_ns),
        "to": None if fault.end_ns is None else _seconds(fault.end_ns, t0_ns),
    }


def components_at(story: RunStory, at_ns: int, faults: list[FaultSpan]) -> dict[str, dict[str, Any]]:
    """The components that were there at a moment, where each was and how it was."""
    return {
        part.name: {
            "kind": part.kind, "type": part.type, "host": part.host,
            **component_at(story, part.name, at_ns, faults),
        }
        for part in story.jobs.plan_at(story.plan, at_ns).components
    }  # fmt: skip


def component_at(story: RunStory, name: str, at_ns: int, faults: list[FaultSpan]) -> dict[str, Any]:
    """The state of a component: the worst of its instances, and the CPU and memory of all of them together."""
    states = [steps.at(at_ns) for steps in story.processes[name].values()]
    known = [state for state in states if state is not None]
    word, reason = "planned", ""
    if known:
        worst = min(known, key=lambda state: _WORST.index(state.word))
        word, reason = worst.word, worst.reason
    paused = [fault.name for fault in faults if fault.do == "pause" and name in fault.on]
    if paused and word in ("ready", "running", "starting"):
        word, reason = "paused", f"by {paused[0]}"
    if word == "stopped" and story.jobs.is_stopped(name, at_ns):
        reason = "by hand"
    bucket = story.buckets.bucket(at_ns)
    carry = max(1, STALE_NS // story.buckets.width_ns)
    labels = [name, *(f"{name}#{number}" for number in story.processes[name])]
    is_there = word not in ("planned", "died", "killed", "stopped", "finished")
    cpu = [story.buckets.rate(("process", label, "cpu_s"), bucket - 1) for label in labels]
    memory = [story.buckets.value(("process", label, "rss_bytes"), bucket, carry) for label in labels]
    return {
        "state": word,
        "reason": reason,
        "cpu": round(sum(cpu), 3) if is_there else 0,
        "memory": sum(value or 0 for value in memory) if is_there else 0,
        "up": sum(1 for state in known if state.word in ("ready", "running", "starting")),
        "of": len(known),
    }


def link_at(story: RunStory, name: str, state: LinkState, at_ns: int) -> dict[str, Any]:
    """The settings and the traffic of a link; numbers for both directions, forward first."""
    buckets = story.buckets
    # The bucket of the moment itself is not full yet.
    bucket = max(0, buckets.bucket(at_ns) - 1)
    directions = ((f"{name} forward", state.forward), (f"{name} backward", state.backward))
    bps, use, drops, queue = [], [], [], []
    for label, settings in directions:
        rate = buckets.rate(("fabric", label, "delivered_bytes"), bucket) * 8
        bps.append(round(rate))
        use.append(None if not settings.bandwidth_bps else round(min(1.0, rate / settings.bandwidth_bps), 3))
        drops.append(round(sum(buckets.rate(key, bucket) for key in story.drop_keys.get(label, ())), 1))
        queue.append(round(buckets.latest(("fabric", label, "queue_bytes"), bucket + 1) or 0) if rate else 0)
    texts = [settings_words(settings) for _, settings in directions]
    return {
        "up": [state.forward.up, state.backward.up],
        "bps": bps,
        "use": use,
        "drops": drops,
        "queue": queue,
        "latency": [state.forward.latency_ms, state.backward.latency_ms],
        "settings": texts[0] if texts[0] == texts[1] else f"{texts[0]}; back: {texts[1]}",
        "faults": list(state.faults),
        "changing": state.is_changing,
    }


def leaders_at(story: RunStory, at_ns: int) -> dict[str, dict[str, Any]]:
    """The leader of every partition, and how many replicas are in sync."""
    found = {}
    for (source, place, metric), steps in story.steps.items():
        if (source, metric) != ("kafka", "leader") or (number := _whole(steps, at_ns)) is None:
            continue
        found[place] = {
            "leader": story.brokers.get(number),
            "in_sync": _whole(story.steps.get(("kafka", place, "isr")), at_ns),
            "replicas": _whole(story.steps.get(("kafka", place, "replicas")), at_ns),
        }
    return found


def topics_at(story: RunStory, at_ns: int) -> dict[str, list[float]]:
    """How many messages a second were sent to each topic, and received from it."""
    bucket = max(0, story.buckets.bucket(at_ns) - 1)
    names = {key[1] for key in story.buckets.list_keys() if key[0] == messages.SOURCE and key[1].startswith("topic ")}
    return {
        name.removeprefix("topic "): [
            story.buckets.rate((messages.SOURCE, name, key[2]), bucket) for key in (messages.SENT, messages.RECEIVED)
        ]
        for name in sorted(names)
    }


def counts_at(story: RunStory, at_ns: int) -> dict[str, Any]:
    """The counts so far. One of ``stride`` messages is followed; counts that rest on following are estimates then."""
    buckets = story.buckets
    bucket = buckets.bucket(at_ns)
    counts: dict[str, Any] = {
        key[2]: round(buckets.total(key, bucket))
        for key in (messages.SENT, messages.ACKNOWLEDGED, messages.FAILED, messages.RECEIVED)
    }
    counts["lost"] = max(0, round(buckets.total(messages.LOST, bucket)))
    counts["duplicated"] = round(buckets.total(messages.DUPLICATED, bucket))
    counts["in_flight"] = round(buckets.latest(messages.IN_FLIGHT, bucket) or 0)
    counts["stride"] = story.messages.stride
    counts["latency_p50"] = buckets.latency(max(0, bucket - 1), 0.5)
    counts["latency_p99"] = buckets.latency(max(0, bucket - 1), 0.99)
    counts["sent_rate"] = buckets.rate(messages.SENT, max(0, bucket - 1))
    counts["received_rate"] = buckets.rate(messages.RECEIVED, max(0, bucket - 1))
    return counts


def lag_at(story: RunStory, at_ns: int) -> dict[str, int]:
    """How far each group is behind."""
    bucket = story.buckets.bucket(at_ns)
    found = {}
    for group in story.lag_groups:
        lag = story.buckets.latest(("client", group, "lag"), bucket)
        if lag is not None:
            found[group] = round(lag)
    return found


def _whole(steps: Steps | None, at_ns: int) -> Any:
    value = None if steps is None else steps.at(at_ns)
    return None if value is None else int(value)


def _seconds(at_ns: int, t0_ns: int) -> float:
    return round((at_ns - t0_ns) / 1e9, 3)
