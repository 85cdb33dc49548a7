"""Records programs that use confluent-kafka.

Its clients are classes of a C module that cannot be changed but can be subclassed. The subclasses take their places
in ``confluent_kafka.cimpl`` as that is loaded: every other module of the library, the serialising and the asyncio
clients too, copies the names from there.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from ..record.journal import RecordFull
from ..record.messages import HEADER
from .group_member import GroupMember
from .recorder import Recorder, Sends, Transaction, now_ns, status_of_acks, take_header, without_header
from .versions import is_known

LIBRARY = "confluent-kafka"
_PRODUCE = ("topic", "value", "key", "partition", "callback", "on_delivery", "timestamp", "headers")
_UP_TO_KEY = 3  # so many arguments may stand without names where recording is to be quick
_BATCH = ("topic", "messages", "partition", "callback", "on_delivery")
_SUBSCRIBE = ("topics", "on_assign", "on_revoke", "on_lost")
_TEXT = (bytes, str, type(None))
_BEGINNING, _END = -2, -1  # as offsets: both ends of a partition
_FROM_BEGINNING = ("smallest", "earliest", "beginning")


def change(module: ModuleType, recorder: Recorder) -> None:
    """Put recording clients in the places of those of ``confluent_kafka.cimpl``."""
    told = module.version()
    version = str(told if isinstance(told, str) else told[0])
    if not is_known(recorder, LIBRARY, version):
        return
    module.Producer = _producer_class(module, recorder, version)  # type: ignore[attr-defined]
    module.Consumer = _consumer_class(module, recorder, version)  # type: ignore[attr-defined]
    if hasattr(module, "ShareConsumer"):
        module.ShareConsumer = _share_consumer_class(module.ShareConsumer, recorder)  # type: ignore[attr-defined]


def _disguise(ours: type, theirs: type) -> type:
    """Give a class of ours the name, module and description of the one that it stands for."""
    ours.__name__, ours.__qualname__ = theirs.__name__, theirs.__qualname__
    ours.__module__, ours.__doc__ = theirs.__module__, theirs.__doc__
    return ours


def _named(names: tuple[str, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments of a call by name. Raises TypeError where the library would refuse them."""
    if len(args) > len(names) or not kwargs.keys().isdisjoint(names[: len(args)]):
        raise TypeError("arguments that the library refuses")
    return {**dict(zip(names, args)), **kwargs}


def _config(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    given = args[0] if args and isinstance(args[0], dict) else {}
    return {**given, **kwargs}


def _text(error: Any) -> str:
    """The words of an error of the library, as our own clients record it."""
    cause = error.args[0] if isinstance(error, Exception) and error.args else error
    if hasattr(cause, "name") and hasattr(cause, "str"):
        return f"{cause.name()}: {cause.str()}"
    return f"{type(error).__name__}: {error}"


class _ProducerState:
    """What the recorder knows of one producer of the program."""

    __slots__ = ("acked", "is_transactional", "on_delivery", "refused", "transaction")

    def __init__(self, config: Mapping[str, Any]) -> None:
        topic = config.get("default.topic.config")
        topic = topic if isinstance(topic, dict) else {}
        acks = "all"
        for name in ("request.required.acks", "acks"):
            acks = config.get(name, topic.get(name, acks))
        self.acked = status_of_acks(acks)
        self.on_delivery = config.get("on_delivery", config.get("dr_cb"))
        self.is_transactional = bool(config.get("transactional.id"))
        self.transaction: Transaction | None = None
        # The last message that was refused because the queue was full: its row, topic, key and value.
        self.refused: tuple[int, Any, Any, Any] | None = None


def _producer_class(module: Any, recorder: Recorder, version: str) -> type:
    base: Any = module.Producer
    base_produce = base.produce
    base_batch = getattr(base, "produce_batch", None)
    too_large = module.KafkaError.MSG_SIZE_TOO_LARGE
    with_header = recorder.settings.header

    def report(
        state: _ProducerState,
        sends: Sends,
        row: int,
        transaction: Transaction | None,
        theirs: Any,
        error: Any,
        message: Any,
    ) -> Any:
        """Called by the library with the outcome of a message; calls the program's own callback in turn."""
        try:
            if error is not None:
                sends.failed(row, _text(error))
            else:
                offset = message.offset()
                sends.delivered(row, state.acked, message.partition(), -1 if offset is None else offset, transaction)
        except Exception as failure:
            recorder.give_up(failure)
        if theirs is not None:
            return theirs(error, message)
        return None

    def prepare(state: _ProducerState, args: tuple[Any, ...], more: dict[str, Any]) -> tuple[Sends, int] | None:
        """Write the row of a message, and change the arguments by name so that its outcome is reported.

        None where the library will refuse the arguments, or nothing can be recorded.
        """
        given = len(args)
        topic = args[0] if given else more.get("topic")
        value = args[1] if given > 1 else more.get("value")
        key = args[2] if given > 2 else more.get("key")
        if not isinstance(topic, str) or not isinstance(value, _TEXT) or not isinstance(key, _TEXT):
            return None
        sends = recorder.sends()
        if sends is None:
            return None
        transaction = state.transaction
        refused = state.refused
        if refused is not None and refused[1:] == (topic, key, value):
            row = refused[0]
            sends.reopen(row)
        else:
            row = sends.add(topic, key, value, transaction)
        state.refused = None
        theirs = more.pop("callback", None)
        if theirs is None:
            theirs = more.get("on_delivery")
            if theirs is None:
                theirs = state.on_delivery
        more["on_delivery"] = partial(report, state, sends, row, transaction, theirs)
        if with_header:
            headers = more.get("headers")
            ours = (HEADER, sends.header(row))
            if headers is None:
                more["headers"] = [ours]
            elif isinstance(headers, list):
                more["headers"] = [*without_header(headers), ours]
            elif isinstance(headers, dict):
                more["headers"] = [*without_header(headers.items()), ours]
        return sends, row

    class Producer(base):  # type: ignore[misc]
        __slots__ = ("_s2g",)

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            try:
                config = _config(args, kwargs)
                self._s2g = _ProducerState(config)
                recorder.note("client", library=LIBRARY, version=version, role="producer")
                if str(config.get("delivery.report.only.error")).lower() == "true":
                    recorder.note_unrecorded(
                        "which messages were acknowledged",
                        "delivery.report.only.error hides it from the program",
                        "leave that setting out",
                    )
            except Exception as error:
                recorder.give_up(error)

        def produce(self, *args: Any, **kwargs: Any) -> Any:
            state: Any = getattr(self, "_s2g", None)
            prepared, plain, more = None, args, {**kwargs}
            if state is not None and not recorder.is_off:
                try:
                    if len(args) > _UP_TO_KEY:
                        plain, more = (), _named(_PRODUCE, args, kwargs)
                    prepared = prepare(state, plain, more)
                except (UnicodeError, TypeError, IndexError, KeyError):
                    prepared = None  # the library says what is wrong with the arguments
                except Exception as error:
                    recorder.give_up(error)
            if prepared is None:
                return base_produce(self, *args, **kwargs)
            sends, row = prepared
            try:
                return base_produce(self, *plain, **more)
            except BufferError:
                sends.failed(row, "BufferError: the queue of Kafka's client is full")
                named = _named(_PRODUCE, args, kwargs)
                state.refused = (row, named.get("topic"), named.get("key"), named.get("value"))
                raise
            except Exception as error:
                if with_header and _is_too_large(error, too_large):
                    # Our header may be what made it too large.
                    theirs = _named(_PRODUCE, args, kwargs).get("headers")
                    try:
                        return base_produce(self, *plain, **{**more, "headers": theirs})
                    except Exception:
                        sends.failed(row, _text(error))
                        raise
                sends.failed(row, _text(error))
                raise

        if base_batch is not None:

            def produce_batch(self, *args: Any, **kwargs: Any) -> Any:
                state: Any = getattr(self, "_s2g", None)
                try:
                    named = _named(_BATCH, args, kwargs)
                except TypeError:
                    return base_batch(self, *args, **kwargs)
                messages: Any = named.get("messages")
                if state is None or recorder.is_off or not _are_messages(messages):
                    return base_batch(self, *args, **kwargs)
                common = named.get("callback")
                common = named.get("on_delivery") if common is None else common
                try:
                    prepared = [_prepare_one(state, named["topic"], given, common) for given in messages]
                except Exception as error:
                    recorder.give_up(error)
                    return base_batch(self, *args, **kwargs)
                named["messages"] = [copy for _, _, copy in prepared]
                failure: BaseException | None = None
                try:
                    return base_batch(self, **named)
                except BaseException as error:
                    failure = error
                    raise
                finally:
                    for given, (sends, row, copy) in zip(messages, prepared):
                        refused = copy.get("_error")
                        if refused is not given.get("_error"):
                            given["_error"] = refused
                            sends.failed(row, _text(refused))
                        elif failure is not None:
                            # A report that comes all the same takes the place of this.
                            sends.failed(row, _text(failure))

        def begin_transaction(self, *args: Any, **kwargs: Any) -> Any:
            result = super().begin_transaction(*args, **kwargs)
            if hasattr(self, "_s2g"):
                self._s2g.transaction = Transaction()
            return result

        def commit_transaction(self, *args: Any, **kwargs: Any) -> Any:
            result = super().commit_transaction(*args, **kwargs)
            recorder.settle(getattr(self, "_s2g", None), True)
            return result

        def abort_transaction(self, *args: Any, **kwargs: Any) -> Any:
            result = super().abort_transaction(*args, **kwargs)
            recorder.settle(getattr(self, "_s2g", None), False)
            return result

    def _prepare_one(
        state: _ProducerState, topic: str, given: dict[str, Any], common: Any
    ) -> tuple[Sends, int, dict[str, Any]]:
        """One message of a batch, which can have no headers."""
        sends = recorder.sends()
        if sends is None:
            raise RecordFull("the record was given up")
        row = sends.add(topic, given.get("key"), given.get("value"), state.transaction)
        theirs = given.get("callback")
        theirs = common if theirs is None else theirs
        theirs = state.on_delivery if theirs is None else theirs
        copy = {**given, "callback": partial(report, state, sends, row, state.transaction, theirs)}
        return sends, row, copy

    return _disguise(Producer, base)


def _are_messages(messages: Any) -> bool:
    """Whether these are messages of a batch that the library will accept."""
    return isinstance(messages, list) and all(
        isinstance(one, dict) and isinstance(one.get("value"), _TEXT) and isinstance(one.get("key"), _TEXT)
        for one in messages
    )


def _is_too_large(error: Exception, code: int) -> bool:
    cause: Any = error.args[0] if error.args else None
    return hasattr(cause, "code") and callable(cause.code) and cause.code() == code


def _consumer_class(module: Any, recorder: Recorder, version: str) -> type:
    base: Any = module.Consumer
    base_poll, base_consume = base.poll, base.consume

    end_of_partition = module.KafkaError._PARTITION_EOF

    def record(member: GroupMember, messages: list[Any]) -> None:
        """Write a row for each message, and take our header off it."""
        receipts, at_ns = recorder.receipts(member.group), now_ns()
        for message in messages:
            error = message.error()
            if error is not None:
                if error.code() == end_of_partition and not recorder.is_off:
                    member.begin((message.topic(), message.partition()), message.offset())
                continue
            headers, ours, found = message.headers(), None, False
            if headers:
                ours, found = take_header(headers)
            if receipts is not None:
                place = (message.topic(), message.partition())
                if not member.begun.get(place):
                    member.hand_over(place)
                kind, broker_ms = message.timestamp()
                receipts.add(
                    at_ns, message.topic(), message.partition(), message.offset(), broker_ms if kind else -1,
                    message.key(), message.value(), ours,
                )  # fmt: skip
            if found:
                message.set_headers(without_header(headers) or None)

    def commit_listener(theirs: Any) -> Any:
        def on_commit(error: Any, partitions: Any) -> Any:
            if error is None:
                note_commit(partitions)
            return None if theirs is None else theirs(error, partitions)

        return on_commit

    def note_commit(partitions: Any) -> None:
        try:
            if partitions and not recorder.is_off:
                recorder.committed(
                    (place.topic, place.partition, place.offset) for place in partitions if place.error is None
                )
        except Exception as error:
            recorder.give_up(error)

    def is_end(message: Any) -> bool:
        error = message.error()
        return error is not None and error.code() == end_of_partition

    class Consumer(base):  # type: ignore[misc]
        __slots__ = ("_s2g", "_s2g_hides_ends", "_s2g_rebalancing")

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            config = _config(args, kwargs)
            theirs = config.get("on_commit")
            more: dict[str, Any] = {}
            if not recorder.is_off and ("on_commit" not in config or callable(theirs)):
                more["on_commit"] = commit_listener(theirs)
            # A consumer that begins at the end of a log is told where that is, because the log ends there. The
            # program gets no such message unless it asked for them.
            hides_ends = not recorder.is_off and _begins_at_end(config) and not _tells_ends(config)
            if hides_ends:
                more["enable.partition.eof"] = True
            if args and isinstance(args[0], dict):
                args = ({**args[0], **more}, *args[1:])
                kwargs = {name: value for name, value in kwargs.items() if name not in more}
            elif not args:
                kwargs.update(more)
            else:
                hides_ends = False
            super().__init__(*args, **kwargs)
            self._s2g_hides_ends = hides_ends
            try:
                self._s2g = GroupMember(recorder, str(config.get("group.id") or recorder.settings.group))
                self._s2g_rebalancing = False
                recorder.note(
                    "client", library=LIBRARY, version=version, role="consumer", group=self._s2g.group,
                    start="latest" if _begins_at_end(config) else "earliest",
                    isolation=str(config.get("isolation.level", "read_committed")),
                )  # fmt: skip
            except Exception as error:
                recorder.give_up(error)

        def poll(self, *args: Any, **kwargs: Any) -> Any:
            if getattr(self, "_s2g_hides_ends", False):
                return self._s2g_poll(*args, **kwargs)
            message = base_poll(self, *args, **kwargs)
            if message is not None:
                try:
                    record(self._s2g, [message])
                except Exception as error:
                    recorder.give_up(error)
            return message

        def _s2g_poll(self, timeout: Any = None) -> Any:
            """Poll for as long as the program asked, over ends of partitions, of which it must not hear."""
            ends_s = None if timeout is None or timeout < 0 else time.monotonic() + timeout
            message = base_poll(self) if timeout is None else base_poll(self, timeout)
            while message is not None:
                try:
                    record(self._s2g, [message])
                except Exception as error:
                    recorder.give_up(error)
                if not is_end(message):
                    break
                message = base_poll(self) if ends_s is None else base_poll(self, max(0.0, ends_s - time.monotonic()))
            return message

        def _s2g_consume(self, num_messages: Any = 1, timeout: Any = -1) -> Any:
            """Consume for as long as the program asked, over ends of partitions, of which it must not hear."""
            ends_s = None if timeout < 0 else time.monotonic() + timeout
            messages: list[Any] = []
            wanted = num_messages
            while True:
                found = base_consume(self, wanted, timeout)
                try:
                    record(self._s2g, found)
                except Exception as error:
                    recorder.give_up(error)
                kept = [message for message in found if not is_end(message)]
                messages += kept
                if len(kept) == len(found) or len(found) < wanted:
                    return messages
                # Ends took the places of messages.
                wanted = num_messages - len(messages)
                timeout = timeout if ends_s is None else max(0.0, ends_s - time.monotonic())

        def consume(self, *args: Any, **kwargs: Any) -> Any:
            if getattr(self, "_s2g_hides_ends", False):
                return self._s2g_consume(*args, **kwargs)
            messages = base_consume(self, *args, **kwargs)
            if messages:
                try:
                    record(self._s2g, messages)
                except Exception as error:
                    recorder.give_up(error)
            return messages

        def commit(self, *args: Any, **kwargs: Any) -> Any:
            result = super().commit(*args, **kwargs)
            if result is not None:  # only a synchronous commit tells what it committed
                note_commit(result)
            return result

        def subscribe(self, *args: Any, **kwargs: Any) -> Any:
            try:
                named = _named(_SUBSCRIBE, args, kwargs)
            except TypeError:
                return super().subscribe(*args, **kwargs)
            if recorder.is_off or not hasattr(self, "_s2g"):
                return super().subscribe(*args, **kwargs)
            for name in ("on_assign", "on_revoke"):
                if name not in named or callable(named[name]):
                    named[name] = partial(self._s2g_rebalance, name, named.get(name))
            result = super().subscribe(**named)
            self._s2g_note("subscribed", topics=list(named["topics"]))
            return result

        def _s2g_rebalance(self, name: str, theirs: Any, consumer: Any, partitions: Any) -> Any:
            """Note what the group gave or took. Without a call of the program's the library assigns by itself."""
            event = "assigned" if name == "on_assign" else "revoked"
            self._s2g_note(event, partitions=[(place.topic, place.partition, place.offset) for place in partitions])
            self._s2g.forget((place.topic, place.partition) for place in partitions)
            self._s2g_rebalancing = True
            try:
                return None if theirs is None else theirs(consumer, partitions)
            finally:
                self._s2g_rebalancing = False

        def assign(self, *args: Any, **kwargs: Any) -> Any:
            return self._s2g_assign(super().assign, args, kwargs)

        def incremental_assign(self, *args: Any, **kwargs: Any) -> Any:
            return self._s2g_assign(super().incremental_assign, args, kwargs)

        def _s2g_assign(self, theirs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            """Note what the program assigns to itself, and where it wants to begin in what it was given."""
            result = theirs(*args, **kwargs)
            given = list(args[0] if args else kwargs.get("partitions", ()))
            places = [(place.topic, place.partition, place.offset) for place in given]
            if not getattr(self, "_s2g_rebalancing", True):
                self._s2g_note("assigned", partitions=places)
                self._s2g.forget((topic, number) for topic, number, _ in places)
            self._s2g_choose(places)
            return result

        def seek(self, *args: Any, **kwargs: Any) -> Any:
            result = super().seek(*args, **kwargs)
            place: Any = args[0] if args else kwargs.get("partition")
            self._s2g_choose([(place.topic, place.partition, place.offset)])
            return result

        def _s2g_choose(self, places: Iterable[tuple[str, int, int]]) -> None:
            """The program names an offset, or one of the ends of a partition, to go on from."""
            member: GroupMember | None = getattr(self, "_s2g", None)
            if member is None or recorder.is_off:
                return
            try:
                for topic, number, offset in places:
                    if offset >= _BEGINNING:
                        member.sought.add((topic, number))
                    if offset >= 0 or offset == _BEGINNING:
                        member.begin((topic, number), max(0, offset))
            except Exception as error:
                recorder.give_up(error)

        def _s2g_note(self, event: str, **details: Any) -> None:
            try:
                recorder.note(event, group=self._s2g.group, **details)
            except Exception as error:
                recorder.give_up(error)

    return _disguise(Consumer, base)


def _begins_at_end(config: Mapping[str, Any]) -> bool:
    """Whether a consumer begins at the end of a log where its group has committed nothing, as by default."""
    topic = config.get("default.topic.config")
    start = config.get("auto.offset.reset", topic.get("auto.offset.reset") if isinstance(topic, dict) else None)
    return str(start or "largest") not in (*_FROM_BEGINNING, "error")


def _tells_ends(config: Mapping[str, Any]) -> bool:
    """Whether the program wants to be told that it came to the end of a partition."""
    return str(config.get("enable.partition.eof", False)).lower() in ("true", "1")


def _share_consumer_class(base: Any, recorder: Recorder) -> type:
    class ShareConsumer(base):  # type: ignore[misc]
        __slots__ = ()

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            recorder.note_unrecorded("what share consumers receive", "share groups are not known", "use a Consumer")

    return _disguise(ShareConsumer, base)
