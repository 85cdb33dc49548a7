"""What monitors write down of what they see."""

from __future__ import annotations

from typing import Any

from stream2gym.fabric.protocol import FabricStats, Lateness, LinkCounters
from stream2gym.monitors.clock import ClockMonitor
from stream2gym.monitors.lateness import LatenessMonitor, percentile_us
from stream2gym.monitors.leadership import LeadershipMonitor
from stream2gym.monitors.links import LinksMonitor


class Notes:
    """Stands for the record."""

    def __init__(self) -> None:
        self.samples: list[tuple[str, str, float]] = []
        self.events: list[dict[str, Any]] = []

    def sample(self, _source: str, obj: str, metric: str, value: float, at_ns: int | None = None) -> None:
        self.samples.append((obj, metric, value))

    def tell(self, kind: str, **details: Any) -> None:
        self.events.append({"event": kind, **details})

    def value(self, obj: str, metric: str) -> float:
        return [value for o, m, value in self.samples if (o, m) == (obj, metric)][-1]


def stats(counts: tuple[int, ...] = (0, 0, 0), *links: LinkCounters) -> FabricStats:
    return FabricStats(1, links, Lateness((100.0, 1000.0), counts, 1500.0), {"no-route": 2}, 0.5)


def test_a_direction_of_a_link_is_written_only_when_its_counters_moved() -> None:
    notes = Notes()
    monitor = LinksMonitor(notes.sample)
    counters = LinkCounters("h1 -- s1", "forward", delivered_bytes=10, dropped={"loss": 1})
    monitor.note(stats((), counters))
    first = len(notes.samples)
    monitor.note(stats((), counters))
    assert len(notes.samples) == first
    assert notes.value("h1 -- s1 forward", "dropped.loss") == 1


def test_lateness_is_of_the_packets_since_the_last_look() -> None:
    notes = Notes()
    monitor = LatenessMonitor(notes.sample)
    monitor.note(stats((100, 0, 0)))
    monitor.note(stats((100, 10, 0)))
    assert notes.value("lateness", "packets") == 10
    assert notes.value("lateness", "p50_us") == 1000
    assert notes.value("lateness", "le_1000") == 10
    assert notes.value("unasked_drops", "no-route") == 2


def test_beyond_the_last_bucket_stands_the_largest_that_was_seen() -> None:
    assert percentile_us((100.0, 1000.0), [0, 0, 4], 0.5, 1500.0) == 1500.0
    assert percentile_us((100.0, 1000.0), [99, 1, 0], 0.99, 1500.0) == 100.0


def test_a_new_leader_and_a_smaller_in_sync_set_are_events() -> None:
    notes = Notes()
    monitor = LeadershipMonitor(notes.sample, notes.tell)
    monitor.hear({"watch": {"t/0": [1, [1, 2], [1, 2]]}, "at_ns": 5})
    assert notes.events == []
    monitor.hear({"watch": {"t/0": [2, [1, 2], [2]]}, "at_ns": 9})
    assert [event["event"] for event in notes.events] == ["leader", "isr"]
    assert notes.events[0]["leader"] == 2
    assert notes.value("t/0", "isr") == 1


def test_a_step_of_the_wall_clock_is_an_event_and_its_drift_is_none() -> None:
    notes, now = Notes(), {"wall": 1000.0, "steady": 10.0}
    monitor = ClockMonitor(notes.tell, lambda: now["wall"], lambda: now["steady"])
    now.update(wall=1001.01, steady=11.0)
    monitor.look()
    assert notes.events == []
    now.update(wall=4602.0, steady=12.0)
    monitor.look()
    monitor.look()
    [event] = notes.events
    assert round(event["by_s"]) == 3600
