"""The time lines of the page: a few charts, each with some series over the same buckets of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stream2gym.figures.time_charts import CPU, LAG, LATENCY, MACHINE, MEMORY, QUEUES, THROUGHPUT
from stream2gym.plan.natural_order import natural
from stream2gym.web import message_preview as messages
from stream2gym.web.run_story import RunStory
from stream2gym.web.time_buckets import Key

# A number that was sampled holds for so many buckets.
_CARRY = 6

# The numbers from one bucket to another.
Numbers = Callable[[int, int], list[float | None]]


def list_series(story: RunStory) -> dict[str, dict[str, Numbers]]:
    """The series of each chart by name."""
    buckets = story.buckets

    def each_bucket(value: Callable[[int], float | None]) -> Numbers:
        return lambda first, last: [value(bucket) for bucket in range(first, last + 1)]

    def rate(key: Key) -> Numbers:
        return each_bucket(lambda bucket: buckets.rate(key, bucket))

    def recent(key: Key) -> Numbers:
        return each_bucket(lambda bucket: buckets.value(key, bucket, _CARRY))

    def latest(key: Key) -> Numbers:
        return lambda first, last: buckets.carried(key, first, last)

    def share_of_machine(key: Key) -> Numbers:
        return each_bucket(lambda bucket: buckets.rate(key, bucket) / story.cpus)

    by_metric: dict[tuple[str, str], list[Key]] = {}
    for key in buckets.list_keys():
        by_metric.setdefault((key[0], key[2]), []).append(key)

    def each(source: str, metric: str, show: Callable[[Key], Numbers]) -> dict[str, Numbers]:
        keys = sorted(by_metric.get((source, metric), ()), key=lambda key: natural(key[1]))
        return {key[1]: show(key) for key in keys}

    queues = by_metric.get(("fabric", "queue_bytes"), [])
    return {
        THROUGHPUT.name: {
            "sent": rate(messages.SENT),
            "acknowledged": rate(messages.ACKNOWLEDGED),
            "received": rate(messages.RECEIVED),
        },
        LATENCY.name: {
            "p50": each_bucket(lambda bucket: buckets.latency(bucket, 0.5)),
            "p99": each_bucket(lambda bucket: buckets.latency(bucket, 0.99)),
        },
        LAG.name: each("client", "lag", recent),
        CPU.name: each("process", "cpu_s", share_of_machine),
        MEMORY.name: each("process", "rss_bytes", recent),
        QUEUES.name: {
            "all links": each_bucket(lambda bucket: sum(buckets.value(key, bucket, 1) or 0.0 for key in queues))
        },
        MACHINE.name: {
            name: latest(("machine-use", "cpu", name))
            for name in ("busy", "io_wait", "steal")
            if ("machine-use", name) in by_metric
        },
    }


def timelines_from(story: RunStory, first: int, last: int) -> dict[str, Any]:
    """The numbers of every chart from one bucket to another."""
    charts = {
        chart: {name: [_rounded(value) for value in numbers(first, last)] for name, numbers in series.items()}
        for chart, series in list_series(story).items()
    }
    return {
        "first": first,
        "width_s": story.buckets.width_ns / 1e9,
        "charts": charts,
    }


def moments_of_run(story: RunStory, t0_ns: int) -> dict[str, Any]:
    """What charts mark: when faults were in force, leaders changed and phases began."""
    return {
        "faults": [
            {
                "fault": one.name, "do": one.do, "on": list(one.on), "from": _seconds(one.start_ns, t0_ns),
                "to": None if one.end_ns is None else _seconds(one.end_ns, t0_ns),
            }
            for one in story.faults[-200:]
        ],
        "elections": [_seconds(at_ns, t0_ns) for at_ns in story.elections[-500:]],
        "phases": [
            [_seconds(at, t0_ns), name] for at, name in zip(story.phases.times, story.phases.values, strict=True)
        ],
    }  # fmt: skip


def object_series(story: RunStory, names: set[str]) -> list[dict[str, Any]]:
    """Every series that was sampled of these objects, for the details of one part of the picture."""
    buckets = story.buckets
    last = buckets.bucket(story.newest_ns)
    found = []
    for key in buckets.list_keys():
        if key[1] not in names:
            continue
        is_rate = buckets.is_sum(key)
        numbers = [
            _rounded(buckets.rate(key, bucket) if is_rate else buckets.value(key, bucket, _CARRY))
            for bucket in range(last + 1)
        ]
        found.append({"source": key[0], "object": key[1], "metric": key[2], "is_rate": is_rate, "values": numbers})
    return sorted(found, key=lambda one: (one["source"], one["object"], one["metric"]))


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def _seconds(at_ns: int, t0_ns: int) -> float:
    return round((at_ns - t0_ns) / 1e9, 3)
