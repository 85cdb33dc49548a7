"""The recording producer of confluent-kafka."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ..record.journal import RecordFull
from ..record.messages import HEADER
from .confluent_arguments import LIBRARY, disguise, error_text, name_arguments, read_config
from .recorder import Recorder, Sends, Transaction, status_of_acks, without_header

_PRODUCE = ("topic", "value", "key", "partition", "callback", "on_delivery", "timestamp", "headers")
_UP_TO_KEY = 3  # so many arguments may stand without names where recording is to be quick
_BATCH = ("topic", "messages", "partition", "callback", "on_delivery")
_TEXT = (bytes, str, type(None))


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


def make_producer_class(module: Any, recorder: Recorder, version: str) -> type:
    """A producer that records what it sends, to stand for the one of the library."""
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
                sends.failed(row, error_text(error))
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
                config = read_config(args, kwargs)
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
                        plain, more = (), name_arguments(_PRODUCE, args, kwargs)
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
                named = name_arguments(_PRODUCE, args, kwargs)
                state.refused = (row, named.get("topic"), named.get("key"), named.get("value"))
                raise
            except Exception as error:
                if with_header and _is_too_large(error, too_large):
                    # Our header may be what made it too large.
                    theirs = name_arguments(_PRODUCE, args, kwargs).get("headers")
                    try:
                        return base_produce(self, *plain, **{**more, "headers": theirs})
                    except Exception:
                        sends.failed(row, error_text(error))
                        raise
                sends.failed(row, error_text(error))
                raise

        if base_batch is not None:

            def produce_batch(self, *args: Any, **kwargs: Any) -> Any:
                state: Any = getattr(self, "_s2g", None)
                try:
                    named = name_arguments(_BATCH, args, kwargs)
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
                            sends.failed(row, error_text(refused))
                        elif failure is not None:
                            # A report that comes all the same takes the place of this.
                            sends.failed(row, error_text(failure))

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

    return disguise(Producer, base)


def _are_messages(messages: Any) -> bool:
    """Whether these are messages of a batch that the library will accept."""
    return isinstance(messages, list) and all(
        isinstance(one, dict) and isinstance(one.get("value"), _TEXT) and isinstance(one.get("key"), _TEXT)
        for one in messages
    )


def _is_too_large(error: Exception, code: int) -> bool:
    cause: Any = error.args[0] if error.args else None
    return hasattr(cause, "code") and callable(cause.code) and cause.code() == code
