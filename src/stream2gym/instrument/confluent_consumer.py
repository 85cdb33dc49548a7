"""The recording consumer of confluent-kafka."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from .confluent_arguments import LIBRARY, disguise, name_arguments, read_config
from .group_member import GroupMember
from .recorder import Recorder, now_ns, take_header, without_header

_SUBSCRIBE = ("topics", "on_assign", "on_revoke", "on_lost")
_BEGINNING, _END = -2, -1  # as offsets: both ends of a partition
_FROM_BEGINNING = ("smallest", "earliest", "beginning")


def make_consumer_class(module: Any, recorder: Recorder, version: str) -> type:
    """A consumer that records what it hands over, to stand for the one of the library."""
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
            config = read_config(args, kwargs)
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
                named = name_arguments(_SUBSCRIBE, args, kwargs)
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

    return disguise(Consumer, base)


def _begins_at_end(config: Mapping[str, Any]) -> bool:
    """Whether a consumer begins at the end of a log where its group has committed nothing, as by default."""
    topic = config.get("default.topic.config")
    start = config.get("auto.offset.reset", topic.get("auto.offset.reset") if isinstance(topic, dict) else None)
    return str(start or "largest") not in (*_FROM_BEGINNING, "error")


def _tells_ends(config: Mapping[str, Any]) -> bool:
    """Whether the program wants to be told that it came to the end of a partition."""
    return str(config.get("enable.partition.eof", False)).lower() in ("true", "1")


def make_share_consumer_class(base: Any, recorder: Recorder) -> type:
    """A share consumer that says that it is not recorded."""

    class ShareConsumer(base):  # type: ignore[misc]
        __slots__ = ()

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            recorder.note_unrecorded("what share consumers receive", "share groups are not known", "use a Consumer")

    return disguise(ShareConsumer, base)
