"""The admin client on the observer host: ``python -m stream2gym.clients.admin --bootstrap A:P,B:P``.

Standard input: requests, one JSON object on each line, ``{"id": N, "op": NAME, ...}``. Standard output: answers, one
JSON object on each line. Each request gets exactly one answer, ``{"id": N, "ok": {...}}`` or ``{"id": N, "error":
"words"}``. Answers are written when they are ready, in any order. Standard error: log. The program ends with exit
code 0 when its input ends.

    op         request                                    answer
    brokers    nodes [ids], timeout_s                     {"brokers": {"1": "ADDRESS:PORT"}} once all are there
    create     topics [{name, partitions, replicas,       {"failed": {name: words}}: empty when all were made
               assignment [[ids]]?, config {}}], timeout_s
    ready      topics {name: [partitions, replicas]},     {"topics": as describe} once every partition has its
               timeout_s                                  leader and its full in-sync set
    coordinate timeout_s                                  {} once groups have a coordinator: Kafka creates its topic
                                                          for groups only when it is first asked for one
    describe   topics [names]                             {"topics": {name: {"0": [leader, [replicas], [isr]]}}}
    offsets    topics [names], groups [names]?,           {"offsets": [[topic, partition, start, end]],
               timeout_s                                  "unknown": {"topic/0": words}, "at_ns": of the ends,
                                                          "committed": {group: [[topic, partition, offset]]}}
    offsets_now  as offsets, since_ns?                    the same, without waiting for leaders that are dead, cut
                                                          off or yet to be elected; asked of them after since_ns
    next_messages  places [[topic, partition, offset,     {"ends": [[topic, partition, offset, isolation, end]]} of
               isolation]], timeout_s                     those places from which there is no message up to the end,
                                                          and "unread": the places from which there is one
    latest     topics [names], most, timeout_s            {"messages": {topic: [[partition, offset, time_ms, key,
                                                          value]]}}: the last messages, what answers in time
    delete     before {topic: {"0": offset}}, timeout_s   {"failed": {"topic/0": words}}
    controller timeout_s                                  {"node": id of the active controller}
    coordinator  group, timeout_s                         {"node": id of the group's coordinator}
    reassign   replicas {topic: {"0": [ids]}}, timeout_s  {"failed": {"topic/0": words}} once the replicas are these
    elect      partitions {topic: ["0"]}, timeout_s       {"failed": {"topic/0": words}}: the first replica of each
                                                          partition becomes the leader if it is in sync
    delete_topics  topics [names], timeout_s              {"failed": {name: words}} once they are gone
    state      (after watch)                              {"under_replicated", "leaderless": numbers of partitions,
                                                          "controller": id, "silent": [ids of brokers], "at_ns",
                                                          "ends": [[topic, partition, end]], "ends_ns", "groups":
                                                          {name: {"state": words, "lag": messages?}}}
    watch      every_s, topics [names], brokers {id: address}   {}, and from then on lines without an id:

``{"watch": {"topic/0": [leader, [replicas], [isr]]}, "at_ns": CLOCK_MONOTONIC}`` with the partitions that changed
(at first all of them) and how many of all are ``under_replicated`` and ``leaderless`` then, and
``{"controller": id, "at_ns": ...}`` when another controller is active (see ``broker_watch``).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from confluent_kafka import ElectionType, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from stream2gym.clients import kafka_protocol
from stream2gym.clients.admin_answers import Answer, NotThereYet, error_words, failures_of, until
from stream2gym.clients.broker_watch import watch_brokers
from stream2gym.clients.cluster_state import ClusterState
from stream2gym.clients.latest_messages import read_latest_messages
from stream2gym.clients.leader_offsets import LeaderOffsets
from stream2gym.clients.next_messages import find_next_messages
from stream2gym.clients.partition_offsets import EARLIEST, LATEST, committed_offsets, list_offsets
from stream2gym.clients.request_loop import answer_requests, say

Partitions = dict[str, dict[str, list[Any]]]
ASK_S = 5.0  # timeout of one request to the cluster
WATCH_BEGINS_S = 3.0  # from the request for a watch to its first answer of a broker


class Admin:
    """Answers requests. Each public method is named after an op, takes the request and returns the answer."""

    def __init__(self, bootstrap: str, say: Callable[[Answer], None]) -> None:
        self._client = AdminClient(
            {
                "bootstrap.servers": bootstrap,
                "client.id": "s2g-observer",
                "socket.timeout.ms": 10_000,
                "reconnect.backoff.ms": 50,
                "reconnect.backoff.max.ms": 250,
                "topic.metadata.refresh.interval.ms": -1,
                "log_level": 2,  # no messages about brokers that have not started yet
            }
        )
        self._servers = bootstrap.split(",")
        self._say = say
        # Made when the watch begins.
        self._state: ClusterState | None = None
        self._leader_offsets: LeaderOffsets | None = None

    def brokers(self, request: Answer) -> Answer:
        wanted = set(request["nodes"])

        def all_there() -> Answer:
            found = self._client.list_topics(timeout=ASK_S).brokers
            if wanted <= set(found):
                return {"brokers": {str(node): f"{b.host}:{b.port}" for node, b in found.items()}}
            raise NotThereYet(f"{len(wanted - set(found))} of {len(wanted)} brokers: {sorted(wanted - set(found))}")

        return until(all_there, request["timeout_s"])

    def create(self, request: Answer) -> Answer:
        topics = [_new_topic(topic) for topic in request["topics"]]
        if not topics:
            return {"failed": {}}
        timeout_s = request["timeout_s"]
        made = self._client.create_topics(topics, operation_timeout=timeout_s, request_timeout=timeout_s)
        # A topic that exists was made by an attempt whose answer was lost: the library repeats such attempts.
        return {"failed": failures_of(made.items(), timeout_s, fine=(KafkaError.TOPIC_ALREADY_EXISTS,))}

    def ready(self, request: Answer) -> Answer:
        wanted = request["topics"]

        def all_led() -> Answer:
            topics = self._partitions(wanted)
            for name, (partitions, replicas) in wanted.items():
                there = topics.get(name, {})
                if len(there) < partitions:
                    raise NotThereYet(f"topic {name} to have {partitions} partitions (it has {len(there)})")
                for number, (leader, _, isr) in there.items():
                    if leader < 0 or len(isr) < replicas:
                        state = f"leader {leader}, in sync {isr}"
                        raise NotThereYet(f"partition {number} of topic {name} to have {replicas} in sync ({state})")
            return {"topics": topics}

        return until(all_led, request["timeout_s"])

    def coordinate(self, request: Answer) -> Answer:
        def answered() -> Answer:
            kafka_protocol.find_coordinator(self._servers, "s2g-observer", ASK_S)
            return {}

        return until(answered, request["timeout_s"])

    def describe(self, request: Answer) -> Answer:
        return {"topics": self._partitions(request["topics"])}

    def offsets(self, request: Answer) -> Answer:
        names = set(request["topics"])
        places = [(name, int(number)) for name, parts in self._partitions(names).items() for number in parts]
        timeout_s = float(request["timeout_s"])
        unknown: dict[str, str] = {}
        # Before the ends, so that a group that has committed up to an end has indeed come to that end.
        committed = {group: committed_offsets(self._client, group, timeout_s) for group in request.get("groups", ())}
        starts = list_offsets(self._client, places, EARLIEST, timeout_s, unknown)
        asked_ns = time.monotonic_ns()
        ends = list_offsets(self._client, places, LATEST, timeout_s, unknown)
        known = [place for place in places if place in starts and place in ends]
        return {
            "offsets": [[*place, starts[place], ends[place]] for place in known],
            "unknown": unknown,
            "at_ns": (asked_ns + time.monotonic_ns()) // 2,
            "committed": committed,
        }

    def offsets_now(self, request: Answer) -> Answer:
        if self._leader_offsets is None:
            return self.offsets(request)
        timeout_s = float(request["timeout_s"])
        committed = {group: committed_offsets(self._client, group, timeout_s) for group in request.get("groups", ())}
        now = self._leader_offsets.ask(request["topics"], int(request.get("since_ns", 0)))
        return self.offsets(request) if now is None else {**now, "committed": committed}

    def next_messages(self, request: Answer) -> Answer:
        return find_next_messages(",".join(self._servers), request["places"], float(request["timeout_s"]))

    def latest(self, request: Answer) -> Answer:
        servers, within_s = ",".join(self._servers), float(request["timeout_s"])
        return {"messages": read_latest_messages(servers, request["topics"], int(request["most"]), within_s)}

    def delete(self, request: Answer) -> Answer:
        marks = [
            TopicPartition(topic, int(number), offset)
            for topic, partitions in request["before"].items()
            for number, offset in partitions.items()
        ]
        done = self._client.delete_records(marks, operation_timeout=request["timeout_s"])
        named = ((f"{place.topic}/{place.partition}", future) for place, future in done.items())
        return {"failed": failures_of(named, request["timeout_s"])}

    def controller(self, request: Answer) -> Answer:
        return {"node": kafka_protocol.find_controller(self._servers, float(request["timeout_s"]))}

    def coordinator(self, request: Answer) -> Answer:
        return {"node": kafka_protocol.find_coordinator(self._servers, request["group"], float(request["timeout_s"]))}

    def reassign(self, request: Answer) -> Answer:
        wanted, timeout_s = request["replicas"], float(request["timeout_s"])
        failed = kafka_protocol.reassign(self._servers, wanted, timeout_s)
        if failed:
            return {"failed": failed}

        def all_there() -> Answer:
            now = self._partitions(wanted)
            for topic, partitions in wanted.items():
                for number, nodes in partitions.items():
                    if now[topic][number][1] != list(nodes):
                        raise NotThereYet(f"{topic}/{number} to have the replicas {nodes}")
            return {"failed": {}}

        return until(all_there, timeout_s)

    def elect(self, request: Answer) -> Answer:
        places = [
            TopicPartition(topic, int(number))
            for topic, numbers in request["partitions"].items()
            for number in numbers
        ]
        # This call of the library fails when it is given a timeout of its own; then socket.timeout.ms holds.
        election = self._client.elect_leaders(ElectionType.PREFERRED, places)
        failed = {}
        for place, error in election.result(float(request["timeout_s"])).items():
            if error is not None and error.code() != KafkaError.ELECTION_NOT_NEEDED:
                failed[f"{place.topic}/{place.partition}"] = error.str()
        return {"failed": failed}

    def delete_topics(self, request: Answer) -> Answer:
        names, timeout_s = list(request["topics"]), float(request["timeout_s"])
        done = self._client.delete_topics(names, operation_timeout=timeout_s, request_timeout=timeout_s)
        failed = failures_of(done.items(), timeout_s)

        def all_gone() -> Answer:
            left = [name for name in self._partitions(names) if name not in failed]
            if left:
                raise NotThereYet(f"{', '.join(left)} to be gone")
            return {"failed": failed}

        return until(all_gone, timeout_s)

    def watch(self, request: Answer) -> Answer:
        brokers = {int(node): str(server) for node, server in request["brokers"].items()}
        watch = watch_brokers(brokers, request["topics"], float(request["every_s"]), self._say)
        self._state = ClusterState(brokers, watch.known)
        self._leader_offsets = LeaderOffsets(brokers, watch.known)
        return {}

    def state(self, _request: Answer) -> Answer:
        def watched() -> Answer:
            if self._state is None or not self._state.is_known():
                raise NotThereYet("a broker to tell of its partitions")
            return {}

        # Requests are answered by threads: this one may be there before the watch has begun.
        until(watched, WATCH_BEGINS_S)
        return self._state.ask() if self._state is not None else {}

    def _partitions(self, names: Iterable[str]) -> Partitions:
        """Leader, replicas and in-sync replicas of every partition of these topics."""
        topics = self._client.list_topics(timeout=ASK_S).topics
        return {
            name: {
                str(number): [part.leader, list(part.replicas), sorted(part.isrs)]
                for number, part in sorted(topics[name].partitions.items())
            }
            for name in names
            if name in topics
        }


def _new_topic(topic: Answer) -> NewTopic:
    config = {key: str(value) for key, value in topic.get("config", {}).items()}
    if topic.get("assignment"):
        return NewTopic(
            topic["name"],
            num_partitions=topic["partitions"],
            replica_assignment=topic["assignment"],
            config=config,
        )
    return NewTopic(
        topic["name"],
        num_partitions=topic["partitions"],
        replication_factor=topic["replicas"],
        config=config,
    )


def main() -> NoReturn:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    args = parser.parse_args()
    answer_requests(Admin(args.bootstrap, say), error_words)


if __name__ == "__main__":
    main()
