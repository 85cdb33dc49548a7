"""What one client says to one broker over one connection: messages produced and what became of them, messages
fetched, the groups it names, and the ids of topics.

The client's ``Observed`` hears of it. A request whose version is not known here, or that cannot be read, is told as a
problem, because what it carried is missing in the record.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from stream2gym.packets import messages
from stream2gym.packets.fields import Undecodable
from stream2gym.packets.messages import FetchRequest, Place, ProduceRequest, RequestHeader, Topic
from stream2gym.packets.record_batch import Batch, Record, batches
from stream2gym.packets.tcp import Frame

_CARRY_RECORDS = (messages.PRODUCE, messages.FETCH, messages.SHARE_FETCH)
_BEHIND_CORRELATION = 4


class UnnamedTopic(Undecodable):
    """A request names a topic by an id that no metadata has named yet."""


class Produced(NamedTuple):
    """The messages of a produce request that go to one partition.

    ``producer_id`` is the number that Kafka gave to the producer, if it is idempotent or transactional; else -1.
    """

    topic: str
    partition: int
    records: list[Record]
    producer_id: int
    is_transactional: bool


class Attempt(Protocol):
    """One produce request of a client and the messages in it."""

    def answer(self, topic: str, partition: int, error: int, base_offset: int, at_ns: int) -> None:
        """The broker's word on the messages of one partition; error 0 is an acknowledgement."""


class Observed(Protocol):
    """The client that is observed: one process of a component, over all its connections."""

    def produce(self, parts: Sequence[Produced], acks: int, at_ns: int, connection: object) -> Attempt:
        """A request with messages has left the host over a connection."""

    def begin_partition(self, client: str, topic: str, partition: int, offset: int) -> None:
        """The client asks for a partition, from this offset on, for the first time over a connection."""

    def fetch(self, client: str, topic: str, partition: int, records: Sequence[Record], at_ns: int) -> None:
        """A response with these messages has reached the host; ``client`` is the client's own id."""

    def name_group(self, client: str, group: str, *, is_member: bool) -> None: ...

    def end_transaction(self, producer_id: int, is_committed: bool) -> Callable[[int], None]:
        """The client asks for the end of a transaction. Call the result with the time when the broker agrees."""

    def tell_problem(self, what: str) -> None:
        """Something that carried messages could not be read."""


class UnownedConversation:
    """A connection whose process was not found: ``tell_problem`` is called once if it carries messages.

    Most such connections were refused, because no broker was there yet, and carry nothing.
    """

    def __init__(self, tell_problem: Callable[[str], None]) -> None:
        self._tell_problem = tell_problem
        self._is_told = False

    def hear_request(self, frame: Frame) -> None:
        kind = int.from_bytes(frame.data[:2], "big")
        if kind in _CARRY_RECORDS and not self._is_told:
            self._is_told = True
            self._tell_problem("connections with messages whose process was not found")

    def hear_response(self, frame: Frame) -> None:
        """Without a request that carries messages its responses carry none."""

    def hear_end(self, broken: str) -> None:
        """What was not captured of it may have carried messages of anybody."""
        if broken and not self._is_told:
            self._tell_problem(broken)


class ClientConversation:
    """One connection. ``topics`` are the names of topics by id, shared by all connections."""

    def __init__(self, observed: Observed, topics: dict[bytes, str]) -> None:
        self._observed = observed
        self._topics = topics
        # Requests whose response matters, by their number on the connection: what to do with the response.
        self._waiting: dict[int, Callable[[Frame], None]] = {}
        # Where the client wants to go on in each partition, by the last request that named it.
        self._offsets: dict[Place, int] = {}
        self._begun: set[Place] = set()
        # Of partitions whose topic no metadata has named yet: who began to read them, and at which offset.
        self._to_begin: dict[Place, tuple[str, int]] = {}

    def hear_request(self, frame: Frame) -> None:
        header = None
        try:
            header = messages.read_header(frame.data)
            if not messages.is_known(header):
                if header.kind in _CARRY_RECORDS:
                    what = f"requests of kind {header.kind}, version {header.version}, cannot be read"
                    self._observed.tell_problem(what)
                return
            self._hear(header, frame)
        except (Undecodable, struct.error, IndexError) as error:
            if header is None or header.kind in _CARRY_RECORDS:
                self._observed.tell_problem(str(error))

    def hear_response(self, frame: Frame) -> None:
        if len(frame.data) < _BEHIND_CORRELATION:
            return
        correlation = int.from_bytes(frame.data[:_BEHIND_CORRELATION], "big", signed=True)
        handle = self._waiting.pop(correlation, None)
        if handle is None:
            return
        try:
            handle(frame)
        except (Undecodable, struct.error, IndexError) as error:
            self._observed.tell_problem(str(error))

    def hear_end(self, broken: str) -> None:
        self._waiting.clear()
        if broken:
            self._observed.tell_problem(broken)

    def _hear(self, header: RequestHeader, frame: Frame) -> None:
        data = frame.data
        match header.kind:
            case messages.PRODUCE:
                self._hear_produce(header, frame)
            case messages.FETCH:
                request = messages.read_fetch_request(data, header)
                wanted = self._note_offsets(header.client, request)
                self._waiting[header.correlation] = lambda answer: self._hear_fetched(
                    header, wanted, request.reads_committed, answer
                )
            case messages.METADATA:
                self._waiting[header.correlation] = lambda answer: self._topics.update(
                    messages.read_topic_ids(answer.data, header)
                )
            case messages.END_TRANSACTION:
                end = messages.read_end_transaction(data, header)
                settle = self._observed.end_transaction(end.producer_id, end.is_committed)
                self._waiting[header.correlation] = lambda answer: self._hear_ended(header, settle, answer)
            case _:
                group = messages.read_group(data, header)
                if group:
                    is_member = header.kind not in (messages.OFFSET_COMMIT, messages.FIND_COORDINATOR)
                    self._observed.name_group(header.client, group, is_member=is_member)

    def _hear_produce(self, header: RequestHeader, frame: Frame) -> None:
        request = messages.read_produce_request(frame.data, header)
        try:
            parts = self._name_parts(request)
        except UnnamedTopic:
            if request.acks == 0:
                raise
            # The metadata that names the topic went over another connection and may be read a little later.
            self._waiting[header.correlation] = lambda answer: self._hear_produced_late(header, frame, answer)
            return
        attempt = self._observed.produce(parts, request.acks, frame.first_ns, self)
        if request.acks != 0:
            self._waiting[header.correlation] = lambda answer: self._hear_produced(header, attempt, answer)

    def _hear_produced_late(self, header: RequestHeader, frame: Frame, answer: Frame) -> None:
        request = messages.read_produce_request(frame.data, header)
        attempt = self._observed.produce(self._name_parts(request), request.acks, frame.first_ns, self)
        self._hear_produced(header, attempt, answer)

    def _name_parts(self, request: ProduceRequest) -> list[Produced]:
        parts = []
        for (topic, partition), data in request.records.items():
            for batch in batches(data):
                name, records = self._name(topic), batch.records()
                parts.append(Produced(name, partition, records, batch.producer_id, batch.is_transactional))
        return parts

    def _hear_produced(self, header: RequestHeader, attempt: Attempt, answer: Frame) -> None:
        for (topic, partition), result in messages.read_produce_response(answer.data, header).items():
            attempt.answer(self._name(topic), partition, result.error, result.base_offset, answer.last_ns)

    def _note_offsets(self, client: str, request: FetchRequest) -> dict[Place, int]:
        """Where the client goes on in every partition that this request asks for."""
        for place, offset in request.offsets.items():
            if place not in self._begun:
                self._begun.add(place)
                self._to_begin[place] = client, offset
        self._tell_begun()
        if request.is_full:
            self._offsets.clear()
        self._offsets.update(request.offsets)
        for place in request.forgotten:
            self._offsets.pop(place, None)
        return dict(self._offsets)

    def _tell_begun(self) -> None:
        """Tell which partitions the client has begun to read, as soon as their topics are named.

        The metadata that names a topic went over another connection and may be read a little later.
        """
        for (topic, partition), (client, offset) in list(self._to_begin.items()):
            name = topic if isinstance(topic, str) else self._topics.get(topic)
            if name is not None:
                del self._to_begin[topic, partition]
                self._observed.begin_partition(client, name, partition, offset)

    def _hear_fetched(
        self, header: RequestHeader, wanted: Mapping[Place, int], reads_committed: bool, answer: Frame
    ) -> None:
        self._tell_begun()
        for (topic, partition), found in messages.read_fetch_response(answer.data, header).items():
            if found.error or not found.records:
                continue
            # A batch may begin before the offset that was asked for; a client drops those records.
            first = wanted.get((topic, partition), 0)
            aborted = sorted(found.aborted, key=lambda one: one[1]) if reads_committed else []
            name = self._name(topic)
            for batch in committed_batches(batches(found.records), aborted):
                records = [record for record in batch.records() if record.offset >= first]
                if records:
                    self._observed.fetch(header.client, name, partition, records, answer.last_ns)

    @staticmethod
    def _hear_ended(header: RequestHeader, settle: Callable[[int], None], answer: Frame) -> None:
        if messages.read_end_error(answer.data, header) == 0:
            settle(answer.last_ns)

    def _name(self, topic: Topic) -> str:
        if isinstance(topic, str):
            return topic
        name = self._topics.get(topic)
        if name is None:
            raise UnnamedTopic("messages of a topic whose id no metadata named")
        return name


def committed_batches(found: Iterable[Batch], aborted: list[tuple[int, int]]) -> Iterator[Batch]:
    """The batches whose records a client hands over: no control batches, nothing of an aborted transaction.

    ``aborted`` are (producer id, first offset) in the order of offsets. A transaction of a producer is aborted from
    that offset up to its marker.
    """
    open_ones: set[int] = set()
    for batch in found:
        while aborted and aborted[0][1] <= batch.last_offset:
            open_ones.add(aborted.pop(0)[0])
        if batch.is_control:
            if batch.producer_id in open_ones and batch.is_abort_marker():
                open_ones.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in open_ones):
            yield batch
