"""Messages, attempts and groups of a client, as its connections tell them."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from stream2gym.packets import observed_client
from stream2gym.packets.conversation import Produced
from stream2gym.packets.observed_client import ObservedClient
from stream2gym.packets.record_batch import Record
from stream2gym.packets.tcp import Segment
from tests.support.decoding import Decoded
from tests.support.decoding import decode as decode_port
from tests.support.kafka_bytes import (
    CLIENT,
    PORT,
    Dialogue,
    batch,
    fetch_request,
    fetch_response,
    frame,
    produce_request,
    produce_response,
    request,
    text,
    varint,
)

ONE, TWO = (b"k", b"one"), (None, b"two")
NOT_LEADER, TOO_LARGE, DUPLICATE_SEQUENCE = 6, 10, 46


def decode(*talks: Dialogue) -> Decoded:
    """The connections one after the other."""
    packets: list[Segment] = []
    for number, talk in enumerate(talks):
        packets += [one._replace(at_ns=one.at_ns + number * 1_000_000) for one in talk.segments]
    return decode_port(packets, PORT)


def dialogue(port: int = 40000) -> Dialogue:
    return Dialogue(client=(CLIENT[0], port))


def statuses(found: Decoded) -> list[tuple[str, int]]:
    return [(row["status"], row["offset"]) for row in found.sent]


def test_a_message_that_is_sent_again_after_the_connection_broke_is_one_message() -> None:
    data = batch([ONE, TWO])
    first = dialogue().ask(produce_request(1, "t", 0, data)).reset()
    second = dialogue(40001).ask(produce_request(1, "t", 0, data)).answer(produce_response(1, "t", 0, 7))
    found = decode(first, second)
    assert statuses(found) == [("acked", 7), ("acked", 8)]
    assert found.sent[0]["sent_ns"] < 1_000_000 < found.sent[0]["done_ns"]


def test_a_message_that_is_sent_again_after_an_error_is_one_message_and_has_the_last_outcome() -> None:
    data = batch([ONE])
    talk = dialogue().ask(produce_request(1, "t", 0, data)).answer(produce_response(1, "t", 0, -1, NOT_LEADER))
    found = decode(talk)
    assert statuses(found) == [("failed", -1)]
    assert found.sent[0]["error"] == "NOT_LEADER_OR_FOLLOWER"
    talk.ask(produce_request(2, "t", 0, data))
    found = decode(talk)
    assert [row["status"] for row in found.sent] == ["queued"]
    assert found.sent[0]["error"] == ""
    talk.answer(produce_response(2, "t", 0, 3))
    assert statuses(decode(talk)) == [("acked", 3)]


def test_messages_that_are_sent_again_in_other_batches_are_the_same_messages() -> None:
    first = dialogue().ask(produce_request(1, "t", 0, batch([ONE, TWO]))).reset()
    second = dialogue(40001)
    second.ask(produce_request(1, "t", 0, batch([TWO]))).answer(produce_response(1, "t", 0, 5))
    second.ask(produce_request(2, "t", 0, batch([ONE]))).answer(produce_response(2, "t", 0, 6))
    assert statuses(decode(first, second)) == [("acked", 6), ("acked", 5)]


def test_the_same_content_once_more_is_another_message_where_the_first_was_acknowledged() -> None:
    talk = dialogue()
    for number in (1, 2):
        talk.ask(produce_request(number, "t", 0, batch([ONE]))).answer(produce_response(number, "t", 0, number))
    assert statuses(decode(talk)) == [("acked", 1), ("acked", 2)]


def test_the_same_content_in_flight_twice_is_two_messages() -> None:
    talk = dialogue().ask(produce_request(1, "t", 0, batch([ONE]))).ask(produce_request(2, "t", 0, batch([ONE])))
    talk.answer(produce_response(1, "t", 0, 4)).answer(produce_response(2, "t", 0, 5))
    assert statuses(decode(talk)) == [("acked", 4), ("acked", 5)]


def test_another_time_another_partition_or_another_topic_makes_another_message() -> None:
    first = dialogue().ask(produce_request(1, "t", 0, batch([ONE], timestamp_ms=1000))).reset()
    for again in (
        produce_request(1, "t", 0, batch([ONE], timestamp_ms=1001)),
        produce_request(1, "t", 1, batch([ONE], timestamp_ms=1000)),
        produce_request(1, "u", 0, batch([ONE], timestamp_ms=1000)),
    ):
        found = decode(first, dialogue(40001).ask(again))
        assert [row["status"] for row in found.sent] == ["queued", "queued"]


def test_identical_messages_of_a_lost_request_are_sent_again_one_for_one() -> None:
    data = batch([ONE, ONE, ONE])
    first = dialogue().ask(produce_request(1, "t", 0, data)).reset()
    second = dialogue(40001).ask(produce_request(1, "t", 0, data)).answer(produce_response(1, "t", 0, 20))
    assert statuses(decode(first, second)) == [("acked", 20), ("acked", 21), ("acked", 22)]


def test_what_the_kernel_still_sends_over_a_connection_that_the_client_gave_up_is_the_same_message() -> None:
    old, new = dialogue(), dialogue(40001)
    old.ask(produce_request(1, "t", 0, batch([ONE])))
    new.ask(produce_request(1, "t", 0, batch([ONE, TWO]))).answer(produce_response(1, "t", 0, 7))
    late = dialogue()
    late.segments = list(old.segments)
    at = len(late.segments)
    old.ask(produce_request(2, "t", 0, batch([TWO])))
    found = decode_port(
        [*late.segments, *(one._replace(at_ns=one.at_ns + 10**6) for one in new.segments), *old.segments[at:]], PORT
    )
    assert statuses(found) == [("acked", 7), ("acked", 8)]


def test_without_acknowledgements_nothing_is_sent_again_so_the_same_content_is_another_message() -> None:
    first = dialogue().ask(produce_request(1, "t", 0, batch([ONE]), acks=0)).reset()
    second = dialogue(40001).ask(produce_request(1, "t", 0, batch([ONE]), acks=0))
    assert [row["status"] for row in decode(first, second).sent] == ["unconfirmed", "unconfirmed"]


def test_only_so_many_messages_are_remembered_in_case_they_are_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = dialogue().ask(produce_request(1, "t", 0, batch([ONE, TWO, ONE]))).reset()
    second = dialogue(40001).ask(produce_request(1, "t", 0, batch([ONE, TWO, ONE])))
    assert len(decode(first, second).sent) == 3
    monkeypatch.setattr(observed_client, "_REMEMBERED", 1)
    assert len(decode(first, second).sent) > 3


def test_messages_are_remembered_only_as_long_as_clients_try(monkeypatch: pytest.MonkeyPatch) -> None:
    first = dialogue().ask(produce_request(1, "t", 0, batch([ONE]))).reset()
    between = dialogue(40001).ask(produce_request(1, "t", 0, batch([TWO])))
    again = dialogue(40002).ask(produce_request(1, "t", 0, batch([ONE])))
    assert len(decode(first, between, again).sent) == 2
    monkeypatch.setattr(observed_client, "_REMEMBERED_NS", 500_000)
    assert len(decode(first, between, again).sent) == 3


def test_a_broker_that_has_the_batch_already_acknowledges_it_without_a_place() -> None:
    talk = dialogue().ask(produce_request(1, "t", 0, batch([ONE])))
    assert statuses(decode(talk.answer(produce_response(1, "t", 0, 9, DUPLICATE_SEQUENCE)))) == [("acked", -1)]


def test_a_batch_that_is_refused_for_good_is_failed() -> None:
    talk = dialogue().ask(produce_request(1, "t", 0, batch([ONE]))).answer(produce_response(1, "t", 0, -1, TOO_LARGE))
    found = decode(talk)
    assert [(row["status"], row["error"]) for row in found.sent] == [("failed", "MESSAGE_TOO_LARGE")]


def test_a_response_after_the_connection_was_closed_acknowledges_nothing() -> None:
    talk = dialogue().ask(produce_request(1, "t", 0, batch([ONE]))).close().answer(produce_response(1, "t", 0, 1))
    assert [row["status"] for row in decode(talk).sent] == ["queued"]


def test_records_before_the_offset_that_was_asked_for_are_not_received() -> None:
    talk = dialogue().ask(fetch_request(1, "t", 0, 11))
    talk.answer(fetch_response(1, "t", 0, batch([ONE, TWO, ONE], base_offset=10)))
    found = decode(talk)
    assert [row["offset"] for row in found.received["given"]] == [11, 12]


def test_a_batch_that_the_broker_cut_off_is_left() -> None:
    whole, cut = batch([ONE], base_offset=0), batch([TWO], base_offset=1)[:-2]
    talk = dialogue().ask(fetch_request(1, "t", 0, 0)).answer(fetch_response(1, "t", 0, whole + cut))
    found = decode(talk)
    assert [row["offset"] for row in found.received["given"]] == [0]
    assert not found.problems


def test_what_is_fetched_again_is_received_again() -> None:
    talk = dialogue()
    for number in (1, 2):
        talk.ask(fetch_request(number, "t", 0, 0)).answer(fetch_response(number, "t", 0, batch([ONE])))
    assert [row["offset"] for row in decode(talk).received["given"]] == [0, 0]


ABORT, COMMIT = b"\0\0\0\0", b"\0\0\0\1"
TRANSACTIONAL, CONTROL = 0x10, 0x30


def marker(producer: int, offset: int, kind: bytes) -> bytes:
    return batch([(kind, b"\0\0\0\0\0\0")], base_offset=offset, attributes=CONTROL, producer=(producer, 0, -1))


def of(producer: int, offset: int) -> bytes:
    return batch([ONE], base_offset=offset, attributes=TRANSACTIONAL, producer=(producer, 0, 0))


@pytest.mark.parametrize(("isolation", "expected"), [(1, [1, 3, 5, 6]), (0, [0, 1, 2, 3, 5, 6])])
def test_aborted_transactions_are_not_received_by_readers_of_committed_messages(
    isolation: int, expected: list[int]
) -> None:
    log = of(1, 0) + of(2, 1) + of(1, 2) + batch([ONE], base_offset=3) + marker(1, 4, ABORT) + of(1, 5) + of(2, 6)
    log += marker(2, 7, COMMIT) + marker(1, 8, COMMIT)
    talk = dialogue().ask(fetch_request(1, "t", 0, 0, isolation))
    talk.answer(fetch_response(1, "t", 0, log, aborted=[(1, 0)]))
    assert [row["offset"] for row in decode(talk).received["given"]] == expected


JOIN_GROUP, OFFSET_COMMIT, FIND_COORDINATOR = 11, 8, 10


def test_a_client_is_in_the_group_that_it_names_on_any_of_its_connections() -> None:
    coordinator = dialogue(40001).ask(request(JOIN_GROUP, 2, 1, text("team")))
    reading = dialogue().ask(fetch_request(1, "t", 0, 0)).answer(fetch_response(1, "t", 0, batch([ONE])))
    assert list(decode(coordinator, reading).received) == ["team"]


def test_clients_of_one_process_with_ids_of_their_own_are_in_groups_of_their_own() -> None:
    naming = dialogue(40001).ask(request(JOIN_GROUP, 2, 1, text("team"), client="other"))
    reading = dialogue().ask(fetch_request(1, "t", 0, 0)).answer(fetch_response(1, "t", 0, batch([ONE])))
    assert list(decode(naming, reading).received) == ["given"]


def test_a_coordinator_of_transactions_names_no_group() -> None:
    naming = dialogue(40001).ask(request(FIND_COORDINATOR, 1, 1, text("tx") + b"\1"))
    reading = dialogue().ask(fetch_request(1, "t", 0, 0)).answer(fetch_response(1, "t", 0, batch([ONE])))
    assert list(decode(naming, reading).received) == ["given"]


def test_two_groups_that_take_turns_under_one_client_id_are_a_problem() -> None:
    talk = dialogue()
    for number, group in enumerate(("a", "b", "a")):
        talk.ask(request(JOIN_GROUP, 2, number, text(group)))
    assert decode(talk).problems == {"several groups use the client id 'me'": 1}
    alone = dialogue()
    for number, group in enumerate(("a", "a", "b")):
        alone.ask(request(JOIN_GROUP, 2, number, text(group)))
    assert not decode(alone).problems


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\0" * 16 + b"\1" + b"\0" * 60, "a record batch of format 1"),
        (batch([ONE], attributes=1, payload=b"no gzip"), "a batch that cannot be decompressed"),
        (
            batch([ONE], attributes=2, payload=b"\x82SNAPPY\0" + b"\0" * 11 + b"\1\xff"),
            "a batch that cannot be decompressed",
        ),
        (batch([ONE], attributes=3, payload=b"no lz4"), "a batch that cannot be decompressed"),
        (batch([ONE], attributes=4, payload=b"no zstd"), "a batch that cannot be decompressed"),
        (batch([ONE], attributes=7, payload=b""), "a compression of the unknown kind 7"),
        (batch([ONE], payload=b"\x7f\0"), "a record batch is shorter than it says"),
    ],
    ids=["format", "gzip", "snappy", "lz4", "zstd", "unknown", "short"],
)
def test_batches_that_cannot_be_read_are_a_problem_and_what_follows_is_read(data: bytes, problem: str) -> None:
    talk = dialogue().ask(produce_request(1, "t", 0, data))
    talk.ask(produce_request(2, "t", 0, batch([TWO]))).answer(produce_response(2, "t", 0, 1))
    found = decode(talk)
    assert [row["status"] for row in found.sent] == ["acked"]
    (told,) = found.problems
    assert told.startswith(problem)


def test_a_version_that_is_not_known_is_a_problem_only_where_messages_are_at_stake() -> None:
    talk = dialogue().ask(request(0, 99, 1, b"")).ask(request(1, 99, 2, b"")).ask(request(JOIN_GROUP, 99, 3, b""))
    assert Counter(decode(talk).problems) == {
        "requests of kind 0, version 99, cannot be read": 1,
        "requests of kind 1, version 99, cannot be read": 1,
    }


def test_messages_of_share_groups_are_a_problem_because_they_are_not_decoded() -> None:
    assert decode(dialogue().ask(request(78, 1, 1, b""))).problems


def test_a_request_too_short_for_its_header_is_a_problem() -> None:
    assert decode(dialogue().ask(frame(b"abc"))).problems == {"a request is shorter than its header": 1}


def test_a_compressed_batch_has_the_times_and_headers_of_its_records() -> None:
    from tests.support.kafka_bytes import record

    packed = record(0, ONE, [(b"s2g", b"gen:12"), (b"other", None)], later_ms=3) + record(1, TWO, later_ms=-2)
    data = batch([ONE, TWO], attributes=1, payload=gzip.compress(packed), timestamp_ms=1000)
    talk = dialogue().ask(fetch_request(1, "t", 0, 0)).answer(fetch_response(1, "t", 0, data))
    rows = decode(talk).received["given"]
    assert [row["broker_ms"] for row in rows] == [1003, 998]
    assert [row["seq"] for row in rows] == [12, 0]
    assert [bool(row["producer"]) for row in rows] == [True, False]
    assert [row["mark"] for row in rows] == [3, 1]


def test_the_same_content_of_two_idempotent_producers_is_two_messages() -> None:
    """As of two executors of a Spark job that run on one host."""
    first = dialogue().ask(produce_request(1, "t", 0, batch([ONE], producer=(7, 0, 0))))
    first.answer(produce_response(1, "t", 0, 4))
    second = dialogue(40001).ask(produce_request(1, "t", 0, batch([ONE], producer=(8, 0, 0))))
    second.answer(produce_response(1, "t", 0, 5))
    assert statuses(decode(first, second)) == [("acked", 4), ("acked", 5)]


def test_what_an_idempotent_producer_sends_again_with_another_epoch_is_one_message() -> None:
    first = dialogue().ask(produce_request(1, "t", 0, batch([ONE], producer=(7, 0, 3)))).reset()
    second = dialogue(40001).ask(produce_request(1, "t", 0, batch([ONE], producer=(7, 1, 0))))
    second.answer(produce_response(1, "t", 0, 4))
    assert statuses(decode(first, second)) == [("acked", 4)]


@pytest.mark.parametrize(("header_topics", "rows"), [((), [1]), (("t",), [])])
def test_messages_that_forward_a_header_are_noted_unless_the_header_is_followed_into_the_topic(
    tmp_path: Path, header_topics: tuple[str, ...], rows: list[int]
) -> None:
    client = ObservedClient(tmp_path, "app", 1, header_topics=header_topics)
    plain = Record(0, 0, None, b"x", b"\0")
    headers = b"\2" + varint(3) + b"s2g" + varint(5) + b"gen:7"
    client.produce([Produced("t", 0, [plain, plain._replace(headers=headers)], 7, False)], 1, 5, object())
    client.close()
    data = (tmp_path / "sent.app.1.1.forwarded").read_bytes()
    assert [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data), 8)] == rows


def test_a_client_that_only_commits_to_a_group_is_not_in_it_where_members_only_count(tmp_path: Path) -> None:
    client = ObservedClient(tmp_path, "job", 1, members_only=True)
    client.name_group("reader", "job-offsets", is_member=False)
    client.begin_partition("reader", "t", 0, 0)
    client.name_group("member", "office", is_member=True)
    client.begin_partition("member", "t", 1, 5)
    client.close()
    assert client.began == {"": {("t", 0): 0}, "office": {("t", 1): 5}}
