"""Finds expectations that no run of an experiment can decide, before it runs. Pure.

``REASONS`` lists for every metric the conditions without which nothing is measured. A condition is a function that
returns the reason why a metric cannot be measured, or "". A condition gives a reason only where it is certain,
because a false alarm would cost trust.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from stream2gym.analysis.experiment_clients import find_clients
from stream2gym.analysis.result_tables import ClientRow
from stream2gym.components.program_command import can_be_observed
from stream2gym.components.rabbitmq_cluster import queue_topics
from stream2gym.judge.delivery_metrics import OF_OFFSETS
from stream2gym.judge.fault_metrics import OF_A_FAULT, RECOVERY
from stream2gym.judge.measurement import matches
from stream2gym.kinds.expectation_grammar import Expectation, parse_expectation
from stream2gym.kinds.monitor_sources import KAFKA, STORE
from stream2gym.plan.planned import Plan
from stream2gym.spec.model import Consumer, Experiment, Producer

_TRACED = ("lost", "duplicated", "delivered")
_AUDITED = ("lost", "in_flight", "duplicated", "duplicated_in_log", "redelivered", "out_of_order")
# Counts to which unrecorded clients may have added, with the kinds of those clients.
_UNRECORDED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("sent", "acknowledged", "unconfirmed", "failed", "unanswered"), ("producer",)),
    "received": ("consumer",),
    **dict.fromkeys(_AUDITED, ("producer", "consumer")),
}


@dataclass(frozen=True)
class Setup:
    """An experiment with its plan and its clients."""

    experiment: Experiment
    plan: Plan
    clients: tuple[ClientRow, ...]

    @property
    def programs(self) -> frozenset[str]:
        """Programs of the user that can be observed: each may send and receive, of any topic and in any group."""
        parts: tuple[Producer | Consumer, ...] = (*self.experiment.producers, *self.experiment.consumers)
        return frozenset(str(part.name) for part in parts if can_be_observed(part))

    @property
    def engines(self) -> frozenset[str]:
        """Engines that can be observed: each may send to any topic, and receives nothing as a member of a group."""
        return frozenset(str(part.name) for part in self.experiment.engines if can_be_observed(part))

    def find_programs(self, expectation: Expectation, kind: str) -> frozenset[str]:
        """Programs that can be observed and that a filter by producer or consumer does not leave out."""
        wanted = expectation.filters.get(kind, "*")
        found = self.programs | self.engines if kind == "producer" else self.programs
        return frozenset(name for name in found if fnmatchcase(name, wanted))

    def find(self, kind: str, expectation: Expectation, *names: str) -> list[ClientRow]:
        """Recorded producers or consumers that match the filters with these names."""
        filters = {name: wanted for name, wanted in expectation.filters.items() if name in names}
        return [
            client
            for client in self.clients
            if client.kind == kind and client.observed and matches(client, filters, producer="name", consumer="name")
        ]

    def producer(self, name: str) -> Producer:
        return next(part for part in self.experiment.producers if part.name == name)

    def asks_for_acknowledgements(self, clients: Iterable[ClientRow]) -> bool:
        own = self.programs | self.engines
        return any(client.name in own or self.producer(client.name).acks != 0 for client in clients)


Reason = Callable[[Expectation, Setup], str]


def find_undecidable(experiment: Experiment, plan: Plan) -> list[str]:
    """A sentence for every expectation that this experiment can never decide."""
    setup = Setup(experiment, plan, find_clients(experiment, plan))
    found = []
    for text in experiment.expect:
        try:
            expectation = parse_expectation(text)
        except ValueError:  # told as a mistake elsewhere
            continue
        why = explain_undecidable(expectation, setup)
        if why:
            found.append(f"the expectation {expectation.text!r} can never be decided: {why}")
        elif why := explain_never_passed(expectation, setup):
            found.append(f"the expectation {expectation.text!r} can never pass: {why}")
    return found


def explain_undecidable(expectation: Expectation, setup: Setup) -> str:
    """The first reason why nothing can be measured; "" where something can."""
    of_offsets = (_no_offsets,) if expectation.metric in OF_OFFSETS else ()
    reasons = (_of_a_fault, _partition, *of_offsets, *REASONS.get(expectation.metric, ()))
    return next((why for reason in reasons if (why := reason(expectation, setup))), "")


def explain_never_passed(expectation: Expectation, setup: Setup) -> str:
    """Why a figure can never be shown to be good enough: a trace that it follows cannot be followed, or programs of
    the user add to a count and nobody records them."""
    if why := _explain_broken_traces(expectation, setup):
        return why
    sides = _UNRECORDED.get(expectation.metric, ())
    if expectation.op not in ("==", "<", "<=") or "fault" in expectation.filters:
        return ""
    hidden = [
        client.name
        for client in setup.clients
        if client.kind in sides and not client.observed and _is_meant(client, expectation)
    ]
    if not hidden:
        return ""
    one = hidden[0]
    several = f"{', '.join(dict.fromkeys(hidden))} are programs of yours" if len(set(hidden)) > 1 else ""
    told = several or f"{one} is a program of yours"
    return f"{told}, whose doings nobody records; filters by producer, group or consumer ask about the others"


def _explain_broken_traces(expectation: Expectation, setup: Setup) -> str:
    """Why nobody can follow a trace that a figure follows beside the audit. "": there is no such trace."""
    passing = ("==", ">", ">=") if expectation.metric == "delivered" else ("==", "<", "<=")
    if expectation.metric not in _TRACED or expectation.filters.keys() - {"topic"} or expectation.op not in passing:
        return ""
    for trace in setup.experiment.trace:
        if fnmatchcase(trace.to, expectation.filters.get("topic", "*")):
            why = _broken_trace(trace.from_, trace.to, setup)
            if why:
                return f"it follows the trace from {trace.from_} to {trace.to}, and {why}"
    return ""


def _is_meant(client: ClientRow, expectation: Expectation) -> bool:
    names = ("topic", "producer") if client.kind == "producer" else ("topic", "group", "consumer")
    filters = {name: wanted for name, wanted in expectation.filters.items() if name in names}
    if not client.topic:
        # Nobody knows which topics it uses, and the audit has no rows of it.
        return expectation.metric not in _AUDITED and not filters.keys() - {"topic"}
    return matches(client, filters, producer="name", consumer="name")


# ---- conditions of several metrics


def _of_a_fault(expectation: Expectation, setup: Setup) -> str:
    metric, filters = expectation.metric, expectation.filters
    if metric in RECOVERY and not setup.experiment.faults:
        return "the experiment has no fault"
    if metric == "election":
        return _no_watch_of_rabbitmq(expectation, setup)
    if "fault" not in filters or metric in RECOVERY:
        return ""
    if metric not in OF_A_FAULT:
        return f"{metric} is not attributed to faults; ask it without the fault"
    allowed = {"fault", "topic"} if expectation.definition.about == "delivery" else {"fault"}
    if metric == "query_failures":
        allowed = {"fault"}
    more = sorted(filters.keys() - allowed)
    return f"the part of a fault is not told by {' and '.join(more)}" if more else ""


def _partition(expectation: Expectation, setup: Setup) -> str:
    wanted = expectation.filters.get("partition")
    if wanted is None:
        return ""
    topics = [t for t in setup.experiment.topics if fnmatchcase(t.name, expectation.filters.get("topic", "*"))]
    most = max((topic.partitions for topic in topics), default=0)
    if any(fnmatchcase(str(number), wanted) for number in range(most)) or not topics:
        return ""
    return f"there is no partition {wanted}: the topics have {most}, counted from 0"


def _no_producer(expectation: Expectation, setup: Setup) -> str:
    if setup.find("producer", expectation, "topic", "producer") or setup.find_programs(expectation, "producer"):
        return ""
    return f"no producer whose doings are recorded writes to {_topic(expectation)}"


def _no_consumer(expectation: Expectation, setup: Setup) -> str:
    if setup.find("consumer", expectation, "topic", "consumer", "group"):
        return ""
    if setup.find_programs(expectation, "consumer"):
        return ""
    wanted = expectation.filters.get("consumer")
    engines = [name for name in setup.engines if wanted is not None and fnmatchcase(name, wanted)]
    if engines and expectation.metric == "received":
        return ""
    if engines:
        return f"{', '.join(engines)} reads outside of any group; only received(consumer={wanted}) tells of it"
    return f"no consumer whose doings are recorded reads {_topic(expectation)}"


def _no_way(expectation: Expectation, setup: Setup) -> str:
    """No topic that both a recorded producer writes and a recorded consumer reads."""
    written = {client.topic for client in setup.find("producer", expectation, "topic", "producer")}
    read = {client.topic for client in setup.find("consumer", expectation, "topic", "consumer", "group")}
    writing, reading = (setup.find_programs(expectation, kind) for kind in ("producer", "consumer"))
    if written & read or (writing and (read or reading)) or (reading and written):
        return ""
    followed = expectation.metric in _TRACED and not expectation.filters.keys() - {"topic", "group"}
    traces = [
        trace for trace in setup.experiment.trace if fnmatchcase(trace.to, expectation.filters.get("topic", "*"))
    ]
    if followed and any(not _broken_trace(trace.from_, trace.to, setup) and trace.to in read for trace in traces):
        return ""
    why = _no_producer(expectation, setup) or _no_consumer(expectation, setup)
    why = why or f"nobody reads what is written to {', '.join(sorted(written))}"
    if traces:
        ends = f"(from={traces[0].from_}, to={traces[0].to})"
        return f"{why}; results_missing{ends} and results_doubled{ends} tell what became of messages"
    if setup.experiment.engines and read:
        return f"{why}; where an engine writes, a trace tells how to recognise its results"
    return why


def _no_acknowledgements(expectation: Expectation, setup: Setup) -> str:
    writers = setup.find("producer", expectation, "topic", "producer")
    if not writers or setup.asks_for_acknowledgements(writers):
        return ""
    instead = "; unconfirmed_lost counts what did not arrive" if expectation.metric in ("lost", "delivered") else ""
    return f"with acks 0 nobody acknowledges anything{instead}"


def _no_due_times(expectation: Expectation, setup: Setup) -> str:
    """Latencies from due times need a producer of ours, those from sending a program of the user."""
    programs = setup.find_programs(expectation, "producer")
    writers = {client.name for client in setup.find("producer", expectation, "topic", "producer")}
    if not writers:
        return ""
    wanted: Collection[str]
    if expectation.metric.endswith("_sent"):
        wanted, other = programs, expectation.metric.removesuffix("_sent")
        why = f"only programs of yours are measured from sending; {other} asks from due times"
    else:
        wanted, other = frozenset(writers) - programs, f"{expectation.metric}_sent"
        why = "programs of yours give their messages no due time"
        if expectation.metric != "send_delay":
            why += f"; {other} asks from when they were sent"
    return "" if wanted else why


def _no_several_groups(expectation: Expectation, setup: Setup) -> str:
    written = {client.topic for client in setup.find("producer", expectation, "topic", "producer")}
    for topic in written:
        groups = {c.group for c in setup.clients if c.kind == "consumer" and c.observed and c.topic == topic}
        if len(groups) > 1:
            return ""
    if setup.programs or setup.engines:
        return ""
    return "no topic of a recorded producer has two recorded groups"


def _no_trace(expectation: Expectation, setup: Setup) -> str:
    source, target = (expectation.filters.get(name, "*") for name in ("from", "to"))
    traces = [t for t in setup.experiment.trace if fnmatchcase(t.from_, source) and fnmatchcase(t.to, target)]
    if not traces:
        return "the experiment declares no such trace"
    whys = [_broken_trace(trace.from_, trace.to, setup) for trace in traces]
    return next((why for why in whys if why), "")


def _broken_trace(source: str, target: str, setup: Setup) -> str:
    if setup.programs:
        return ""
    seen = [client for client in setup.clients if client.observed]
    if not setup.engines and not any(client.kind == "producer" and client.topic == source for client in seen):
        return f"no producer whose doings are recorded writes to {source}"
    if not any(client.kind == "consumer" and client.topic == target for client in seen):
        return f"no consumer whose doings are recorded reads {target}"
    return ""


def _series_without_partition(expectation: Expectation, _setup: Setup) -> str:
    asks = "partition" in expectation.filters and (
        expectation.stat != "mean" or expectation.metric.startswith("delivery_rate")
    )
    return f"{expectation.metric} over time is not kept by partition" if asks else ""


def _no_link(expectation: Expectation, setup: Setup) -> str:
    rows = _links(expectation, setup)
    if not rows:
        return "there is no such link"
    if expectation.metric == "link_use" and not any(bandwidth for bandwidth in rows):
        return "a link without a bandwidth has no share in use; link_throughput tells what it carried"
    return ""


def _links(expectation: Expectation, setup: Setup) -> list[float | None]:
    """The bandwidths of the directions of links that match the filters."""
    name, way = expectation.filters.get("link", "*"), expectation.filters.get("direction", "*")
    host, port = expectation.filters.get("host", "*"), expectation.filters.get("port", "*")
    return [
        settings.bandwidth_bps
        for link in setup.plan.network.links
        for direction, settings in (("forward", link.forward), ("backward", link.backward))
        if fnmatchcase(link.name, name)
        and fnmatchcase(direction, way)
        and (fnmatchcase(link.a, host) or fnmatchcase(link.b, host))
        and (fnmatchcase(f"{link.a}:{link.port_a}", port) or fnmatchcase(f"{link.b}:{link.port_b}", port))
    ]


def _no_component(expectation: Expectation, setup: Setup) -> str:
    name, host = expectation.filters.get("component", "*"), expectation.filters.get("host", "*")
    there = [part for part in setup.plan.components if fnmatchcase(part.name, name) and fnmatchcase(part.host, host)]
    return "" if there else "there is no such component"


def _no_brokers(_expectation: Expectation, setup: Setup) -> str:
    return "" if setup.experiment.brokers else "there is no broker to watch"


def _no_watch_of_rabbitmq(_expectation: Expectation, setup: Setup) -> str:
    return "RabbitMQ does not tell who leads a queue" if setup.experiment.uses_rabbitmq else ""


def _no_offsets(expectation: Expectation, setup: Setup) -> str:
    """Metrics that only offsets tell, of topics that are queues."""
    queues = queue_topics(setup.experiment)
    wanted = expectation.filters.get("topic", "*")
    asked = [topic.name for topic in setup.experiment.topics if fnmatchcase(topic.name, wanted)]
    if not queues or not any(topic in queues for topic in asked):
        return ""
    named = next(topic for topic in asked if topic in queues)
    return f"messages of {named}, a {queues[named]} queue, have no offsets; a stream has"


def _no_engine(expectation: Expectation, setup: Setup) -> str:
    wanted = expectation.filters.get("engine", "*")
    if any(fnmatchcase(str(engine.name), wanted) for engine in setup.experiment.engines):
        return ""
    return "the experiment has no such engine"


def _no_check(expectation: Expectation, setup: Setup) -> str:
    wanted = expectation.filters.get("check", "*")
    there = any(fnmatchcase(check.name, wanted) for check in setup.experiment.checks)
    return "" if there else "the experiment has no such check"


def _no_sink(expectation: Expectation, setup: Setup) -> str:
    wanted = expectation.filters.get("store", "*")
    there = any(fnmatchcase(sink.store, wanted) for sink in setup.experiment.sinks)
    return "" if there else "no sink fills such a store, so nobody knows what it should hold"


def _no_monitor(expectation: Expectation, setup: Setup) -> str:
    """A source whose only monitor is switched off. Other parts of the run tell of Kafka and of stores, too."""
    source = expectation.filters.get("source", "")
    is_off = setup.experiment.monitors.get(source) == "off" and source not in (KAFKA.name, STORE.name)
    return f"the monitor {source} is switched off" if is_off else ""


def _by_no_producer(expectation: Expectation, _setup: Setup) -> str:
    return f"{expectation.metric} belongs to no producer" if "producer" in expectation.filters else ""


def _by_both(expectation: Expectation, _setup: Setup) -> str:
    both = {"producer", "consumer"} <= expectation.filters.keys()
    return "receipts are counted by producer or by consumer, not by both" if both else ""


def _topic(expectation: Expectation) -> str:
    return expectation.filters.get("topic", "any topic")


REASONS: dict[str, tuple[Reason, ...]] = {
    **dict.fromkeys(("sent", "acknowledged", "unconfirmed", "failed", "unanswered"), (_no_producer,)),
    "send_delay": (_no_producer, _no_due_times),
    **dict.fromkeys(("lost", "expired", "delivered", "in_flight"), (_no_way, _no_acknowledgements)),
    **dict.fromkeys(
        ("unconfirmed_lost", "unacknowledged_received", "duplicated", "duplicated_in_log", "redelivered",
         "out_of_order", "late", "deleted", "compacted"), (_no_way,),
    ),
    **dict.fromkeys(("latency", "latency_sent"), (_no_way, _no_due_times)),
    "received": (_by_both, _no_consumer),
    **dict.fromkeys(("offset_gaps", "unknown_received"), (_by_no_producer, _no_consumer)),
    "ack_latency": (_no_producer, _no_acknowledgements, _no_due_times),
    "ack_latency_sent": (_no_producer, _no_acknowledgements),
    **dict.fromkeys(("sync_latency", "sync_latency_sent"), (_no_due_times, _no_several_groups)),
    **dict.fromkeys(("trace_latency", "trace_latency_sent"), (_no_trace,)),
    **dict.fromkeys(("results_missing", "results_doubled"), (_no_trace,)),
    **dict.fromkeys(
        ("throughput", "throughput_bytes"), (_no_producer, _no_acknowledgements, _series_without_partition)
    ),
    **dict.fromkeys(("delivery_rate", "delivery_rate_bytes"), (_no_consumer, _series_without_partition)),
    **dict.fromkeys(("lag", "rebalances", "first_receipt"), (_no_consumer,)),
    **dict.fromkeys(("link_throughput", "link_bytes", "link_use", "link_drops", "link_loss", "queue"), (_no_link,)),
    **dict.fromkeys(("died", "restarts", "cpu", "memory"), (_no_component,)),
    **dict.fromkeys(
        ("leader_changes", "isr_shrinks", "controller_changes", "partitions_led", "under_replicated"),
        (_no_brokers, _no_watch_of_rabbitmq),
    ),
    **dict.fromkeys(("query_failures", "engine_rows", "batch_time", "state_rows"), (_no_engine,)),
    **dict.fromkeys(("mismatches", "result"), (_no_check,)),
    **dict.fromkeys(("rows_expected", "rows_present", "rows_missing", "rows_doubled"), (_no_sink,)),
    "sample": (_no_monitor,),
}  # fmt: skip
