"""What packets of real clients of a real broker say is what the clients said that they did."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream2gym.packets.tcp import FIN, RST, SYN, Segment
from stream2gym.record.messages import hash64
from tests.support.decoding import DATA, decode, places, said, segments, told_places

WHOLE = sorted(path.stem for path in DATA.glob("*.json") if "received" in said(path.stem))
COMPRESSED = [name for name in WHOLE if name.startswith("librdkafka-")]


@pytest.mark.parametrize("name", WHOLE)
def test_what_was_acknowledged_and_fetched_is_what_the_client_says(name: str) -> None:
    told = said(name)
    found = decode(segments(name), told["port"])
    assert {row["status"] for row in found.sent} == {"acked"}
    assert {row["topic"] for row in found.sent} == {told["topic"]}
    assert places(found.sent) == told_places(told["sent"])
    assert list(found.received) == [told["group"]]
    assert places(found.received[told["group"]]) == told_places(told["received"])
    assert not found.problems
    assert found.headless == 0


def test_there_is_a_recording_of_every_compression() -> None:
    assert len(COMPRESSED) == 5


@pytest.mark.parametrize("name", WHOLE)
def test_a_message_was_sent_before_it_was_acknowledged_and_that_before_it_was_fetched(name: str) -> None:
    told = said(name)
    found = decode(segments(name), told["port"])
    fetched = {(row["partition"], row["offset"]): row["at_ns"] for row in found.received[told["group"]]}
    for row in found.sent:
        assert row["due_ns"] == row["sent_ns"] < row["done_ns"]
        assert row["sent_ns"] < fetched[row["partition"], row["offset"]]


def test_messages_of_a_transaction_are_acknowledged_when_it_is_committed_and_failed_when_it_is_aborted() -> None:
    told = said("transactions")
    found = decode(segments("transactions"), told["port"])
    expected = Counter(
        (hash64(value.encode()), "acked" if committed else "failed") for committed, value in told["sent"]
    )
    assert Counter((row["value_hash"], row["status"]) for row in found.sent) == expected
    assert {row["error"] for row in found.sent if row["status"] == "failed"} == {"transaction aborted"}
    assert not found.problems


def test_a_transaction_whose_end_nobody_heard_leaves_its_messages_unanswered() -> None:
    told = said("transactions")
    packets = segments("transactions")
    first_fetch = next(at for at, one in enumerate(packets) if b"g-committed" in one.data)
    last_end = max(at for at, one in enumerate(packets[:first_fetch]) if b"tx" in one.data)
    found = decode(packets[:last_end], told["port"])
    assert Counter(row["status"] for row in found.sent) == {"acked": 5, "failed": 5, "queued": 5}


def test_an_aborted_transaction_is_fetched_only_by_those_who_do_not_wait_for_commits() -> None:
    told = said("transactions")
    found = decode(segments("transactions"), told["port"])
    assert len(told["committed"]) == 10
    assert len(told["everything"]) == 15
    assert places(found.received["g-committed"]) == told_places(told["committed"])
    assert places(found.received["g-all"]) == told_places(told["everything"])


def test_without_acknowledgements_messages_are_unconfirmed() -> None:
    told = said("acks-0")
    found = decode(segments("acks-0"), told["port"])
    assert {row["status"] for row in found.sent} == {"unconfirmed"}
    assert {row["offset"] for row in found.sent} == {-1}
    values = Counter(hash64(value.encode()) for _, _, _, value in told["sent"])
    assert Counter(row["value_hash"] for row in found.sent) == values


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1 << 32), longest=st.integers(1, 1500))
@pytest.mark.parametrize("name", ["librdkafka-zstd", "kafka-python"])
def test_small_segments_retransmissions_and_another_order_change_nothing(name: str, seed: int, longest: int) -> None:
    told = said(name)
    found = decode(mangled(segments(name), random.Random(seed), longest), told["port"])
    assert places(found.sent) == told_places(told["sent"])
    assert {row["status"] for row in found.sent} == {"acked"}
    assert places(found.received[told["group"]]) == told_places(told["received"])
    assert not found.problems


def mangled(packets: list[Segment], draw: random.Random, longest: int) -> list[Segment]:
    """The same connections as seen through a bad network: segments cut, repeated, and in another order.

    What the other side said in between stays where it was, because nobody acknowledges what has not come.
    """
    found: list[Segment] = []
    run: list[Segment] = []
    for segment in packets:
        if run and ((run[0].source, run[0].target) != (segment.source, segment.target) or is_edge(segment)):
            found += shuffled(run, draw, longest)
            run = []
        if is_edge(segment):
            found.append(segment)
        else:
            run.append(segment)
    return found + shuffled(run, draw, longest)


def is_edge(segment: Segment) -> bool:
    return bool(segment.flags & (SYN | FIN | RST))


def shuffled(run: list[Segment], draw: random.Random, longest: int) -> list[Segment]:
    pieces = []
    for segment in run:
        data = segment.data
        parts = [data[at : at + longest] for at in range(0, len(data), longest)] or [b""]
        for number, part in enumerate(parts):
            pieces.append(segment._replace(number=(segment.number + number * longest) % (1 << 32), data=part))
    pieces += draw.sample(pieces, len(pieces) // 3)
    draw.shuffle(pieces)
    at_ns = [segment.at_ns for segment in run[:1]]
    return [piece._replace(at_ns=at_ns[0]) for piece in pieces]


def test_a_connection_that_began_before_the_capture_is_counted_and_not_guessed_at() -> None:
    told = said("librdkafka-none")
    packets = [one for one in segments("librdkafka-none") if not one.flags & SYN]
    found = decode(packets, told["port"])
    assert found.sent == []
    assert found.received == {}
    assert found.headless > 0


def test_a_response_that_the_client_never_acknowledged_was_not_received() -> None:
    told = said("librdkafka-none")
    packets = segments("librdkafka-none")
    carrying = max(at for at, one in enumerate(packets) if one.source[1] == told["port"] and len(one.data) > 1000)
    client = packets[carrying].target
    silent = [one for at, one in enumerate(packets) if at < carrying or one.source != client]
    received = decode(silent, told["port"]).received[told["group"]]
    assert 0 < len(received) < len(told["received"])


def test_a_segment_that_was_acknowledged_and_not_captured_is_a_problem_of_that_client() -> None:
    told = said("librdkafka-none")
    packets = segments("librdkafka-none")
    lost = next(at for at, one in enumerate(packets) if one.target[1] == told["port"] and len(one.data) > 2000)
    found = decode([*packets[:lost], *packets[lost + 1 :]], told["port"])
    assert len(found.sent) < len(told["sent"])
    assert found.problems == {"bytes are missing in the capture": 1}


def test_a_produce_request_without_a_response_leaves_its_messages_unanswered() -> None:
    told = said("librdkafka-none")
    packets = segments("librdkafka-none")
    sent = next(at for at, one in enumerate(packets) if one.target[1] == told["port"] and len(one.data) > 2000)
    found = decode(packets[: sent + 1], told["port"])
    assert found.sent
    assert {row["status"] for row in found.sent} == {"queued"}
