"""Streams from segments: in order, each byte once, and only what the receiver acknowledged where that counts."""

from __future__ import annotations

import struct
from pathlib import Path

from stream2gym.packets.tcp import (
    ACK,
    LONGEST_FRAME_BYTES,
    RST,
    SYN,
    Connections,
    Frame,
    Segment,
    Stream,
    parse_segment,
    read_pcap,
)
from tests.support.kafka_bytes import BROKER, CLIENT, PORT, Dialogue, frame


class Heard:
    """Writes down what a connection says."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.responses: list[bytes] = []
        self.times: list[tuple[int, int]] = []
        self.ended: list[str] = []

    def hear_request(self, heard: Frame) -> None:
        self.requests.append(heard.data)
        self.times.append((heard.first_ns, heard.last_ns))

    def hear_response(self, heard: Frame) -> None:
        self.responses.append(heard.data)
        self.times.append((heard.first_ns, heard.last_ns))

    def hear_end(self, broken: str) -> None:
        self.ended.append(broken)


def hear(segments: list[Segment]) -> list[Heard]:
    found: list[Heard] = []

    def accept(_end: object) -> Heard:
        found.append(Heard())
        return found[-1]

    connections = Connections(PORT, accept)
    for segment in segments:
        connections.add(segment)
    connections.end()
    return found


def test_a_segment_that_was_lost_counts_once_it_was_sent_again_and_acknowledged() -> None:
    stream = Stream(99, needs_acknowledgement=True)
    whole = frame(b"abcd")
    stream.add(100, whole[:3], 1)
    stream.add(103, whole[3:], 2)
    stream.acknowledge(103)
    assert list(stream.frames()) == []
    stream.add(103, whole[3:], 9)
    stream.acknowledge(100 + len(whole))
    assert list(stream.frames()) == [Frame(b"abcd", 1, 2)]
    assert list(stream.frames()) == []


def test_numbers_may_wrap_and_segments_may_overlap_or_come_in_another_order() -> None:
    stream = Stream((1 << 32) - 3, needs_acknowledgement=False)
    whole = frame(b"abcdefgh")
    for number, part, at_ns in ((2, whole[4:9], 1), (5, whole[7:], 2), ((1 << 32) - 2, whole[:5], 3)):
        stream.add(number, part, at_ns)
    assert list(stream.frames()) == [Frame(b"abcdefgh", 3, 3)]
    assert not stream.broken


def test_frames_have_the_times_of_their_first_and_last_byte() -> None:
    stream = Stream(0, needs_acknowledgement=False)
    data = frame(b"one") + frame(b"two") + frame(b"three")
    for place, byte in enumerate(data):
        stream.add(1 + place, bytes([byte]), place)
    assert [(one.first_ns, one.last_ns) for one in stream.frames()] == [(0, 6), (7, 13), (14, 22)]


def test_a_frame_is_not_whole_before_its_last_byte() -> None:
    stream = Stream(0, needs_acknowledgement=False)
    stream.add(1, frame(b"abc")[:-1], 5)
    assert list(stream.frames()) == []
    stream.add(7, b"c", 6)
    assert list(stream.frames()) == [Frame(b"abc", 5, 6)]


def test_bytes_that_were_acknowledged_but_never_captured_break_the_stream() -> None:
    stream = Stream(0, needs_acknowledgement=True)
    stream.add(1, frame(b"abc"), 1)
    stream.acknowledge(1 + len(frame(b"abc")))
    assert [one.data for one in stream.frames()] == [b"abc"]
    stream.acknowledge(40)
    assert stream.broken == "bytes are missing in the capture"


def test_the_end_of_a_stream_takes_a_number_and_is_no_missing_byte() -> None:
    stream = Stream(0, needs_acknowledgement=True)
    stream.acknowledge(2)
    assert not stream.broken


def test_bytes_that_are_no_frames_break_the_stream_and_hold_no_memory() -> None:
    stream = Stream(0, needs_acknowledgement=False)
    stream.add(1, struct.pack("!i", LONGEST_FRAME_BYTES + 1) + b"GET / HTTP/1.1", 1)
    assert list(stream.frames()) == []
    assert stream.broken == "this is no Kafka traffic"


def test_a_response_counts_only_when_the_client_acknowledged_it() -> None:
    talk = Dialogue().ask(frame(b"question")).answer(frame(b"answer"), is_acknowledged=False)
    (heard,) = hear(talk.segments)
    assert (heard.requests, heard.responses) == ([b"question"], [])
    talk.ask(frame(b"next question"))
    (heard,) = hear(talk.segments)
    assert heard.responses == [b"answer"]


def test_two_connections_between_the_same_ends_are_told_apart() -> None:
    first = Dialogue(start=10).ask(frame(b"one"))
    second = Dialogue(start=900).ask(frame(b"two"))
    heard = hear(first.segments + second.segments)
    assert [one.requests for one in heard] == [[b"one"], [b"two"]]
    assert [one.ended for one in heard] == [[""], [""]]


def test_an_opening_that_was_sent_again_begins_no_second_connection() -> None:
    talk = Dialogue().ask(frame(b"one"))
    (heard,) = hear([talk.segments[0], *talk.segments])
    assert heard.requests == [b"one"]


def test_nothing_is_heard_after_the_client_closed_or_either_side_reset() -> None:
    for ended in (Dialogue().close(), Dialogue().reset(), Dialogue().reset(by_client=True)):
        (heard,) = hear(ended.ask(frame(b"too late")).segments)
        assert (heard.requests, heard.ended) == ([], [""])


def test_a_connection_without_its_beginning_is_counted_once_and_not_heard() -> None:
    connections = Connections(PORT, lambda _end: Heard())
    for segment in Dialogue().ask(frame(b"one")).ask(frame(b"two")).segments[3:]:
        connections.add(segment)
    connections.add(Segment(0, (CLIENT[0], 5), BROKER, 1, 1, RST, b""))
    assert connections.headless == 1


def test_a_connection_that_nobody_wants_to_hear_is_no_headless_one() -> None:
    connections = Connections(PORT, lambda _end: None)
    for segment in Dialogue().ask(frame(b"one")).segments:
        connections.add(segment)
    assert connections.headless == 0


def packet(data: bytes, *, checksum: bool = True) -> bytes:
    """An IPv4 packet with a TCP segment."""
    tcp = struct.pack("!HHIIBBHHH", CLIENT[1], PORT, 7, 8, 5 << 4, ACK | SYN, 100, 0, 0) + data
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + CLIENT[0] + BROKER[0]
    if checksum:
        pseudo = CLIENT[0] + BROKER[0] + struct.pack("!HH", 6, len(tcp)) + tcp + b"\0" * (len(tcp) % 2)
        total = sum(struct.unpack(f"!{len(pseudo) // 2}H", pseudo))
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        tcp = tcp[:16] + struct.pack("!H", 0xFFFF - total) + tcp[18:]
    return ip + tcp


def test_a_segment_is_taken_from_a_packet_and_padding_is_left() -> None:
    found = parse_segment(packet(b"data") + b"padding", 5)
    assert found == Segment(5, CLIENT, BROKER, 7, 8, ACK | SYN, b"data")


def test_a_packet_whose_checksum_is_wrong_is_dropped_where_nobody_has_verified_it() -> None:
    for data in (b"", b"even", b"odd"):
        assert parse_segment(packet(data), 0, verify=True) is not None
    wrong = bytearray(packet(b"data"))
    wrong[-1] ^= 4
    assert parse_segment(bytes(wrong), 0, verify=True) is None
    assert parse_segment(bytes(wrong), 0) is not None


def test_what_is_no_whole_tcp_packet_is_passed_over() -> None:
    whole = packet(b"data")
    udp = whole[:9] + b"\x11" + whole[10:]
    fragment = whole[:6] + b"\x20\x00" + whole[8:]
    version_6 = b"\x65" + whole[1:]
    for other in (b"", whole[:30], whole[:-1], udp, fragment, version_6):
        assert parse_segment(other, 0) is None


def test_a_capture_file_gives_its_segments_with_their_times(tmp_path: Path) -> None:
    data = packet(b"data")
    path = tmp_path / "a.pcap"
    head = struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)
    path.write_bytes(head + struct.pack("=IIII", 3, 7, len(data), len(data)) + data + b"cut off")
    (found,) = read_pcap(path)
    assert (found.at_ns, found.data) == (3_000_000_007, b"data")
