"""From the kernel's blocks to journals: the spool on disk, the decoder, and what it tells about what is missing."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from stream2gym.own_python import own_python
from stream2gym.packets import spool
from stream2gym.packets.decode import DecodeConfig, Decoder, ObservedProcess, ProcessSummary
from stream2gym.packets.ring import packets_of
from stream2gym.packets.spool import BLOCK, LOST, OWNER, SpoolReader, SpoolWriter, spooled_bytes
from stream2gym.packets.tcp import Segment
from stream2gym.record.journal import Reader
from tests.support.kafka_bytes import (
    CLIENT,
    PORT,
    Dialogue,
    batch,
    fetch_request,
    produce_request,
    produce_response,
    request,
)

HOST, WALL_NS, COPIED_NS = "h1", 1_700_000_000_000_000_000, 5_000_000_000


def block(packets: Iterable[tuple[int, bytes, bool]]) -> bytes:
    """Packets (time, bytes, whether their checksum is known) as the kernel puts them into a block."""
    found = b""
    for at_ns, data, is_sound in packets:
        seconds, rest = divmod(at_ns, 1_000_000_000)
        size = 96 + len(data) + -len(data) % 16
        head = struct.pack("=IIIIIIHH", size, seconds, rest, len(data), len(data), 0x80 if is_sound else 1, 96, 96)
        found += (head + bytes(96 - len(head)) + data).ljust(size, b"\0")
    return found


def packet(segment: Segment) -> bytes:
    tcp = struct.pack(
        "!HHIIBBHHH", segment.source[1], segment.target[1], segment.number, segment.acknowledges, 5 << 4,
        segment.flags, 0, 0, 0,
    )  # fmt: skip
    size = 40 + len(segment.data)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, size, 0, 0, 64, 6, 0) + segment.source[0] + segment.target[0]
    return ip + tcp + segment.data


def spool_of(folder: Path, talk: Dialogue, owner: tuple[str, int] | None, *, is_sound: bool = True) -> SpoolWriter:
    writer = SpoolWriter(folder, HOST)
    writer.add_owner(*CLIENT, owner)
    packets = [(WALL_NS + one.at_ns, packet(one), is_sound) for one in talk.segments]
    writer.add_block(len(packets), memoryview(block(packets)), COPIED_NS, WALL_NS + 1_000_000)
    return writer


def talk() -> Dialogue:
    return Dialogue().ask(produce_request(1, "t", 0, batch([(b"k", b"v")]))).answer(produce_response(1, "t", 0, 3))


def config(folder: Path) -> DecodeConfig:
    (folder / "spool").mkdir(exist_ok=True)
    (folder / "raw").mkdir(exist_ok=True)
    return DecodeConfig(
        spool=str(folder / "spool"), raw=str(folder / "raw"), port=PORT, hosts=(HOST,),
        observed=(ObservedProcess("app", 1, "producer", HOST), ObservedProcess("idle", 2, "consumer", HOST, "g")),
    )  # fmt: skip


def test_packets_of_a_block_have_their_times_and_what_is_known_of_their_checksums() -> None:
    told = [(7_000_000_123, b"abc", True), (8_000_000_000, b"defg" * 9, False)]
    found = [(one.at_ns, bytes(one.data), one.is_sound) for one in packets_of(block(told), 2)]
    assert found == told


def test_a_spool_gives_its_entries_while_it_is_written_and_is_gone_when_it_is_read(tmp_path: Path) -> None:
    writer, reader = SpoolWriter(tmp_path, HOST), SpoolReader(tmp_path, HOST)
    assert list(reader.entries()) == []
    writer.add_block(2, memoryview(b"block"), 1, 2)
    (first,) = reader.entries()
    assert (first.kind, first.packets, first.copied_ns, first.wall_ns, first.data) == (BLOCK, 2, 1, 2, b"block")
    writer.add_owner(CLIENT[0], 5, ("app", 1))
    writer.note_lost(4)
    writer.close()
    assert [(one.kind, one.said()) for one in reader.entries()] == [
        (OWNER, {"end": [CLIENT[0].hex(), 5], "owner": ["app", 1]}),
        (LOST, {"packets": 4}),
    ]
    assert reader.is_over
    assert list(tmp_path.iterdir()) == []


def test_an_entry_that_is_not_whole_yet_is_read_later(tmp_path: Path) -> None:
    writer, reader = SpoolWriter(tmp_path, HOST), SpoolReader(tmp_path, HOST)
    writer.add_block(1, memoryview(b"x" * 100), 1, 2)
    path = tmp_path / f"{HOST}.1.spool"
    whole = path.read_bytes()
    for end in (0, 10, len(whole) - 1):
        path.write_bytes(whole[:end])
        assert list(reader.entries()) == []
    path.write_bytes(whole)
    assert [len(one.data) for one in reader.entries()] == [100]


def test_files_that_are_read_go_while_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "FILE_BYTES", 1000)
    writer, reader = SpoolWriter(tmp_path, HOST), SpoolReader(tmp_path, HOST)
    for _ in range(20):
        writer.add_block(1, memoryview(b"x" * 400), 1, 2)
    assert spooled_bytes(tmp_path) > 8000
    assert len(list(reader.entries())) == 20
    assert spooled_bytes(tmp_path) < 2000


def test_what_the_disk_may_not_hold_is_counted_as_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "FILE_BYTES", 1000)
    monkeypatch.setattr(spool, "MOST_BYTES", 3000)
    writer, reader = SpoolWriter(tmp_path, HOST), SpoolReader(tmp_path, HOST)
    for _ in range(20):
        writer.add_block(3, memoryview(b"x" * 400), 1, 2)
    assert spooled_bytes(tmp_path) < 5000
    writer.close()
    *blocks, lost = reader.entries()
    assert len(blocks) < 20
    assert lost.said() == {"packets": 3 * (20 - len(blocks))}


def test_a_disk_that_is_full_leaves_only_whole_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, reader = SpoolWriter(tmp_path, HOST), SpoolReader(tmp_path, HOST)
    writer.add_block(1, memoryview(b"first"), 1, 2)
    real = os.writev
    monkeypatch.setattr(os, "writev", lambda fd, parts: real(fd, [bytes(parts[0])[:9]]))
    writer.add_block(6, memoryview(b"second"), 1, 2)
    monkeypatch.setattr(os, "writev", real)
    writer.add_block(1, memoryview(b"third"), 1, 2)
    writer.close()
    entries = list(reader.entries())
    assert [one.data for one in entries[:2]] == [b"first", b"third"]
    assert entries[2].said() == {"packets": 6}


def test_the_decoder_writes_the_journals_of_the_observed_and_sums_up(tmp_path: Path) -> None:
    told = config(tmp_path)
    spool_of(tmp_path / "spool", talk(), ("app", 1)).close()
    decoder = Decoder(told)
    assert decoder.decode()
    assert decoder.close() == [
        ProcessSummary("app", 1, produced=1, fetched=0, groups={}, problems={}),
        ProcessSummary("idle", 2, produced=0, fetched=0, groups={}, problems={}),
    ]
    (row,) = Reader(tmp_path / "raw" / "sent.app.1.1.journal").rows()
    assert (row["partition"], row["offset"]) == (0, 3)
    # Four segments had passed before the request: the time of the packet, on the monotonic clock.
    assert row["sent_ns"] == COPIED_NS - 1_000_000 + 4000


def test_where_a_process_began_to_read_is_told_by_group(tmp_path: Path) -> None:
    told = config(tmp_path)
    asked = (
        Dialogue()
        .ask(fetch_request(1, "t", 3, 17))
        .ask(fetch_request(2, "t", 3, 20))
        .ask(fetch_request(3, "t", 1, 0))
    )
    spool_of(tmp_path / "spool", asked, ("idle", 2)).close()
    decoder = Decoder(told)
    decoder.decode()
    assert decoder.close()[1].groups == {"g": [("t", 1, 0), ("t", 3, 17)]}


def test_a_client_that_did_nothing_has_its_journal_because_that_was_observed(tmp_path: Path) -> None:
    told = config(tmp_path)
    SpoolWriter(tmp_path / "spool", HOST).close()
    decoder = Decoder(told)
    assert decoder.decode()
    decoder.close()
    idle = Reader(tmp_path / "raw" / "received.idle.2.1.journal")
    assert idle.identity.extra["group"] == "g"
    assert list(idle.rows()) == []
    assert list(Reader(tmp_path / "raw" / "sent.app.1.1.journal").rows()) == []


def test_connections_of_others_on_the_host_are_not_those_of_the_observed(tmp_path: Path) -> None:
    told = config(tmp_path)
    spool_of(tmp_path / "spool", talk(), ("", 0)).close()
    decoder = Decoder(told)
    decoder.decode()
    assert [one.produced for one in decoder.close()] == [0, 0]


def test_what_may_be_missing_is_a_problem_of_every_observed_process_of_the_host(tmp_path: Path) -> None:
    told = config(tmp_path)
    writer = spool_of(tmp_path / "spool", talk(), None)
    writer.note_lost(2)
    writer.close()
    decoder = Decoder(told)
    decoder.decode()
    told_of = {
        "connections with messages whose process was not found": 1,
        "packets that were not captured in time": 2,
    }
    assert [one.problems for one in decoder.close()] == [told_of, told_of]


def test_a_connection_of_nobody_that_carries_no_messages_is_no_problem(tmp_path: Path) -> None:
    told = config(tmp_path)
    spool_of(tmp_path / "spool", Dialogue().ask(request(18, 0, 1, b"")).reset(), None).close()
    decoder = Decoder(told)
    decoder.decode()
    assert [one.problems for one in decoder.close()] == [{}, {}]


def test_segments_that_arrived_damaged_are_not_decoded(tmp_path: Path) -> None:
    """Their checksums are all zero here, and nobody has verified them."""
    told = config(tmp_path)
    spool_of(tmp_path / "spool", talk(), ("app", 1), is_sound=False).close()
    decoder = Decoder(told)
    decoder.decode()
    assert decoder.close()[0].produced == 0


@pytest.mark.parametrize("step_ns", [-3_600_000_000_000, 3_600_000_000_000])
def test_a_step_of_the_wall_clock_moves_packets_by_less_than_a_block(tmp_path: Path, step_ns: int) -> None:
    told = config(tmp_path)
    writer = SpoolWriter(tmp_path / "spool", HOST)
    writer.add_owner(*CLIENT, ("app", 1))
    for number, one in enumerate(talk().segments):
        data = block([(WALL_NS + one.at_ns, packet(one), True)])
        step = step_ns if number == 3 else 0
        writer.add_block(1, memoryview(data), COPIED_NS + number * 20_000_000, WALL_NS + number * 20_000_000 + step)
    writer.close()
    decoder = Decoder(told)
    decoder.decode()
    decoder.close()
    (row,) = Reader(tmp_path / "raw" / "sent.app.1.1.journal").rows()
    assert COPIED_NS - 20_000_000 <= row["sent_ns"] <= COPIED_NS + 60_000_000


def test_the_decoding_process_ends_with_the_spool_and_says_what_it_found(tmp_path: Path) -> None:
    path = tmp_path / "decode.json"
    path.write_text(json.dumps(config(tmp_path).to_json()))
    process = subprocess.Popen(
        own_python("-m", "stream2gym.packets.decode", str(path)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    spool_of(tmp_path / "spool", talk(), ("app", 1)).close()
    assert process.stdout is not None
    assert process.wait(30) == 0
    assert [one["produced"] for one in json.loads(process.stdout.read())] == [1, 0]
    process.stdout.close()


def test_the_decoding_process_ends_with_whoever_started_it(tmp_path: Path) -> None:
    path = tmp_path / "decode.json"
    path.write_text(json.dumps(config(tmp_path).to_json()))
    process = subprocess.Popen(
        own_python("-m", "stream2gym.packets.decode", str(path)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    said, _ = process.communicate(timeout=30)
    assert (process.returncode, said) == (0, b"")


def test_an_engine_has_a_record_for_each_of_its_hosts_of_what_it_sent_and_fetched(tmp_path: Path) -> None:
    """Wherever they run, its processes say that they are instance 1 of the engine."""
    told = replace(
        config(tmp_path),
        hosts=("h9", HOST),
        observed=(ObservedProcess("job", 1, "engine", "h9"), ObservedProcess("job", 2, "engine", HOST)),
    )
    SpoolWriter(tmp_path / "spool", "h9").close()
    spool_of(tmp_path / "spool", talk().ask(fetch_request(8, "in", 3, 17)), ("job", 1)).close()
    decoder = Decoder(told)
    assert decoder.decode()
    assert decoder.close() == [
        ProcessSummary("job", 1, produced=0, fetched=0, groups={}, problems={}),
        ProcessSummary("job", 2, produced=1, fetched=0, groups={"": [("in", 3, 17)]}, problems={}),
    ]
    assert sorted(path.name for path in (tmp_path / "raw").glob("*.journal")) == [
        f"{kind}.job.{number}.1.journal" for kind in ("received", "sent") for number in (1, 2)
    ]


def test_what_was_not_captured_on_one_host_of_an_engine_is_a_problem_of_that_host(tmp_path: Path) -> None:
    told = replace(
        config(tmp_path),
        hosts=("h9", HOST),
        observed=(ObservedProcess("job", 1, "engine", "h9"), ObservedProcess("job", 2, "engine", HOST)),
    )
    SpoolWriter(tmp_path / "spool", "h9").close()
    writer = SpoolWriter(tmp_path / "spool", HOST)
    writer.note_lost(2)
    writer.close()
    decoder = Decoder(told)
    decoder.decode()
    assert [one.problems for one in decoder.close()] == [{}, {"packets that were not captured in time": 2}]
