"""The contract of the clients, against a real broker: arguments, records, status lines, signals, exit codes."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import ACKED, FAILED, UNCONFIRMED, Reader
from stream2gym.record.messages import hash64, parse_header
from stream2gym.record.schemas import read_table
from stream2gym.record.seal import seal
from stream2gym.wait import wait_until
from tests.system.onebroker import Kafka, kafka

__all__ = ["kafka"]  # the fixture

S = 10**9


class Client:
    """A client process and what it said so far."""

    def __init__(self, kind: str, config: dict[str, Any], folder: Path, **options: Any) -> None:
        path = folder / f"{kind}-{config.get('name')}-{time.monotonic_ns()}.json"
        path.write_text(json.dumps(config))
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"stream2gym.clients.{kind}", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )
        self.said: list[dict[str, Any]] = []
        self.logged = b""
        self._threads = [threading.Thread(target=self._listen), threading.Thread(target=self._log)]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            assert line.startswith(b"S2G ")
            self.said.append(json.loads(line[4:]))

    def _log(self) -> None:
        assert self.process.stderr is not None
        self.logged = self.process.stderr.read()

    def wait_for(self, condition: Callable[[dict[str, Any]], bool] | str, timeout_s: float = 30) -> dict[str, Any]:
        matches = condition if callable(condition) else lambda said: said["event"] == condition
        return wait_until(
            lambda: next((said for said in self.said if matches(said)), None),
            timeout_s=timeout_s,
            reason=f"what a client says: {condition}",
        )

    def open_gate(self, t0_ns: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"%d\n" % t0_ns)
        self.process.stdin.flush()

    def end(self, number: int | None = None, timeout_s: float = 30) -> int:
        """Wait for the end, after a signal if one is given; returns the exit code."""
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(timeout_s)
        for thread in self._threads:
            thread.join(10)
        return code

    @property
    def last(self) -> dict[str, Any]:
        return self.said[-1]


class Bench:
    """Starts clients of one test and ends them with it."""

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self.kafka, self.folder = kafka, RunFolder.create("t", seed=1, out=folder / "run")
        self.clients: list[Client] = []

    def producer(self, topic: str, **settings: Any) -> Client:
        journal, identity = self.folder.new_journal("sent", settings.pop("name", "gen"))
        config = {
            "bootstrap": self.kafka.bootstrap, "name": identity.name, "incarnation": identity.incarnation,
            "topics": {topic: 1}, "journal": str(journal), "start": "now",
        } | settings  # fmt: skip
        if "imperfect" in config:
            config["truth"] = str(journal).replace("sent.", "truth.")
        return self._start("producer", config)

    def consumer(self, topic: str, **settings: Any) -> Client:
        journal, identity = self.folder.new_journal("received", "see")
        config = {
            "bootstrap": self.kafka.bootstrap, "name": identity.name, "incarnation": identity.incarnation,
            "group": f"group-{topic}", "topics": [topic], "journal": str(journal),
        } | settings  # fmt: skip
        return self._start("consumer", config)

    def _start(self, kind: str, config: dict[str, Any]) -> Client:
        client = Client(kind, config, self.folder.work)
        self.clients.append(client)
        return client

    def rows(self, schema: str) -> list[dict[str, Any]]:
        return [row for path in sorted(self.folder.raw.glob(f"{schema}.*.journal")) for row in Reader(path).rows()]


@pytest.fixture
def bench(kafka: Kafka, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(kafka, tmp_path)
    yield bench
    for client in bench.clients:
        if client.process.poll() is None:
            client.process.kill()
        client.end()


def seq_of(message: Any) -> int:
    found = parse_header(dict(message.headers())["s2g"])
    assert found is not None
    return found[1]


def test_a_producer_says_ready_waits_for_its_gate_and_keeps_its_dues(bench: Bench) -> None:
    topic = bench.kafka.new_topic()
    client = bench.producer(topic, rate=1000, messages=500, start="gate")
    client.wait_for("ready")
    t0 = time.monotonic_ns() + S // 5
    client.open_gate(t0)
    assert client.end() == 0
    assert {key: client.last[key] for key in ("event", "sent", "acked", "failed", "queued", "unsent")} == {
        "event": "done", "sent": 500, "acked": 500, "failed": 0, "queued": 0, "unsent": 0,
    }  # fmt: skip
    rows = bench.rows("sent")
    assert [row["due_ns"] for row in rows] == [t0 + n * S // 1000 for n in range(500)]
    assert all(row["due_ns"] <= row["sent_ns"] <= row["done_ns"] for row in rows)


def test_the_record_is_what_kafka_has(bench: Bench) -> None:
    topic = bench.kafka.new_topic(partitions=3)
    client = bench.producer(topic, rate=20_000, messages=5000, keys={"kind": "uniform", "count": 50}, acks="all")
    assert client.end() == 0
    rows = bench.rows("sent")
    stored = {seq_of(message): message for message in bench.kafka.messages(topic)}
    assert len(stored) == len(rows) == 5000
    for seq, row in enumerate(rows):
        message = stored[seq]
        assert message.value() == b"01%06daaaaaa" % seq
        assert (row["partition"], row["offset"]) == (message.partition(), message.offset())
        assert (row["key_hash"], row["value_hash"]) == (hash64(message.key()), hash64(message.value()))
        assert (row["size"], row["status"]) == (len(message.value()), ACKED)


@pytest.mark.alone
def test_fifty_thousand_a_second_are_kept(bench: Bench) -> None:
    topic = bench.kafka.new_topic(partitions=3)
    rates = []
    for attempt in range(4):  # a machine that has other work may take the processor away for a while
        client = bench.producer(topic, name=f"gen{attempt}", rate=50_000, duration_s=2, size={"mean": 100})
        assert client.end() == 0
        rows = list(Reader(bench.folder.raw / f"sent.gen{attempt}.1.1.journal").rows())
        assert len(rows) == 100_000
        rates.append(len(rows) / (rows[-1]["sent_ns"] - rows[0]["sent_ns"]) * 1e9)
        if rates[-1] == pytest.approx(50_000, rel=0.01):
            return
    pytest.fail(f"kept only {rates}")


def test_clients_are_small(bench: Bench) -> None:
    topic = bench.kafka.new_topic(partitions=3)
    consumer = bench.consumer(topic)
    consumer.wait_for("assigned")
    producer = bench.producer(topic, rate=1000)
    consumer.wait_for(lambda said: said.get("received", 0) > 1500)
    for client in (producer, consumer):
        status = Path(f"/proc/{client.process.pid}/status").read_text()
        assert int(status.split("VmRSS:")[1].split()[0]) <= 30_000


@pytest.mark.parametrize("attempt", range(3))
def test_a_killed_producer_has_a_row_for_all_that_kafka_has(bench: Bench, attempt: int) -> None:
    topic = bench.kafka.new_topic(partitions=2)
    client = bench.producer(topic, rate=20_000)
    client.wait_for(lambda said: said.get("acked", 0) > 0)
    time.sleep(random.Random(attempt).uniform(0, 0.5))
    assert client.end(signal.SIGKILL) == -signal.SIGKILL
    rows = bench.rows("sent")
    stored = {seq_of(message): message for message in bench.kafka.messages(topic)}
    assert stored
    assert max(stored) < len(rows)
    for seq, message in stored.items():
        assert rows[seq]["value_hash"] == hash64(message.value())
    acked = [seq for seq, row in enumerate(rows) if row["status"] == ACKED]
    assert acked
    assert all(rows[seq]["offset"] == stored[seq].offset() for seq in acked)


def test_a_restarted_producer_goes_on_where_its_record_ends(bench: Bench) -> None:
    topic = bench.kafka.new_topic()
    t0 = time.monotonic_ns()
    first = bench.producer(topic, rate=1000, messages=1500, start="gate")
    first.open_gate(t0)
    first.wait_for(lambda said: said.get("acked", 0) > 100)
    first.end(signal.SIGKILL)
    done = len(bench.rows("sent"))
    second = bench.producer(topic, rate=1000, messages=1500, start="gate", skip=done)
    second.open_gate(t0)
    assert second.end() == 0
    rows = bench.rows("sent")
    assert [row["due_ns"] - t0 for row in rows] == [n * S // 1000 for n in range(1500)]
    seqs = [seq_of(message) for message in bench.kafka.messages(topic)]
    assert len(seqs) == len(set(seqs))
    assert (1 << 56) in seqs


def test_a_killed_consumer_has_recorded_all_that_it_committed(bench: Bench) -> None:
    topic = bench.kafka.new_topic(partitions=2)
    producer = bench.producer(topic, rate=5000)
    for attempt in range(2):
        consumer = bench.consumer(topic, client={"auto.commit.interval.ms": 20, "session.timeout.ms": 6000})
        consumer.wait_for(lambda said: said.get("received", 0) > 0)
        time.sleep(random.Random(attempt).uniform(0, 0.3))
        consumer.end(signal.SIGKILL)
    assert producer.end(signal.SIGTERM) == 0
    last = bench.consumer(topic)
    wanted = Counter(message.partition() for message in bench.kafka.messages(topic))
    last.wait_for(lambda said: _reached(last, topic, wanted), timeout_s=60)
    assert last.end(signal.SIGTERM) == 0
    stored = {(m.partition(), m.offset()): hash64(m.value()) for m in bench.kafka.messages(topic)}
    received = {(row["partition"], row["offset"]): row["value_hash"] for row in bench.rows("received")}
    assert received == stored


def _reached(client: Client, topic: str, ends: Counter[int]) -> bool:
    positions = {(name, p): at for said in list(client.said) for name, p, at in said.get("positions", ())}
    return all(positions.get((topic, partition)) == end for partition, end in ends.items())


def test_a_consumer_tells_its_assignment_and_records_who_sent_what(bench: Bench) -> None:
    topic = bench.kafka.new_topic(partitions=2)
    consumer = bench.consumer(topic)
    assert sorted(consumer.wait_for("assigned")["partitions"]) == [[topic, 0, 0], [topic, 1, 0]]
    assert bench.producer(topic, rate=1000, messages=300, keys=10).end() == 2, "keys is an object"
    assert bench.producer(topic, rate=1000, messages=300, keys={"kind": "sequence"}).end() == 0
    consumer.wait_for(lambda said: said.get("received") == 300)
    assert consumer.end(signal.SIGTERM) == 0
    done = consumer.wait_for("done")
    assert done["received"] == 300
    assert sum(at for _, _, at in done["positions"]) == 300
    rows = bench.rows("received")
    assert sorted(row["seq"] for row in rows) == list(range(300))
    assert all(row["producer"] and row["broker_ms"] > 0 and row["mark"] == 3 for row in rows)


def test_latest_misses_nothing_after_assigned_and_takes_nothing_before(bench: Bench) -> None:
    topic = bench.kafka.new_topic()
    bench.producer(topic, messages=50, name="early").end()
    consumer = bench.consumer(topic, start_from="latest")
    assert consumer.wait_for("assigned")["partitions"] == [[topic, 0, 50]]
    bench.producer(topic, messages=50, name="after").end()
    consumer.wait_for(lambda said: said.get("received") == 50)
    consumer.end(signal.SIGTERM)
    assert [row["offset"] for row in bench.rows("received")] == list(range(50, 100))


def test_a_pattern_finds_its_topics_and_a_group_shares_them(bench: Bench) -> None:
    topics = [bench.kafka.new_topic() for _ in range(2)]
    pattern = f"({topics[0]}|{topics[1]})$"
    shared = {"topics": [], "pattern": pattern, "client": {"partition.assignment.strategy": "roundrobin"}}
    first = bench.consumer("shared", **shared)
    places = sorted(place[:2] for place in first.wait_for("assigned")["partitions"])
    assert places == sorted([topic, 0] for topic in topics)
    second = bench.consumer("shared", **shared)
    assert len(second.wait_for(lambda said: bool(said.get("partitions")))["partitions"]) == 1
    for topic in topics:
        bench.producer(topic, messages=20, name=topic).end()
    wait_until(lambda: len(bench.rows("received")) == 40, timeout_s=20, reason="both topics")


def test_sigterm_flushes_what_was_handed_over(bench: Bench) -> None:
    topic = bench.kafka.new_topic()
    client = bench.producer(topic, rate=5000, linger_ms=400)
    client.wait_for(lambda said: said.get("sent", 0) > 1000)
    assert client.end(signal.SIGTERM) == 0
    done = client.last
    assert done["sent"] == done["acked"] > 1000
    assert len(bench.kafka.messages(topic)) == done["sent"]


def test_a_stop_ends_even_when_the_broker_does_not_answer(bench: Bench) -> None:
    client = bench.producer("anything", bootstrap="127.0.0.1:9", ready_timeout_s=60, stop_s=1)
    client.wait_for(lambda _: True) if client.said else time.sleep(0.5)
    began = time.monotonic()
    assert client.end(signal.SIGTERM) in (0, 3)
    assert time.monotonic() - began < 5


def test_what_was_due_and_never_sent_is_recorded_as_such(bench: Bench) -> None:
    topic = bench.kafka.new_topic()
    client = bench.producer(
        topic, rate=1000, client={"queue.buffering.max.messages": 10, "linger.ms": 1000}, stop_s=3
    )
    client.wait_for(lambda said: said.get("behind_ms", 0) > 500)
    assert client.end(signal.SIGTERM) == 0
    rows = bench.rows("sent")
    unsent = [row for row in rows if row["sent_ns"] == 0]
    assert len(unsent) == client.last["unsent"] > 300
    assert all(row["status"] == FAILED for row in unsent)
    due = [row["due_ns"] for row in rows]
    assert all(b - a == S // 1000 for a, b in itertools.pairwise(due))


@pytest.mark.parametrize("broken", ["{", '{"name": "x"}'])
def test_a_bad_configuration_is_exit_code_2_with_the_reason(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(broken)
    for kind in ("producer", "consumer"):
        done = subprocess.run(
            [sys.executable, "-m", f"stream2gym.clients.{kind}", str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert json.loads(done.stdout.removeprefix("S2G "))["event"] == "error"
        assert "Traceback" not in done.stderr
        assert done.stderr.strip()


def test_properties_that_the_kafka_client_refuses_are_told_in_its_own_words(bench: Bench) -> None:
    for client in (bench.producer("t", client={"lingerr": 1}), bench.consumer("t", client={"lingerr": 1})):
        assert client.end() == 2
        assert b'No such configuration property: "lingerr"' in client.logged


def test_no_topic_and_no_broker_are_exit_code_3_with_the_reason(bench: Bench) -> None:
    missing = bench.producer("not-there", ready_timeout_s=0.5)
    nobody = bench.producer("any", bootstrap="127.0.0.1:9", ready_timeout_s=0.5)
    lonely = bench.consumer("any", bootstrap="127.0.0.1:9", ready_timeout_s=0.5)
    assert [client.end() for client in (missing, nobody, lonely)] == [3, 3, 3]
    assert "not-there: is not there" in missing.wait_for("error")["what"]
    assert "127.0.0.1:9" in nobody.wait_for("error")["what"]


def test_a_message_that_kafka_refuses_is_failed_with_its_reason(bench: Bench) -> None:
    topic = bench.kafka.new_topic(config={"max.message.bytes": "1000"})
    client = bench.producer(topic, messages=3, size={"mean": 5000})
    assert client.end() == 0
    assert client.last["failed"] == 3
    rows = bench.rows("sent")
    reader = Reader(next(bench.folder.raw.glob("sent.*.journal")))
    assert {reader.strings()[row["error"]].split(":")[0] for row in rows} == {"MSG_SIZE_TOO_LARGE"}


def test_without_acks_nothing_is_confirmed(bench: Bench) -> None:
    topic = bench.kafka.new_topic()
    bench.producer(topic, messages=20, acks=0).end()
    assert {row["status"] for row in bench.rows("sent")} == {UNCONFIRMED}


def test_transactions_are_acked_when_committed(bench: Bench) -> None:
    topic = bench.kafka.new_topic(partitions=2)
    consumer = bench.consumer(topic, isolation="read_committed")
    consumer.wait_for("assigned")
    client = bench.producer(topic, rate=2000, messages=250, transactions=100)
    assert client.end() == 0
    rows = bench.rows("sent")
    assert [row["status"] for row in rows] == [ACKED] * 250
    assert len({row["done_ns"] for row in rows}) == 3, "one time of commit a transaction"
    assert len(bench.kafka.messages(topic, "read_committed")) == 250
    consumer.wait_for(lambda said: said.get("received") == 250)
    ends = Counter(row["partition"] for row in rows)
    consumer.wait_for(
        lambda said: any(at > ends[p] for _, p, at in said.get("positions", ())), timeout_s=10
    )  # the position counts commit markers too


def test_a_transaction_left_open_by_a_kill_is_not_acked(bench: Bench) -> None:
    topic = bench.kafka.new_topic()
    client = bench.producer(topic, rate=500, transactions=100_000, linger_ms=5)
    client.wait_for(lambda said: said.get("sent", 0) > 300)
    client.end(signal.SIGKILL)
    rows = bench.rows("sent")
    assert rows
    assert ACKED not in {row["status"] for row in rows}
    again = bench.producer(topic, messages=5, transactions=5)
    assert again.end() == 0, "the next start aborts what was left open"
    assert len(bench.kafka.messages(topic, "read_committed")) == 5


def test_the_truth_about_an_imperfect_source_is_what_the_topic_shows(bench: Bench) -> None:
    topic = bench.kafka.new_topic()
    shares = {
        "late": 0.05,
        "late_by_s": 0.2,
        "disordered": 0.05,
        "duplicated": 0.05,
        "missing": 0.05,
        "noisy": 0.05,
    }
    t0 = time.monotonic_ns() + S // 2
    client = bench.producer(topic, rate=2000, messages=1000, imperfect=shares, start="gate")
    client.open_gate(t0)
    assert client.end() == 0
    bench.folder.set_t0(t0)
    stored = bench.kafka.messages(topic)
    seal(bench.folder)
    truth = read_table(bench.folder.data, "truth").to_pylist()
    sent = {row["seq"]: row for row in read_table(bench.folder.data, "sent").to_pylist()}
    assert {row["event"] for row in truth} == set(range(1000))
    by_seq = {row["seq"]: row for row in truth if row["seq"] is not None}
    assert [seq_of(message) for message in stored] == sorted(by_seq)
    kinds = Counter(flaw for row in truth for flaw in row["flaws"].split("+"))
    assert all(kinds[flaw] > 15 for flaw in ("late", "disordered", "duplicated", "missing", "noisy"))
    start_ms = min(message.timestamp()[1] for message in stored)
    for message in stored:
        row = by_seq[seq_of(message)]
        noisy = "noisy" in row["flaws"]
        assert (hash64(message.value()) == row["value_hash"]) != noisy
        assert row["value_hash"] == hash64(b"01%06daaaaaa" % row["event"])
        assert row["event_ns"] == row["event"] * S // 2000
        assert message.timestamp()[1] - start_ms == pytest.approx(row["event_ns"] / 1e6, abs=2)
        if "late" in row["flaws"]:
            assert sent[row["seq"]]["due_ns"] - row["event_ns"] == S // 5


def test_a_full_disk_ends_a_client_orderly_with_its_record_whole(bench: Bench) -> None:
    topic = bench.kafka.new_topic()
    roomy = bench.producer(topic, rate=20_000, messages=30_000, name="roomy")
    assert roomy.end() == 0
    room = 1 << 20
    tight = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))}
    for schema, kind in (("sent", "producer"), ("received", "consumer")):
        config: dict[str, Any] = {"bootstrap": bench.kafka.bootstrap, "name": "tight"}
        config |= {"journal": str(bench.folder.raw / f"{schema}.tight.1.1.journal")}
        if kind == "producer":
            config |= {"topics": {topic: 1}, "rate": 20_000, "start": "now"}
        else:
            config |= {"topics": [topic], "group": "tight"}
        client = Client(kind, config, bench.folder.work, **tight)
        bench.clients.append(client)
        assert client.end() == 5
        assert "no room left for the record" in client.wait_for("error")["what"]
        done = client.wait_for("done")
        rows = list(Reader(bench.folder.raw / f"{schema}.tight.1.1.journal").rows())
        assert len(rows) >= 8192
        if kind == "producer":
            assert done["sent"] == done["acked"] == len(rows)


def test_a_pipe_that_nobody_reads_does_not_stop_the_load(bench: Bench) -> None:
    topic = bench.kafka.new_topic()
    path = bench.folder.work / "c.json"
    path.write_text(
        json.dumps({"bootstrap": bench.kafka.bootstrap, "name": "g", "topics": {topic: 1}, "messages": 3000,
                    "rate": 2000, "start": "now"})
    )  # fmt: skip
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(writing, b"x" * 4096):
            pass
    process = subprocess.Popen([sys.executable, "-m", "stream2gym.clients.producer", str(path)], stdout=writing)
    try:
        assert process.wait(20) == 0
    finally:
        os.close(reading)
        os.close(writing)
    assert len(bench.kafka.messages(topic)) == 3000


def test_the_observer_tells_where_no_message_is_left_for_a_reader(kafka: Kafka) -> None:
    """Two messages and a marker; an aborted one and its marker; then, in another topic, one that is still open."""
    from confluent_kafka import Producer

    from stream2gym.clients.admin import Admin

    over, still_open = kafka.new_topic(), kafka.new_topic()
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": over})
    producer.init_transactions()
    for topic, values, end in (
        (over, 2, "commit_transaction"),
        (over, 1, "abort_transaction"),
        (still_open, 2, "commit_transaction"),
        (still_open, 1, ""),
    ):
        producer.begin_transaction()
        for _ in range(values):
            producer.produce(topic, b"x")
        producer.flush()
        if end:
            getattr(producer, end)()
    admin = Admin(kafka.bootstrap, lambda _line: None)
    committed, uncommitted = "read_committed", "read_uncommitted"
    asked = [
        [over, 0, 0, committed], [over, 0, 1, committed], [over, 0, 2, committed], [over, 0, 2, uncommitted],
        [over, 0, 4, uncommitted], [over, 0, 99, committed], [still_open, 0, 2, committed],
        [still_open, 0, 2, uncommitted],
    ]  # fmt: skip
    answer = admin.next_messages({"places": asked, "timeout_s": 30})
    found = {(topic, *rest): end for topic, _, *rest, end in answer["ends"]}
    assert found == {
        (over, 2, committed): 5,
        (over, 4, uncommitted): 5,
        # Up to where the transaction began that may still be committed, which is before the end.
        (still_open, 2, committed): 3,
    }
    assert {(topic, *rest) for topic, _, *rest in answer["unread"]} == {
        (over, 0, committed), (over, 1, committed), (over, 2, uncommitted), (still_open, 2, uncommitted),
    }  # fmt: skip
    ends = {
        topic: end for topic, _, _, end in admin.offsets({"topics": [over, still_open], "timeout_s": 10})["offsets"]
    }
    assert ends == {over: 5, still_open: 4}
    producer.abort_transaction()
