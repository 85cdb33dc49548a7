"""Messages that carry no header of ours are recognised by their places in the log, when the record is sealed.

A producer that was observed from outside could not put a header into its messages. Kafka told it the place of every
message that it acknowledged, and whoever received the message says the same place. Key and value must be the same,
too, because a broker that lost messages gives their places to others. The journal of such a producer says
``header: false``. The file beside it (``TIMES_SUFFIX``) holds the timestamp of every message, eight bytes each, as
its complement where the message was sent more than once.

Two kinds of messages are found in the log at places that nobody was told: those without an acknowledgement, and
copies of one that was sent again. They are recognised by topic, timestamp, key and value. Of several that are the
same in all of these, the first in the log is the first that was sent, and so on; what then is left over in the log
are copies of the last one.

A message may carry the header of another one that its program has read and forwards. The file ``FORWARDED_SUFFIX``
holds the row numbers of such messages, eight bytes each. They are recognised by their places, too, whatever their
header says. It does not name those of topics into which the experiment follows that header.

Places are held in memory, about 70 bytes a message of such producers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stream2gym.record.columns import BLOCK_ROWS, Columns, read_columns
from stream2gym.record.journal import WITH_KEY, Reader
from stream2gym.record.messages import first_seq

HEADER_KEY = "header"
TIMES_SUFFIX = ".times"
FORWARDED_SUFFIX = ".forwarded"
_PLACE = ["topic", "partition", "offset"]
_CONTENT = ["key_hash", "value_hash", "with_key"]
_STANDING = [*_PLACE, *_CONTENT]
_SAME = ["topic", "time_ms", *_CONTENT]
_KNOWN = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("key_hash", pa.int64()),
        ("value_hash", pa.int64()),
        ("with_key", pa.uint8()),
        ("producer", pa.string()),
        ("seq", pa.int64()),
        ("is_forwarded", pa.bool_()),
    ]
)


def has_header(reader: Reader) -> bool:
    """Whether the messages of a sent journal carry the header ``s2g``."""
    return bool(reader.identity.extra.get(HEADER_KEY, True))


class UnmarkedMessages:
    """Who sent the messages that carry no header, by their places in the log."""

    def __init__(self, sent: Sequence[Reader], received: Sequence[Reader]) -> None:
        told, untold = [], []
        for reader in sent:
            for rows in _sent_rows(reader):
                is_told = pc.greater_equal(rows["offset"], 0)
                told.append(rows.filter(is_told).select(_KNOWN.names))
                untold.append(rows.filter(pc.or_(pc.invert(is_told), rows["is_resent"])))
        self._known = _last_of_each(pa.concat_tables(told)) if told else _KNOWN.empty_table()
        candidates = pa.concat_tables(untold) if untold else None
        if candidates is not None and candidates.num_rows:
            self._known = pa.concat_tables([self._known, self._recognise(candidates, received)])

    def __bool__(self) -> bool:
        return bool(self._known.num_rows)

    def find(self, topic: Any, raw: Columns) -> tuple[Any, Any, Any]:
        """Producer and number of the message of each receipt; null where none of these producers sent it.

        Then, whether the message was sent with the header of another one. ``topic`` are the names of topics, ``raw``
        the columns of the journal.
        """
        rows = pa.table(
            {
                "topic": topic.cast(pa.string()),
                **{name: raw[name] for name in ("partition", "offset", "key_hash", "value_hash")},
                "with_key": _with_key(raw),
            }
        )
        found = _in_order(rows, self._known, _STANDING)
        is_forwarded = pc.fill_null(found["is_forwarded"], False)
        return found["producer"].combine_chunks(), found["seq"].combine_chunks(), is_forwarded.combine_chunks()

    def _recognise(self, candidates: Any, received: Sequence[Reader]) -> Any:
        """The places at which messages were received that nobody was told of, with the messages they are."""
        topics = pc.unique(candidates["topic"])
        found = []
        for reader in received:
            for rows in _received_rows(reader, topics):
                places = _in_order(rows, self._known, _STANDING)
                found.append(_different(places.filter(pc.is_null(places["producer"])), [*_STANDING, "time_ms"]))
        if not found:
            return _KNOWN.empty_table()
        strange = _different(pa.concat_tables(found), [*_STANDING, "time_ms"])
        copies: dict[tuple[Any, ...], list[tuple[str, int]]] = {}
        alike = _in_order(
            candidates.select([*_SAME, "producer", "seq"]), strange.group_by(_SAME).aggregate([]), _SAME
        )
        for row in alike.sort_by([("producer", "ascending"), ("seq", "ascending")]).to_pylist():
            copies.setdefault(tuple(row[name] for name in _SAME), []).append((row["producer"], row["seq"]))
        rows = []
        taken: dict[tuple[Any, ...], int] = {}
        for row in strange.sort_by([("partition", "ascending"), ("offset", "ascending")]).to_pylist():
            same = tuple(row[name] for name in _SAME)
            messages = copies.get(same)
            if messages is not None:
                number = taken.get(same, 0)
                taken[same] = number + 1
                producer, seq = messages[min(number, len(messages) - 1)]
                sender = {"producer": producer, "seq": seq, "is_forwarded": False}
                rows.append({name: row[name] for name in _STANDING} | sender)
        return pa.Table.from_pylist(rows, _KNOWN)


def _in_order(rows: Any, known: Any, keys: list[str]) -> Any:
    """The rows, in their order, with what is known under the same keys."""
    numbered = rows.append_column("row", pa.array(range(rows.num_rows), pa.int64()))
    return numbered.join(known, keys, join_type="left outer").sort_by("row")


def _different(rows: Any, names: list[str]) -> Any:
    """The different values of some columns."""
    return rows.select(names).group_by(names).aggregate([])


def _last_of_each(known: Any) -> Any:
    """Of messages with the same content that were acknowledged at the same place the last one: it took the place."""
    if _different(known, _STANDING).num_rows == known.num_rows:
        return known
    names = ("producer", "seq", "is_forwarded")
    last = known.group_by(_STANDING, use_threads=False).aggregate([(name, "last") for name in names])
    return last.rename_columns(_KNOWN.names)


def _texts(reader: Reader, numbers: Any) -> Any:
    """Texts by their numbers; a number whose text never reached the disk is null."""
    texts = reader.strings()
    return pc.take(pa.array(texts), pc.if_else(pc.less(numbers, len(texts)), numbers.cast(pa.int32()), None))


def _with_key(columns: Columns) -> Any:
    """Whether messages have a key."""
    return pc.bit_wise_and(columns["mark"], pa.scalar(WITH_KEY, pa.uint8()))


def _sent_rows(reader: Reader) -> Iterator[Any]:
    who, start = reader.identity, 0
    first = first_seq(who.instance, who.incarnation)
    forwarded = _forwarded_rows(reader.path)
    for block in reader.blocks(BLOCK_ROWS):
        columns = read_columns(
            reader, block, ("topic", "partition", "offset", "status", "key_hash", "value_hash", "mark")
        )
        count = len(columns["mark"])
        times = _times(reader.path, start, count)
        is_unreported = pc.equal(columns["status"], 0)
        yield pa.table(
            {
                "topic": _texts(reader, columns["topic"]),
                "partition": columns["partition"],
                "offset": pc.if_else(is_unreported, -1, columns["offset"]),
                "producer": pa.repeat(pa.scalar(who.name), count),
                "seq": pa.array(range(first + start, first + start + count), pa.int64()),
                "time_ms": pc.if_else(pc.less(times, 0), pc.bit_wise_not(times), times),
                "is_resent": pc.less(times, 0),
                "key_hash": columns["key_hash"],
                "value_hash": columns["value_hash"],
                "with_key": _with_key(columns),
                "is_forwarded": pc.is_in(pa.array(range(start, start + count), pa.int64()), forwarded),
            }
        )
        start += count


def _forwarded_rows(path: Path) -> Any:
    """The numbers of the rows whose messages carry the header of another one."""
    try:
        data = path.with_suffix(FORWARDED_SUFFIX).read_bytes()
    except OSError:
        data = b""
    return pa.Array.from_buffers(pa.int64(), len(data) // 8, [None, pa.py_buffer(data)])


def _times(path: Path, start: int, count: int) -> Any:
    """The timestamps of some rows; 0 for those that have none on the disk."""
    try:
        with path.with_suffix(TIMES_SUFFIX).open("rb") as file:
            file.seek(start * 8)
            data = file.read(count * 8)
    except OSError:
        data = b""
    data += bytes(count * 8 - len(data))
    return pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(data)])


def _received_rows(reader: Reader, topics: Any) -> Iterator[Any]:
    """Receipts without a header, from these topics."""
    names = ("topic", "partition", "offset", "producer", "broker_ms", "key_hash", "value_hash", "mark")
    for block in reader.blocks(BLOCK_ROWS):
        columns = read_columns(reader, block, names)
        rows = pa.table(
            {
                "topic": _texts(reader, columns["topic"]),
                "partition": columns["partition"],
                "offset": columns["offset"],
                "time_ms": columns["broker_ms"],
                "key_hash": columns["key_hash"],
                "value_hash": columns["value_hash"],
                "with_key": _with_key(columns),
            }
        )
        wanted = pc.and_(pc.equal(columns["producer"], 0), pc.is_in(rows["topic"], topics))
        yield rows.filter(wanted)
