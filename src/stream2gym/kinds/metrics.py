"""The closed list of metrics that expectations may name. Pure and quick to import.

A metric declares what it measures, its unit, its statistics and filters, and what it is about: *delivery* (what
arrived), *events* (what happened to the cluster), *performance* (how fast) or *emulation* (how exactly the fabric
worked). A metric about performance or events also declares how a slow machine moves it, so that the judge knows on
which side of the measured figure the true one may lie. Plug-ins add metrics through the entry point group
``stream2gym.metrics``: a ``Metric`` whose ``measure`` names the function that the judge calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

from stream2gym.kinds.plugins import PlugIns, load_plug_ins
from stream2gym.units import Bandwidth, ByteRate, Duration, Quantity, Rate, Share, Size

About = Literal["delivery", "events", "performance", "emulation"]
# How a machine that cannot keep up changes a figure: larger, smaller, either of these, or not at all.
Movement = Literal["up", "down", "either", "none"]
_STATS_THAT_FALL = ("mean", "p50", "min")


class Count(Quantity):
    """A number of things, without a unit."""

    NOUN = "count"
    EXAMPLE = "0"
    UNITS: ClassVar[dict[str, float]] = dict.fromkeys(
        ("message", "messages", "packet", "packets", "row", "rows", "time", "times"), 1.0
    )
    SHOWN = (("", 1.0),)
    BARE = 1.0

    def __str__(self) -> str:
        return f"{float(self):.10g}"


class Number(Count):
    """A number that a program reported. Only the program knows its unit, and it may be negative."""

    NOUN = "number"
    LOWEST = float("-inf")


PERCENTILES = ("p50", "p90", "p95", "p99", "p99.9", "p99.99")
SPREAD = (*PERCENTILES, "mean", "min", "max")
TOTAL = ("total",)


@dataclass(frozen=True)
class Metric:
    """One thing that can be measured. ``stats[0]`` is used when an expectation names no statistic."""

    name: str
    # What one value is, in words.
    noun: str
    unit: type[Quantity]
    about: About
    stats: tuple[str, ...] = TOTAL
    filters: tuple[str, ...] = ()
    # The metric has values only if the experiment has these.
    needs: Literal["", "faults", "engines", "stores"] = ""
    # Plug-ins: ``package.module:function``.
    measure: str = ""
    # The value that the filter ``of`` may have: it leaves out the messages that never arrived.
    of: str = ""
    # How a slow machine moves it. High percentiles of a rate that falls may rise when the machine catches up.
    slow_machine: Literal["up", "down", "either"] = "either"

    def moved_by_slow_machine(self, stat: str) -> Movement:
        """How a slow machine moves this statistic. Metrics of delivery and emulation state facts and do not move."""
        if self.about in ("delivery", "emulation"):
            return "none"
        if self.slow_machine == "down" and stat not in _STATS_THAT_FALL:
            return "either"
        return self.slow_machine


_MESSAGE = ("topic", "partition", "producer")
_DELIVERY = (*_MESSAGE, "group")
_FLOW = ("topic", "partition", "producer", "consumer", "group")
_P99_FIRST = ("p99", *(stat for stat in SPREAD if stat != "p99"))
_MEAN_FIRST = ("mean", *(stat for stat in SPREAD if stat != "mean"))
_MAX_FIRST = ("max", *(stat for stat in SPREAD if stat != "max"))


def _delivery(name: str, noun: str, filters: tuple[str, ...] = _DELIVERY, **more: str) -> Metric:
    return Metric(name, noun, Count, "delivery", filters=(*filters, "fault"), **more)  # type: ignore[arg-type]


BUILT_IN: tuple[Metric, ...] = (
    # what arrived
    _delivery("sent", "messages handed to a producer's client", _MESSAGE),
    _delivery("acknowledged", "messages that Kafka acknowledged", _MESSAGE),
    _delivery("unconfirmed", "messages sent with acks 0, which nobody acknowledges", _MESSAGE),
    _delivery("failed", "messages whose delivery the producer's client gave up", _MESSAGE),
    _delivery("unanswered", "messages still without an answer when their producer ended", _MESSAGE),
    _delivery("received", "messages received, redeliveries included", _FLOW),
    _delivery("lost", "messages acknowledged and never received by a subscriber that should have"),
    _delivery("unconfirmed_lost", "messages sent with acks 0 and never received by a subscriber"),
    _delivery("in_flight", "acknowledged messages that a subscriber had not reached when the drain ended"),
    Metric("expired", "lost messages that retention or a deletion of records took", Count, "delivery",
           filters=_DELIVERY),
    Metric("deleted", "messages not received because a fault deleted their topic", Count, "delivery",
           filters=_DELIVERY),
    Metric("compacted", "messages not received because a later one of their key replaced them", Count, "delivery",
           filters=_DELIVERY),
    _delivery("unacknowledged_received", "messages received although never acknowledged"),
    _delivery("duplicated", "extra copies received by one group, of either kind below"),
    _delivery("duplicated_in_log", "extra copies received because the message stands in the log twice"),
    _delivery("redelivered", "extra copies received because one offset was read again"),
    _delivery("out_of_order", "messages received after a later one of their producer and partition"),
    _delivery("offset_gaps", "offsets that a group skipped between two that it read"),
    _delivery("unknown_received", "messages received that no recorded producer sent", _FLOW),
    Metric("delivered", "acknowledged messages that every subscriber received", Share, "delivery",
           filters=(*_DELIVERY, "fault")),
    Metric("died", "components that died unasked", Count, "delivery", filters=("component", "host")),
    Metric("restarts", "components started again after they died", Count, "delivery",
           filters=("component", "host")),
    # how fast
    Metric("late", "messages received more than a second after they were due", Count, "performance",
           filters=_DELIVERY, slow_machine="up"),
    Metric("latency", "time from when a message was due to when it was received", Duration, "performance",
           _P99_FIRST, (*_FLOW, "fault", "of"), of="received", slow_machine="up"),
    Metric("ack_latency", "time from when a message was due to its acknowledgement", Duration,
           "performance", _P99_FIRST, (*_MESSAGE, "fault", "of"), of="acknowledged", slow_machine="up"),
    Metric("ack_latency_sent", "time from when a message was sent to its acknowledgement", Duration,
           "performance", _P99_FIRST, (*_MESSAGE, "fault", "of"), of="acknowledged"),
    Metric("send_delay", "time by which a message was sent later than it was due", Duration, "performance",
           _P99_FIRST, _MESSAGE, slow_machine="up"),
    Metric("sync_latency", "time from when a message was due until all its subscribers had it", Duration,
           "performance", _P99_FIRST, (*_MESSAGE, "fault", "of"), of="received", slow_machine="up"),
    Metric("trace_latency", "time from a message's due time to its result behind an engine", Duration,
           "performance", _P99_FIRST, ("from", "to", "fault", "of"), of="received", slow_machine="up"),
    Metric("latency_sent", "time from when a program sent a message to when it was received", Duration,
           "performance", _P99_FIRST, (*_FLOW, "of"), of="received"),
    Metric("sync_latency_sent", "time from when a program sent a message until all its subscribers had it", Duration,
           "performance", _P99_FIRST, (*_MESSAGE, "of"), of="received"),
    Metric("trace_latency_sent", "time from when a program sent a message to its result behind an engine", Duration,
           "performance", _P99_FIRST, ("from", "to", "of"), of="received"),
    Metric("throughput", "messages acknowledged a second of load", Rate, "performance", _MEAN_FIRST,
           (*_MESSAGE, "fault"), slow_machine="down"),
    Metric("throughput_bytes", "payload acknowledged a second of load", ByteRate, "performance", _MEAN_FIRST,
           (*_MESSAGE, "fault"), slow_machine="down"),
    Metric("delivery_rate", "messages received a second", Rate, "performance", _MEAN_FIRST,
           ("topic", "partition", "consumer", "group", "fault"), slow_machine="down"),
    Metric("delivery_rate_bytes", "payload received a second", ByteRate, "performance", _MEAN_FIRST,
           ("topic", "partition", "consumer", "group", "fault"), slow_machine="down"),
    Metric("lag", "messages that a consumer is behind the end of its partitions", Count, "performance",
           _MAX_FIRST, ("consumer", "group")),
    # the network
    Metric("link_throughput", "bits a second delivered by one direction of a link", Bandwidth,
           "performance", _MEAN_FIRST, ("link", "direction", "port", "host")),
    Metric("link_use", "share of a link's bandwidth in use", Share, "performance", _MEAN_FIRST,
           ("link", "direction", "port", "host")),
    Metric("link_bytes", "bytes that one direction of a link delivered by the end of the drain", Size, "delivery",
           filters=("link", "direction", "port", "host")),
    Metric("link_drops", "packets dropped on a link", Count, "performance", TOTAL,
           ("link", "direction", "port", "host", "cause")),
    Metric("link_loss", "share of a link's packets that were dropped", Share, "performance", TOTAL,
           ("link", "direction", "port", "host", "cause")),
    Metric("queue", "bytes waiting at the head of a link", Size, "performance", _MAX_FIRST,
           ("link", "direction", "port", "host")),
    Metric("lateness", "time by which the fabric delivered a packet too late", Duration, "emulation",
           ("p99", "p50", "p90", "p95", "p99.9", "p99.99", "max")),
    Metric("unasked_drops", "packets dropped that no link asked for", Count, "emulation", TOTAL, ("cause",)),
    # the cluster and the machine
    Metric("leader_changes", "times a partition's leader changed", Count, "events", TOTAL,
           ("topic", "partition", "fault")),
    Metric("isr_shrinks", "times a replica fell out of a partition's in-sync set", Count, "events",
           TOTAL, ("topic", "partition", "fault")),
    Metric("partitions_led", "partitions that a broker led, weighted by time of load", Count, "events", TOTAL,
           ("component", "topic")),
    Metric("under_replicated", "partitions of which a replica is not in sync", Count, "performance",
           ("max", "last", "min")),
    Metric("controller_changes", "times the active controller changed", Count, "events", TOTAL,
           ("fault",)),
    Metric("rebalances", "times a group's partitions were assigned anew", Count, "events", TOTAL,
           ("group", "consumer", "fault")),
    Metric("cpu", "share of the whole machine that a component used", Share, "performance", _MEAN_FIRST,
           ("component", "host")),
    Metric("memory", "resident memory of a component, all its processes", Size, "performance", _MAX_FIRST,
           ("component", "host")),
    Metric("startup", "time that the phases before load took, without the warm-up", Duration, "performance", TOTAL,
           ("phase",), slow_machine="up"),
    Metric("first_receipt", "time from the command to the first message that a consumer received", Duration,
           "performance", TOTAL, ("topic", "group", "consumer"), slow_machine="up"),
    # what a fault cost
    Metric("unavailable", "longest time without acknowledgements or deliveries", Duration, "performance",
           ("max", "total"), (*_FLOW, "fault"), needs="faults", slow_machine="up"),
    Metric("recovery", "time from a fault until no more messages are owed than usual", Duration, "performance",
           ("max", "mean", "min"), ("fault", "topic"), needs="faults", slow_machine="up"),
    Metric("detection", "time from a fault to the first sign of it", Duration, "performance",
           ("max", "mean", "min"), ("fault", "topic"), needs="faults"),
    Metric("election", "time from a fault to the next leader", Duration, "performance",
           ("max", "mean", "min"), ("fault", "topic", "partition"), needs="faults"),
    Metric("backlog", "most messages that were acknowledged and not yet delivered because of a fault", Count,
           "performance", ("max",),
           ("fault", "topic", "group"), needs="faults"),
    Metric("drain_time", "time to work off the backlog of a fault", Duration, "performance",
           ("max", "mean", "min"), ("fault", "topic", "group"), needs="faults", slow_machine="up"),
    # engines and stores
    Metric("query_failures", "streaming queries that failed", Count, "delivery", TOTAL,
           ("engine", "query", "fault"), needs="engines"),
    Metric("results_missing", "messages without their result behind an engine", Count, "delivery", TOTAL,
           ("from", "to"), needs="engines"),
    Metric("results_doubled", "results behind an engine beyond one a message", Count, "delivery", TOTAL,
           ("from", "to"), needs="engines"),
    Metric("engine_rows", "rows a second that an engine's query took in", Rate, "performance", _MEAN_FIRST,
           ("engine", "query"), needs="engines"),
    Metric("batch_time", "duration of an engine's micro-batch", Duration, "performance", _P99_FIRST,
           ("engine", "query"), needs="engines"),
    Metric("state_rows", "rows in an engine's state", Count, "performance", _MAX_FIRST,
           ("engine", "query"), needs="engines"),
    Metric("mismatches", "results that differ from an independent calculation", Count, "delivery", TOTAL,
           ("check",), needs="engines"),
    Metric("result", "a number that a check of results stated", Number, "delivery", TOTAL,
           ("check", "name"), needs="engines"),
    Metric("rows_expected", "rows that a store should hold", Count, "delivery", TOTAL, ("store", "table"),
           needs="stores"),
    Metric("rows_present", "rows that a store holds", Count, "delivery", TOTAL, ("store", "table"),
           needs="stores"),
    Metric("rows_missing", "rows that a store should hold and does not", Count, "delivery", TOTAL,
           ("store", "table"), needs="stores"),
    Metric("rows_doubled", "rows that a store holds more than once", Count, "delivery", TOTAL,
           ("store", "table"), needs="stores"),
    # whatever a program or a monitor reported
    Metric("sample", "a number that a monitor or a program of the experiment reported", Number,
           "performance", ("last", "total", *SPREAD), ("source", "object", "metric")),
)  # fmt: skip

_BY_NAME = {metric.name: metric for metric in BUILT_IN}


def find(name: str) -> Metric | None:
    """The metric of this name, plug-ins included."""
    return _BY_NAME.get(name) or _plug_ins().declared.get(name)


def known() -> tuple[Metric, ...]:
    """Every metric: the built-in ones, then those of plug-ins."""
    return (*BUILT_IN, *_plug_ins().declared.values())


def broken() -> dict[str, str]:
    """The plug-ins that cannot be used, by the name of their entry point, with the reason."""
    return _plug_ins().broken


@cache
def _plug_ins() -> PlugIns[Metric]:
    return load_plug_ins(
        "metric", lambda loaded: loaded if isinstance(loaded, Metric) else None, "Metric", built_in=BUILT_IN
    )
