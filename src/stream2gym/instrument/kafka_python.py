"""Records programs that use kafka-python.

What goes to Kafka is known only behind the serialisers, where the producer hands a message to its accumulator; what
came from Kafka only before the deserialisers. So rows are written from there. A message counts as received when the
program gets it: at the end of ``poll``, or, in an iteration, which polls ahead by itself, one by one.
"""

from __future__ import annotations

import functools
import threading
from importlib import import_module
from types import ModuleType
from typing import Any

from ..record.journal import ACKED, UNCONFIRMED
from ..record.messages import HEADER
from .group_member import GroupMember, UnpackedRecords, note_assignments, note_beginnings, note_committed
from .recorder import Recorder, Transaction, error_text, now_ns, take_header, without_header
from .versions import is_known

LIBRARY = "kafka-python"
_WITH_HEADERS = (0, 11)  # brokers from this version on store headers
_BYTES = (bytes, bytearray, memoryview)


def change(module: ModuleType, recorder: Recorder) -> None:
    """Change the clients of a module of the library."""
    version = str(import_module("kafka.version").__version__)
    if not is_known(recorder, LIBRARY, version):
        return
    if module.__name__ == "kafka.producer.kafka":
        _change_producer(module, recorder, version)
    else:
        _change_consumer(module, recorder, version)


class _ProducerState:
    """What the recorder knows of one producer of the program."""

    __slots__ = ("transaction", "with_header")

    def __init__(self) -> None:
        self.with_header: bool | None = None  # not known before the first message
        self.transaction: Transaction | None = None


def _change_producer(module: Any, recorder: Recorder, version: str) -> None:
    accumulator_class = import_module("kafka.producer.record_accumulator").RecordAccumulator
    future_class = import_module("kafka.producer.future").FutureRecordMetadata
    their_success, their_failure = future_class.success, future_class.failure
    producer_class = module.KafkaProducer
    their_init, their_send, their_append = (
        producer_class.__init__,
        producer_class.send,
        accumulator_class.append,
    )
    # The call of ``send`` that is under way in a thread: the state of its producer, its row (-1: none yet) and the
    # size of the headers that the program gave (None: ours was not added).
    current = threading.local()
    # Rows of messages whose outcome is not known yet, with their transactions if they have one, by the ids of their
    # futures. A future that is dropped without an outcome leaves its entry behind, until another future has its id.
    waiting: dict[int, int | tuple[int, Transaction]] = {}

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        their_init(self, *args, **kwargs)
        try:
            self._s2g = _ProducerState()
            recorder.note("client", library=LIBRARY, version=version, role="producer")
        except Exception as error:
            recorder.give_up(error)

    def append(
        self: Any, tp: Any, timestamp_ms: Any, key: Any, value: Any, headers: Any, *args: Any, **kw: Any
    ) -> Any:
        """Takes a message into the accumulator; may be called twice for one ``send``."""
        state: Any = getattr(current, "state", None)
        sends = None if state is None else recorder.sends()
        if sends is not None:
            try:
                if current.row < 0:
                    current.row = sends.add(tp.topic, key, value, state.transaction)
                if state.with_header is None:
                    state.with_header = _takes_headers(self, recorder)
                if state.with_header:
                    current.header_bytes = _header_bytes(headers)
                    ours = (HEADER, sends.header(current.row))
                    headers = [*without_header(headers), ours] if headers else [ours]
            except Exception as error:
                recorder.give_up(error)
        return their_append(self, tp, timestamp_ms, key, value, headers, *args, **kw)

    @functools.wraps(their_send)
    def send(self: Any, *args: Any, **kwargs: Any) -> Any:
        state = getattr(self, "_s2g", None)
        if state is None or recorder.is_off:
            return their_send(self, *args, **kwargs)
        current.state, current.row, current.header_bytes = state, -1, None
        try:
            future = their_send(self, *args, **kwargs)
        except Exception as error:
            refuse(args, kwargs, error)
            raise
        finally:
            current.state = None
        try:
            row, transaction = current.row, state.transaction
            if row < 0:
                refuse(args, kwargs, getattr(future, "exception", None))
                return future
            if current.header_bytes is not None and len(getattr(future, "args", ())) == 6:
                future.args = (*future.args[:5], current.header_bytes)  # the sizes that the program is told
            waiting[id(future)] = row if transaction is None else (row, transaction)
            if future.is_done:  # meanwhile, by the thread that sends
                report(future, None if future.exception is not None else future.value, future.exception)
        except Exception as error:
            recorder.give_up(error)
        return future

    def refuse(args: tuple[Any, ...], kwargs: dict[str, Any], error: Any) -> None:
        """Record a message that the library refused. Its bytes are not known where the serialisers did not run."""
        try:
            topic, value, key = (
                args[at] if len(args) > at else kwargs.get(name) for at, name in enumerate(("topic", "value", "key"))
            )
            if isinstance(error, (TypeError, AssertionError, ValueError)) or not isinstance(topic, str):
                return  # wrong arguments: there was no message
            sends = recorder.sends()
            if sends is None:
                return
            if current.row < 0:
                known = [one if isinstance(one, _BYTES) else None for one in (key, value)]
                current.row = sends.add(topic, known[0], known[1])
            sends.failed(current.row, error_text(error))
        except Exception as failure:
            recorder.give_up(failure)

    def report(future: Any, metadata: Any, error: BaseException | None) -> None:
        """Record the outcome of the message of a future, if it is one that the recorder knows."""
        found = waiting.pop(id(future), None)
        sends = None if found is None else recorder.sends()
        if found is None or sends is None:
            return
        try:
            row, transaction = (found, None) if isinstance(found, int) else found
            if error is not None:
                sends.failed(row, error_text(error))
            else:
                # Without acks nobody tells an offset.
                offset = -1 if metadata.offset is None else metadata.offset
                sends.delivered(row, UNCONFIRMED if offset < 0 else ACKED, metadata.partition, offset, transaction)
        except Exception as failure:
            recorder.give_up(failure)

    def success(self: Any, value: Any) -> Any:
        if id(self) in waiting:
            report(self, value, None)
        return their_success(self, value)

    def failure(self: Any, error: Any) -> Any:
        report(self, None, error() if isinstance(error, type) else error)
        return their_failure(self, error)

    producer_class.__init__ = functools.wraps(their_init)(__init__)
    producer_class.send = send
    accumulator_class.append = functools.wraps(their_append)(append)
    future_class.success = functools.wraps(their_success)(success)
    future_class.failure = functools.wraps(their_failure)(failure)
    if hasattr(producer_class, "begin_transaction"):
        their_begin = producer_class.begin_transaction
        their_commit = producer_class.commit_transaction
        their_abort = producer_class.abort_transaction

        @functools.wraps(their_begin)
        def begin_transaction(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = their_begin(self, *args, **kwargs)
            if hasattr(self, "_s2g"):
                self._s2g.transaction = Transaction()
            return result

        @functools.wraps(their_commit)
        def commit_transaction(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = their_commit(self, *args, **kwargs)
            recorder.settle(getattr(self, "_s2g", None), True)
            return result

        @functools.wraps(their_abort)
        def abort_transaction(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = their_abort(self, *args, **kwargs)
            recorder.settle(getattr(self, "_s2g", None), False)
            return result

        producer_class.begin_transaction = begin_transaction
        producer_class.commit_transaction = commit_transaction
        producer_class.abort_transaction = abort_transaction


def _takes_headers(accumulator: Any, recorder: Recorder) -> bool:
    """Whether the messages of a producer can have headers."""
    if not recorder.settings.header:
        return False
    config = accumulator.config
    magic = config.get("message_version")
    if magic is not None:
        return bool(magic >= 2)
    api_version = config.get("api_version")
    return api_version is None or tuple(api_version) >= _WITH_HEADERS


def _header_bytes(headers: Any) -> int:
    """The size of headers as the library counts it."""
    return sum(len(name.encode("utf-8")) + len(value) for name, value in headers) if headers else -1


def _change_consumer(module: Any, recorder: Recorder, version: str) -> None:
    subscription_state = import_module("kafka.consumer.subscription_state")
    coordinator_class = import_module("kafka.coordinator.consumer").ConsumerCoordinator
    consumer_class = module.KafkaConsumer
    unpacked = UnpackedRecords(recorder)
    _change_records(import_module("kafka.consumer.fetcher"), unpacked)
    their_init, their_poll, their_next = consumer_class.__init__, consumer_class.poll, consumer_class.__next__

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        their_init(self, *args, **kwargs)
        try:
            group = self.config.get("group_id")
            self._s2g = GroupMember(recorder, str(group or recorder.settings.group))
            self._subscription._s2g = self._s2g
            recorder.note(
                "client", library=LIBRARY, version=version, role="consumer", group=self._s2g.group,
                start=str(self.config.get("auto_offset_reset")), isolation=str(self.config.get("isolation_level")),
            )  # fmt: skip
            if args:
                recorder.note("subscribed", group=self._s2g.group, topics=list(args))
        except Exception as error:
            recorder.give_up(error)

    @functools.wraps(their_poll)
    def poll(self: Any, *args: Any, **kwargs: Any) -> Any:
        batches = their_poll(self, *args, **kwargs)
        state = getattr(self, "_s2g", None)
        if batches and state is not None and not state.is_iterating:
            try:
                at_ns = now_ns()
                for records in batches.values():
                    unpacked.hand_over(state, records, at_ns)
            except Exception as error:
                recorder.give_up(error)
        return batches

    @functools.wraps(their_next)
    def __next__(self: Any) -> Any:
        state = getattr(self, "_s2g", None)
        if state is None:
            return their_next(self)
        state.is_iterating = True
        try:
            one = their_next(self)
        finally:
            state.is_iterating = False
        try:
            unpacked.hand_over(state, (one,), now_ns())
        except Exception as error:
            recorder.give_up(error)
        return one

    their_subscribe = consumer_class.subscribe

    @functools.wraps(their_subscribe)
    def subscribe(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = their_subscribe(self, *args, **kwargs)
        try:
            topics = args[0] if args else kwargs.get("topics", ())
            pattern = args[1] if len(args) > 1 else kwargs.get("pattern")
            recorder.note("subscribed", group=self._s2g.group, topics=list(topics or ()), pattern=pattern)
        except Exception as error:
            recorder.give_up(error)
        return result

    consumer_class.__init__ = functools.wraps(their_init)(__init__)
    consumer_class.poll = poll
    consumer_class.__next__ = __next__
    if hasattr(consumer_class, "next"):
        consumer_class.next = __next__
    consumer_class.subscribe = subscribe
    note_assignments(subscription_state.SubscriptionState, recorder)
    note_beginnings(subscription_state.TopicPartitionState, consumer_class, recorder)
    _change_commits(coordinator_class, recorder)


class _Batches:
    """The batches of a fetch response as the library reads them, with an eye on each record."""

    def __init__(self, records: Any, seen: list[Any]) -> None:
        self._records = records
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    def next_batch(self) -> Any:
        batch = self._records.next_batch()
        return None if batch is None else _Batch(batch, self._seen)


class _Batch:
    """One batch. Each record that the library takes from it is without our header; the last one is in ``seen``."""

    def __init__(self, batch: Any, seen: list[Any]) -> None:
        self._batch = batch
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        return next(self._batch)

    def __iter__(self) -> Any:
        seen = self._seen
        for record in self._batch:
            headers, ours = record.headers, None
            if headers:
                ours, found = take_header(headers)
                if found:
                    headers[:] = without_header(headers)
            seen[0] = (record.key, record.value, ours)
            yield record


def _change_records(fetcher: Any, unpacked: UnpackedRecords) -> None:
    """Keep the bytes of key and value as they were before the deserialisers, and take our header off."""
    owner = fetcher.Fetcher if hasattr(fetcher.Fetcher, "_unpack_message_set") else fetcher.Fetcher.PartitionRecords
    name = "_unpack_message_set" if owner is fetcher.Fetcher else "_unpack_records"
    theirs = getattr(owner, name)

    @functools.wraps(theirs)
    def unpack(self: Any, tp: Any, records: Any, *args: Any, **kwargs: Any) -> Any:
        seen: list[Any] = [None]
        for record in theirs(self, tp, _Batches(records, seen), *args, **kwargs):
            unpacked.keep(record, *seen[0])
            yield record

    setattr(owner, name, unpack)


def _change_commits(coordinator_class: Any, recorder: Recorder) -> None:
    their_sync = coordinator_class.commit_offsets_sync
    their_async = coordinator_class._do_commit_offsets_async

    @functools.wraps(their_sync)
    def commit_offsets_sync(self: Any, offsets: Any, *args: Any, **kwargs: Any) -> Any:
        result = their_sync(self, offsets, *args, **kwargs)
        note_committed(recorder, offsets)
        return result

    @functools.wraps(their_async)
    def _do_commit_offsets_async(self: Any, offsets: Any, *args: Any, **kwargs: Any) -> Any:
        future = their_async(self, offsets, *args, **kwargs)
        if hasattr(future, "add_callback"):
            future.add_callback(lambda _result, offsets=dict(offsets): note_committed(recorder, offsets))
        return future

    coordinator_class.commit_offsets_sync = commit_offsets_sync
    coordinator_class._do_commit_offsets_async = _do_commit_offsets_async
