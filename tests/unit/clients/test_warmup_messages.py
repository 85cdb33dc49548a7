"""Warm-up messages: the same kind of load without limits, and a load that they do not change."""

from __future__ import annotations

import itertools
import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.clients.client_process import GateLines
from stream2gym.clients.config import Arrivals, Keys, ProducerConfig
from stream2gym.clients.load_schedule import Event, events, warmup_events
from stream2gym.clients.producer import LoadProducer
from stream2gym.components.producer import _count_load_rows
from stream2gym.record.journal import Identity, Reader
from stream2gym.record.journal_writers import SentLog

S = 10**9


def config(**changes: Any) -> ProducerConfig:
    return ProducerConfig(bootstrap="b", name="gen", topics={"t": 1.0}, **changes)


def first(count: int, wanted: ProducerConfig, begin: int = 0) -> list[Event]:
    return list(itertools.islice(warmup_events(wanted, begin), count))


def test_warm_up_keeps_the_rate_and_knows_no_limit() -> None:
    limited = config(rate=10.0, messages=3, duration_s=0.1)
    assert [event.due for event in first(5, limited, 7 * S)] == [7 * S + n * S // 10 for n in range(5)]
    assert [event.due for event in events(limited, 9 * S)] == [9 * S]


def test_warm_up_is_as_fast_as_it_goes_where_the_load_is() -> None:
    assert [event.due for event in first(3, config())] == [None] * 3


def test_values_and_numbered_keys_are_never_those_of_the_load() -> None:
    numbered = config(rate=10.0, messages=100, keys=Keys("sequence"))
    warm, load = first(100, numbered), list(events(numbered))
    assert not {event.value for event in warm} & {event.value for event in load}
    assert not {event.key for event in warm} & {event.key for event in load}
    assert warm[0].value == b"01000000wwwwww"


def test_a_file_is_replayed_again_and_again_and_the_load_begins_at_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"a\nb\n")
    lines = config(type="ELTT", file=str(tmp_path / "lines"), rate=10.0)
    assert [event.value for event in first(5, lines)] == [b"a\n", b"b\n", b"a\n", b"b\n", b"a\n"]
    assert [event.value for event in events(lines)] == [b"a\n", b"b\n"]


def test_an_empty_file_ends_the_warm_up_instead_of_spinning(tmp_path: Path) -> None:
    (tmp_path / "lines").touch()
    assert first(5, config(type="ELTT", file=str(tmp_path / "lines"))) == []


def test_a_folder_is_replayed_too(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"x")
    folder = config(type="MFST", file=str(tmp_path))
    assert len(first(4, folder)) == 4


@pytest.mark.parametrize("nothing", [{"messages": 0}, {"passes": 0}])
def test_who_sends_nothing_warms_up_nothing(nothing: dict[str, int]) -> None:
    assert first(5, config(**nothing)) == []


def test_a_trace_of_times_is_repeated(tmp_path: Path) -> None:
    (tmp_path / "times").write_text("10\n11\n12\n")
    traced = config(arrivals=Arrivals("trace", file=str(tmp_path / "times")))
    assert [event.due for event in first(7, traced)] == [n * S for n in range(7)]


def test_a_trace_of_one_time_is_repeated_every_second(tmp_path: Path) -> None:
    (tmp_path / "times").write_text("10\n")
    traced = config(arrivals=Arrivals("trace", file=str(tmp_path / "times")))
    assert [event.due for event in first(3, traced)] == [0, S, 2 * S]


# ---- the gate


def test_lines_of_a_gate_come_one_by_one_however_they_were_written() -> None:
    reading, writing = os.pipe()
    gate = GateLines(reading)
    assert gate.next_line() is None
    os.write(writing, b"warmup 5\npau")
    assert gate.next_line() == "warmup 5"
    assert gate.next_line() is None
    os.write(writing, b"se\n7\n")
    assert [gate.next_line(), gate.next_line(), gate.next_line()] == ["pause", "7", None]
    os.close(writing)
    with pytest.raises(EOFError):
        gate.next_line()
    os.close(reading)


class FakeKafka:
    """A Kafka client that acknowledges at the next poll."""

    KafkaException = RuntimeError

    def __init__(self) -> None:
        self.open: list[Any] = []
        self.seqs: list[bytes] = []
        self.values: list[bytes] = []

    def Producer(self, _properties: dict[str, Any]) -> FakeKafka:
        return self

    def produce(self, _topic: str, value: bytes, _key: Any, on_delivery: Any, headers: Any) -> None:
        self.open.append(on_delivery)
        self.seqs.append(headers[0][1])
        self.values.append(value)

    def poll(self, wait_s: float) -> None:
        time.sleep(min(wait_s, 0.001))
        waiting, self.open = self.open, []
        for number, report in enumerate(waiting):
            report(None, SimpleNamespace(offset=lambda number=number: number, partition=lambda: 0))

    def flush(self, _timeout_s: float) -> None:
        self.poll(0)

    def __len__(self) -> int:
        return len(self.open)


class Said:
    def __init__(self) -> None:
        self.reports: list[tuple[str, dict[str, Any]]] = []

    def say(self, event: str, **details: Any) -> bool:
        self.reports.append((event, details))
        return True


def test_a_producer_warms_up_pauses_and_then_sends_exactly_its_load(tmp_path: Path) -> None:
    kafka, said = FakeKafka(), Said()
    stop = SimpleNamespace(asked=False, left_s=1.0)
    wanted = config(rate=1000.0, messages=50, journal=str(tmp_path / "sent.gen.1.1.journal"))
    client = LoadProducer(wanted, kafka, said, stop)  # type: ignore[arg-type]
    reading, writing = os.pipe()
    client._gate = GateLines(reading)
    given: list[int] = []

    def open_gates() -> None:
        os.write(writing, f"warmup {time.monotonic_ns()}\n".encode())
        time.sleep(0.2)
        os.write(writing, b"pause\n")
        while not any(event == "paused" for event, _ in said.reports):
            time.sleep(0.01)
        given.append(time.monotonic_ns())
        os.write(writing, f"{given[0]}\n".encode())

    gates = threading.Thread(target=open_gates)
    gates.start()
    t0 = client.wait_for_t0()
    gates.join()
    assert t0 == given[0]
    (paused,) = [details for event, details in said.reports if event == "paused"]
    warm = paused["sent"]
    assert 50 < warm < 400
    assert (paused["acked"], paused["queued"]) == (warm, 0)
    client.run(t0)
    client.finish()
    client.close()
    assert client.sender.sent == warm + 50, "the limit is one of the load"
    assert len(set(kafka.seqs)) == warm + 50
    assert kafka.values[warm:] == [event.value for event in events(wanted)]
    dues = [row["due_ns"] for row in Reader(tmp_path / "sent.gen.1.1.journal").rows()]
    assert sum(due < t0 for due in dues) == warm
    assert _count_load_rows(tmp_path / "sent.gen.1.1.journal", t0) == 50
    os.close(reading)
    os.close(writing)


def test_a_stop_ends_the_warm_up(tmp_path: Path) -> None:
    stop = SimpleNamespace(asked=False, left_s=1.0)
    wanted = config(rate=100.0, journal=str(tmp_path / "sent.gen.1.1.journal"))
    client = LoadProducer(wanted, FakeKafka(), Said(), stop)  # type: ignore[arg-type]
    reading, writing = os.pipe()
    client._gate = GateLines(reading)
    os.write(writing, f"warmup {time.monotonic_ns()}\n".encode())
    threading.Timer(0.2, lambda: setattr(stop, "asked", True)).start()
    assert client.wait_for_t0() is None
    client.close()
    os.close(reading)
    os.close(writing)


def test_a_producer_that_is_started_again_skips_messages_of_the_load_only(tmp_path: Path) -> None:
    path = tmp_path / "sent.gen.1.1.journal"
    log = SentLog(path, Identity("gen", 1, 1))
    for due in (90, 95, 100, 105, 110):
        log.add(due, due, None, 1, 1, log.number("t"))
    log.close()
    assert _count_load_rows(path, 100) == 3
    assert _count_load_rows(path, None) == 0, "before t0 nothing of the load was sent"
