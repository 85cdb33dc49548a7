"""Records programs that use aiokafka.

What goes to Kafka is known only behind the serialisers, where the producer hands a message to its accumulator; what
came from Kafka only before the deserialisers, where a record is made of it. The outcome of a message is that of its
batch: the future of a single message may be cancelled by the program although the message is sent.
"""

from __future__ import annotations

import contextvars
import functools
from importlib import import_module
from importlib.metadata import version as installed_version
from types import ModuleType
from typing import Any

from ..record.messages import HEADER
from .group_member import GroupMember, UnpackedRecords, note_assignments, note_beginnings, note_committed
from .recorder import Recorder, Sends, Transaction, error_text, now_ns, status_of_acks, take_header, without_header
from .versions import is_known

LIBRARY = "aiokafka"


def change(module: ModuleType, recorder: Recorder) -> None:
    """Change the clients of a module of the library."""
    version = installed_version("aiokafka")
    if not is_known(recorder, LIBRARY, version):
        return
    if module.__name__ == "aiokafka.producer.producer":
        _change_producer(module, recorder, version)
    else:
        _change_consumer(module, recorder, version)


class _ProducerState:
    """What the recorder knows of one producer of the program."""

    __slots__ = ("acked", "transaction")

    def __init__(self, acks: Any) -> None:
        self.acked = status_of_acks(acks)
        self.transaction: Transaction | None = None


class _Batch:
    """The rows of the messages of a batch, by their places in it."""

    __slots__ = ("rows", "sends", "state", "transaction")

    def __init__(self, state: _ProducerState, sends: Sends) -> None:
        self.state = state
        self.sends = sends
        self.transaction = state.transaction
        self.rows: dict[int, int] = {}


def _change_producer(module: Any, recorder: Recorder, version: str) -> None:
    accumulator_class = import_module("aiokafka.producer.message_accumulator").MessageAccumulator
    producer_class = module.AIOKafkaProducer
    their_init, their_send = producer_class.__init__, producer_class.send
    their_add = accumulator_class.add_message
    # The call of ``send`` that is under way in this task: the state of its producer, and whether it has a row.
    current: contextvars.ContextVar[list[Any] | None] = contextvars.ContextVar("s2g_sending", default=None)

    @functools.wraps(their_init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        their_init(self, *args, **kwargs)
        try:
            acks = kwargs.get("acks", 1)
            self._s2g = _ProducerState(acks if isinstance(acks, (int, str)) else 1)
            self._message_accumulator._s2g = self._s2g
            recorder.note("client", library=LIBRARY, version=version, role="producer")
        except Exception as error:
            recorder.give_up(error)

    @functools.wraps(their_send)
    async def send(
        self: Any,
        topic: Any,
        value: Any = None,
        key: Any = None,
        partition: Any = None,
        timestamp_ms: Any = None,
        headers: Any = None,
    ) -> Any:
        state = getattr(self, "_s2g", None)
        if state is None or recorder.is_off:
            return await their_send(self, topic, value, key, partition, timestamp_ms, headers)
        sending = [state, False]
        token = current.set(sending)
        try:
            return await their_send(self, topic, value, key, partition, timestamp_ms, headers)
        except (TypeError, ValueError, AssertionError):
            raise  # wrong arguments: there was no message
        except BaseException as error:
            if not sending[1]:
                refuse(topic, key, value, error)
            raise
        finally:
            current.reset(token)

    def refuse(topic: Any, key: Any, value: Any, error: BaseException) -> None:
        """Record a message that never came as far as the accumulator; its bytes may not be known."""
        try:
            sends = recorder.sends()
            if sends is not None and isinstance(topic, str):
                known = [one if isinstance(one, (bytes, bytearray, memoryview)) else None for one in (key, value)]
                sends.failed(sends.add(topic, known[0], known[1]), error_text(error))
        except Exception as failure:
            recorder.give_up(failure)

    @functools.wraps(their_add)
    async def add_message(
        self: Any, tp: Any, key: Any, value: Any, timeout: Any, timestamp_ms: Any = None, headers: Any = ()
    ) -> Any:
        sending, state = current.get(), getattr(self, "_s2g", None)
        sends, row = None, -1
        if state is not None and not recorder.is_off:
            try:
                sends = recorder.sends()
                if sends is not None:
                    row = sends.add(tp.topic, key, value, state.transaction)
                    if sending is not None:
                        sending[1] = True
                    if recorder.settings.header:
                        headers = [*without_header(headers), (HEADER, sends.header(row))]
            except Exception as error:
                sends = None
                recorder.give_up(error)
        if state is None or sends is None:
            return await their_add(self, tp, key, value, timeout, timestamp_ms=timestamp_ms, headers=headers)
        try:
            future = await their_add(self, tp, key, value, timeout, timestamp_ms=timestamp_ms, headers=headers)
        except BaseException as error:
            sends.failed(row, error_text(error))
            raise
        try:
            _watch(self, tp, future, state, sends, row)
        except Exception as error:
            recorder.give_up(error)
        return future

    def _watch(accumulator: Any, tp: Any, future: Any, state: _ProducerState, sends: Sends, row: int) -> None:
        """Have the outcome of a message recorded when its batch is done."""
        batch = accumulator._batches[tp][-1]
        last, metadata = batch._msg_futures[-1]
        if last is not future:
            raise RuntimeError("the accumulator does not keep its messages as it used to")
        ours = getattr(batch, "_s2g", None)
        if ours is None:
            ours = batch._s2g = _Batch(state, sends)
            batch.future.add_done_callback(functools.partial(_finish, ours))
        ours.rows[metadata.offset] = row

    def _finish(batch: _Batch, future: Any) -> None:
        try:
            if future.cancelled():
                return
            error = future.exception()
            result = None if error is not None else future.result()
            for place, row in batch.rows.items():
                if error is not None:
                    batch.sends.failed(row, error_text(error))
                elif result is None:  # without acks
                    batch.sends.delivered(row, batch.state.acked, -1, -1, batch.transaction)
                else:
                    offset = result.offset + place if result.offset >= 0 else -1
                    batch.sends.delivered(row, batch.state.acked, result.partition, offset, batch.transaction)
        except Exception as failure:
            recorder.give_up(failure)

    producer_class.__init__ = __init__
    producer_class.send = send
    accumulator_class.add_message = add_message
    _change_batches(producer_class, accumulator_class, recorder, _finish)
    _change_transactions(producer_class, recorder)


def _change_batches(producer_class: Any, accumulator_class: Any, recorder: Recorder, finish: Any) -> None:
    """Record batches that the program fills itself. They get no header, which would make them full earlier."""
    their_create, their_send = producer_class.create_batch, producer_class.send_batch
    their_append_batch = accumulator_class._append_batch

    @functools.wraps(their_create)
    def create_batch(self: Any, *args: Any, **kwargs: Any) -> Any:
        builder = their_create(self, *args, **kwargs)
        try:
            _keep_messages(builder)
        except Exception as error:
            recorder.give_up(error)
        return builder

    def _keep_messages(builder: Any) -> None:
        """Remember the bytes of what the program appends, until the batch is sent."""
        kept: list[tuple[Any, Any]] = []
        their_serialize, their_append = builder._serialize, builder.append
        last: list[Any] = [None, None]

        def _serialize(key: Any, value: Any) -> Any:
            last[:] = their_serialize(key, value)
            return tuple(last)

        def append(*args: Any, **kwargs: Any) -> Any:
            metadata = their_append(*args, **kwargs)
            if metadata is not None and builder._s2g_kept is not None:
                kept.append((last[0], last[1]))
            return metadata

        builder._s2g_kept = kept
        builder._serialize = _serialize
        builder.append = append

    @functools.wraps(their_append_batch)
    def _append_batch(self: Any, builder: Any, tp: Any) -> Any:
        """Called when a batch of the program's begins its way; the accumulator's own batches are empty then."""
        kept = getattr(builder, "_s2g_kept", None)
        state, ours = getattr(self, "_s2g", None), None
        if kept is not None and state is not None and not recorder.is_off:
            try:
                builder._s2g_kept = None
                sends = recorder.sends()
                if sends is not None:
                    ours = _Batch(state, sends)
                    for place, (key, value) in enumerate(kept):
                        ours.rows[place] = sends.add(tp.topic, key, value, state.transaction)
            except Exception as error:
                recorder.give_up(error)
        batch = their_append_batch(self, builder, tp)
        if ours is not None:
            batch._s2g = ours
            batch.future.add_done_callback(functools.partial(finish, ours))
        return batch

    @functools.wraps(their_send)
    async def send_batch(self: Any, batch: Any, topic: Any, **kwargs: Any) -> Any:
        try:
            return await their_send(self, batch, topic, **kwargs)
        except (TypeError, ValueError, AssertionError):
            raise
        except BaseException as error:
            kept = getattr(batch, "_s2g_kept", None)
            try:
                sends = recorder.sends()
                if kept and sends is not None:
                    for key, value in kept:
                        sends.failed(sends.add(topic, key, value), error_text(error))
            except Exception as failure:
                recorder.give_up(failure)
            raise

    producer_class.create_batch = create_batch
    producer_class.send_batch = send_batch
    accumulator_class._append_batch = _append_batch


def _change_transactions(producer_class: Any, recorder: Recorder) -> None:
    their_begin = producer_class.begin_transaction
    their_commit, their_abort = producer_class.commit_transaction, producer_class.abort_transaction

    @functools.wraps(their_begin)
    async def begin_transaction(self: Any) -> Any:
        result = await their_begin(self)
        if hasattr(self, "_s2g"):
            self._s2g.transaction = Transaction()
        return result

    @functools.wraps(their_commit)
    async def commit_transaction(self: Any) -> Any:
        result = await their_commit(self)
        recorder.settle(getattr(self, "_s2g", None), True)
        return result

    @functools.wraps(their_abort)
    async def abort_transaction(self: Any) -> Any:
        result = await their_abort(self)
        recorder.settle(getattr(self, "_s2g", None), False)
        return result

    producer_class.begin_transaction = begin_transaction
    producer_class.commit_transaction = commit_transaction
    producer_class.abort_transaction = abort_transaction


def _change_consumer(module: Any, recorder: Recorder, version: str) -> None:
    fetcher = import_module("aiokafka.consumer.fetcher")
    coordinator_class = import_module("aiokafka.consumer.group_coordinator").GroupCoordinator
    subscription_state = import_module("aiokafka.consumer.subscription_state")
    consumer_class = module.AIOKafkaConsumer
    their_init, their_getone, their_getmany = (
        consumer_class.__init__,
        consumer_class.getone,
        consumer_class.getmany,
    )
    their_record = fetcher.PartitionRecords._consumer_record
    unpacked = UnpackedRecords(recorder)

    @functools.wraps(their_record)
    def _consumer_record(self: Any, tp: Any, record: Any) -> Any:
        made = their_record(self, tp, record)
        try:
            ours, found = take_header(made.headers)
            if found:
                made.headers = tuple(without_header(made.headers))
            unpacked.keep(made, record.key, record.value, ours)
        except Exception as error:
            recorder.give_up(error)
        return made

    @functools.wraps(their_init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        their_init(self, *args, **kwargs)
        try:
            self._s2g = GroupMember(recorder, str(kwargs.get("group_id") or recorder.settings.group))
            self._subscription._s2g = self._s2g
            recorder.note(
                "client", library=LIBRARY, version=version, role="consumer", group=self._s2g.group,
                start=str(kwargs.get("auto_offset_reset", "latest")),
                isolation=str(kwargs.get("isolation_level", "read_uncommitted")),
            )  # fmt: skip
            if args:
                recorder.note("subscribed", group=self._s2g.group, topics=list(args))
        except Exception as error:
            recorder.give_up(error)

    @functools.wraps(their_getone)
    async def getone(self: Any, *partitions: Any) -> Any:
        one = await their_getone(self, *partitions)
        try:
            unpacked.hand_over(self._s2g, (one,), now_ns())
        except Exception as error:
            recorder.give_up(error)
        return one

    @functools.wraps(their_getmany)
    async def getmany(self: Any, *partitions: Any, **kwargs: Any) -> Any:
        batches = await their_getmany(self, *partitions, **kwargs)
        try:
            at_ns = now_ns()
            for records in batches.values():
                unpacked.hand_over(self._s2g, records, at_ns)
        except Exception as error:
            recorder.give_up(error)
        return batches

    their_subscribe = consumer_class.subscribe

    @functools.wraps(their_subscribe)
    def subscribe(self: Any, topics: Any = (), pattern: Any = None, listener: Any = None) -> Any:
        result = their_subscribe(self, topics, pattern, listener)
        try:
            recorder.note("subscribed", group=self._s2g.group, topics=list(topics or ()), pattern=pattern)
        except Exception as error:
            recorder.give_up(error)
        return result

    their_commit = coordinator_class._do_commit_offsets

    @functools.wraps(their_commit)
    async def _do_commit_offsets(self: Any, assignment: Any, offsets: Any) -> Any:
        result = await their_commit(self, assignment, offsets)
        note_committed(recorder, offsets)
        return result

    fetcher.PartitionRecords._consumer_record = _consumer_record
    consumer_class.__init__ = __init__
    consumer_class.getone = getone
    consumer_class.getmany = getmany
    consumer_class.subscribe = subscribe
    coordinator_class._do_commit_offsets = _do_commit_offsets
    note_assignments(subscription_state.SubscriptionState, recorder)
    note_beginnings(subscription_state.TopicPartitionState, consumer_class, recorder)
