"""What monitors write down of what they see."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from stream2gym.fabric.protocol import FabricStats, Lateness, LinkCounters
from stream2gym.monitors.clock import ClockMonitor
from stream2gym.monitors.fabric_counters import FabricMonitor, LinkSamples
from stream2gym.monitors.lateness_samples import LatenessSamples, percentile_us
from stream2gym.monitors.leadership import LeadershipMonitor
from stream2gym.monitors.monitor import MonitoredRun
from stream2gym.plan.planned import Plan


class Recorded:
    """Stands for the record."""

    def __init__(self) -> None:
        self.samples: list[tuple[str, str, float]] = []
        self.events: list[dict[str, Any]] = []
        self.drops: list[tuple[int | None, float]] = []

    def sample(self, obj: str, metric: str, value: float, at_ns: int | None = None) -> None:
        if obj == "unasked_drops":
            self.drops.append((at_ns, value))
        self.samples.append((obj, metric, value))

    def tell(self, kind: str, **details: Any) -> None:
        self.events.append({"event": kind, **details})

    def sample_of(self, _source: str, obj: str, metric: str, value: float, at_ns: int | None = None) -> None:
        self.sample(obj, metric, value, at_ns)

    def run(self, network: Any = None) -> MonitoredRun:
        """A run of which a monitor sees only the network."""
        return MonitoredRun(cast(Plan, None), network, lambda: (), self.sample, self.tell)

    def value(self, obj: str, metric: str) -> float:
        return [value for o, m, value in self.samples if (o, m) == (obj, metric)][-1]


def stats(counts: tuple[int, ...] = (0, 0, 0), *links: LinkCounters, at_ns: int = 1, drops: int = 2) -> FabricStats:
    lateness = Lateness((100.0, 1000.0), counts, 1500.0)
    unasked = {"no-route": drops} if drops else {}
    return FabricStats(at_ns, links, lateness, unasked, 0.5, run_delay_s=0.25)


def test_a_direction_of_a_link_is_written_only_when_its_counters_moved() -> None:
    recorded = Recorded()
    monitor = LinkSamples(recorded.sample)
    counters = LinkCounters("h1 -- s1", "forward", delivered_bytes=10, dropped={"loss": 1})
    monitor.note(stats((), counters))
    first = len(recorded.samples)
    monitor.note(stats((), counters))
    assert len(recorded.samples) == first
    assert recorded.value("h1 -- s1 forward", "dropped.loss") == 1


def test_lateness_is_of_the_packets_since_the_last_look() -> None:
    recorded = Recorded()
    monitor = LatenessSamples(recorded.sample)
    monitor.note(stats((100, 0, 0)))
    monitor.note(stats((100, 10, 0)))
    assert recorded.value("lateness", "packets") == 10
    assert recorded.value("lateness", "p50_us") == 1000
    assert recorded.value("lateness", "le_1000") == 10
    assert recorded.value("unasked_drops", "no-route") == 2


def test_each_look_says_what_time_it_covers_so_that_a_gap_shows() -> None:
    recorded = Recorded()
    monitor = LatenessSamples(recorded.sample)
    monitor.note(stats((1, 0, 0), at_ns=1_000_000_000))
    assert recorded.value("lateness", "interval_s") == 0
    monitor.note(stats((1, 0, 0), at_ns=4_500_000_000))
    assert recorded.value("lateness", "interval_s") == 3.5
    assert recorded.value("lateness", "packets") == 0
    assert recorded.value("engine", "run_delay_s") == 0.25


def test_the_first_drops_are_more_than_those_of_the_look_before() -> None:
    recorded = Recorded()
    monitor = LatenessSamples(recorded.sample)
    monitor.note(stats(at_ns=1, drops=0))
    monitor.note(stats(at_ns=2, drops=7))
    monitor.note(stats(at_ns=3, drops=7))
    assert recorded.drops == [(1, 0), (2, 7), (3, 7)]


def test_the_look_after_the_end_of_load_reads_every_device_once() -> None:
    asked: list[bool] = []

    class Played:
        def stats(self, *, every_device: bool = False) -> FabricStats:
            asked.append(every_device)
            return stats()

    monitor = FabricMonitor(Recorded().run(SimpleNamespace(fabric=Played())))
    monitor.look()
    monitor.end_load()
    monitor.look()
    monitor.look()
    assert asked == [False, True, False]


def test_beyond_the_last_bucket_stands_the_largest_that_was_seen() -> None:
    assert percentile_us((100.0, 1000.0), [0, 0, 4], 0.5, 1500.0) == 1500.0
    assert percentile_us((100.0, 1000.0), [99, 1, 0], 0.99, 1500.0) == 100.0


def test_a_new_leader_and_a_smaller_in_sync_set_are_events() -> None:
    recorded = Recorded()
    monitor = LeadershipMonitor(recorded.sample_of, recorded.tell)
    monitor.on_line({"watch": {"t/0": [1, [1, 2], [1, 2]]}, "at_ns": 5})
    assert recorded.events == []
    monitor.on_line({"watch": {"t/0": [2, [1, 2], [2]]}, "at_ns": 9})
    assert [event["event"] for event in recorded.events] == ["leader", "isr"]
    assert recorded.events[0]["leader"] == 2
    assert recorded.value("t/0", "isr") == 1


def test_a_step_of_the_wall_clock_is_an_event_and_its_drift_is_none() -> None:
    recorded, now = Recorded(), {"wall": 1000.0, "steady": 10.0}
    monitor = ClockMonitor(recorded.run(), lambda: now["wall"], lambda: now["steady"])
    now.update(wall=1001.01, steady=11.0)
    monitor.look()
    assert recorded.events == []
    now.update(wall=4602.0, steady=12.0)
    monitor.look()
    monitor.look()
    [event] = recorded.events
    assert round(event["by_s"]) == 3600
