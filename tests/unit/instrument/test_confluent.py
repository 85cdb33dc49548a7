"""Programs that use confluent-kafka: what they do is on record, and they do the same as without the recorder."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from stream2gym.record.messages import hash64
from tests.support.recorded import run_program, start_program

PRODUCE = """
import sys
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": sys.argv[1]})
"""

READ = """
import sys, time
from confluent_kafka import Consumer, TopicPartition, OFFSET_BEGINNING

def read(topic, count, **config):
    consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "readers", **config})
    places = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in places])
    found, deadline = [], time.monotonic() + 20
    while len(found) < count and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            found.append(message)
    consumer.close()
    return found
"""


def test_every_send_is_on_record_with_its_outcome(mock: str, tmp_path: Path) -> None:
    found = run_program(
        tmp_path,
        PRODUCE
        + """
for number in range(100):
    producer.produce("outcomes", b"value %d" % number, "key", partition=0)
print(producer.flush())
""",
        mock,
    )
    rows = found.sent()
    assert found.stdout == "0\n"
    assert [row["status"] for row in rows] == ["acked"] * 100
    assert [row["offset"] for row in rows] == list(range(100))
    assert rows[7]["value_hash"] == hash64(b"value 7")
    assert rows[7]["key_hash"] == hash64(b"key")
    assert all(row["mark"] & 4 and row["due_ns"] == row["sent_ns"] <= row["done_ns"] for row in rows)
    assert found.notes("client")[0]["library"] == "confluent-kafka"


def test_own_callbacks_are_called_as_before_per_message_and_configured(mock: str, tmp_path: Path) -> None:
    text = """
import sys
from confluent_kafka import Producer
heard = []
def every(error, m):
    heard.append(("all", error, m.value()))
producer = Producer({"bootstrap.servers": sys.argv[1], "on_delivery": every})
producer.produce("callbacks", b"a")
producer.produce("callbacks", b"b", on_delivery=lambda error, m: heard.append(("own", error, m.value())))
producer.produce("callbacks", b"c", callback=lambda error, m: heard.append(("alias", error, m.headers())))
producer.produce("callbacks", b"d", None, -1, lambda error, m: heard.append(("place", error, m.offset() >= 0)))
producer.flush()
print(sorted(heard, key=str))
"""
    assert run_program(tmp_path, text, mock).stdout == run_program(tmp_path, text, mock, record=False).stdout
    assert run_program(tmp_path, text, mock).statuses()["acked"] == 8  # of two runs


def test_a_program_that_never_polls_is_not_polled_for(mock: str, tmp_path: Path) -> None:
    text = """
    import os, sys
    from confluent_kafka import Consumer, Producer
    heard = []
    producer = Producer({"bootstrap.servers": sys.argv[1]})
    producer.produce("unpolled", b"x", on_delivery=lambda *report: heard.append(report))
    consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["unpolled"])
    while (message := consumer.poll(1)) is None or message.error() is not None:
        pass
    print(message.value(), heard, len(producer) > 0, flush=True)
    os._exit(0)
    """
    found = run_program(tmp_path, text, mock)
    assert found.stdout == "b'x' [] True\n"
    assert found.statuses("unpolled") == {"queued": 1}


def test_an_exception_in_a_callback_comes_out_of_poll_as_before(mock: str, tmp_path: Path) -> None:
    text = """
import sys
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": sys.argv[1]})
def wrong(error, message):
    raise KeyError("mine")
producer.produce("callbacks", b"a", on_delivery=wrong)
try:
    producer.flush()
except KeyError as error:
    print("raised", error)
"""
    found = run_program(tmp_path, text, mock)
    assert found.stdout == run_program(tmp_path, text, mock, record=False).stdout == "raised 'mine'\n"
    assert found.statuses() == {"acked": 1}


def test_wrong_arguments_give_the_same_exceptions(mock: str, tmp_path: Path) -> None:
    text = """
import sys
from confluent_kafka import Producer, Consumer
producer = Producer({"bootstrap.servers": sys.argv[1]})
calls = [
    ((), {}), (("t", 5), {}), (("t", bytearray(b"x")), {}), ((5,), {}), (("t",), {"topic": "t"}),
    (("t", b"v"), {"headers": ((1, 2),)}), (("t", b"v"), {"headers": [["a", b"b"]]}),
    (("t", b"v"), {"headers": [(b"a", b"b")]}), (("t", b"v"), {"unknown": 1}), (("t", chr(0xDC80)), {}),
    (("t", b"v"), {"partition": "x"}),
]
for args, kwargs in calls:
    try:
        print(producer.produce(*args, **kwargs))
    except BaseException as error:
        print(type(error).__name__, error)
for args, kwargs in [((5,), {}), ((), {}), (([1],), {}), ((["t"],), {"on_assign": None})]:
    consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "g"})
    try:
        print(consumer.subscribe(*args, **kwargs))
    except BaseException as error:
        print(type(error).__name__, error)
for config in ({}, {"on_delivery": 5}, 5):
    try:
        Producer(config)
        print("made")
    except BaseException as error:
        print(type(error).__name__, error)
    try:
        Consumer(config)
        print("made")
    except BaseException as error:
        print(type(error).__name__, error)
"""
    plain = run_program(tmp_path, text, mock, record=False)
    found = run_program(tmp_path, text, mock)
    assert found.stdout == plain.stdout
    assert not found.notes("unrecorded")
    assert "acked" not in found.statuses()


def test_classes_keep_their_names_and_their_relations(mock: str, tmp_path: Path) -> None:
    text = """
import sys
import confluent_kafka
from confluent_kafka import Producer, Consumer, SerializingProducer, DeserializingConsumer, cimpl
from confluent_kafka.aio import AIOProducer
print(Producer, Consumer, Producer is cimpl.Producer, issubclass(SerializingProducer, Producer))
print(issubclass(DeserializingConsumer, Consumer), Producer.__doc__ == cimpl.Producer.__doc__)
producer = Producer({"bootstrap.servers": sys.argv[1]})
print(isinstance(producer, Producer), type(producer) is Producer, bool(producer), len(producer))
print(hasattr(producer, "__dict__"))
class Mine(Producer):
    def produce(self, *args, **kwargs):
        return super().produce(*args, **kwargs)
mine = Mine({"bootstrap.servers": sys.argv[1]})
mine.produce("mine", b"x")
print(mine.flush())
print([name for name in sys.path if "onpath" in name], "stream2gym" in sys.modules)
print(confluent_kafka.cimpl.__spec__.loader.__class__.__name__, confluent_kafka.cimpl.__loader__.__class__.__name__)
"""
    assert run_program(tmp_path, text, mock).stdout == run_program(tmp_path, text, mock, record=False).stdout


def test_the_header_goes_to_kafka_and_is_hidden_from_programs(mock: str, tmp_path: Path) -> None:
    produced = run_program(
        tmp_path,
        PRODUCE
        + """
mine = [("a", b"1")]
producer.produce("headers", b"0", headers=mine, partition=0)
producer.produce("headers", b"1", headers={"b": "2"}, partition=0)
producer.produce("headers", b"2", partition=0)
producer.produce("headers", b"3", headers=[("s2g", b"other:5"), ("c", None)], partition=0)
producer.flush()
print(mine)
""",
        mock,
    )
    assert produced.stdout == "[('a', b'1')]\n"
    read = READ + 'print([m.headers() for m in read("headers", 4)])\n'
    plain = run_program(tmp_path, read, mock, record=False).stdout
    assert plain == (
        "[[('a', b'1'), ('s2g', b'app:0')], [('b', b'2'), ('s2g', b'app:1')], [('s2g', b'app:2')], "
        "[('c', None), ('s2g', b'app:3')]]\n"
    )
    seen = run_program(tmp_path, read, mock, name="reader")
    assert seen.stdout == "[[('a', b'1')], [('b', b'2')], None, [('c', None)]]\n"
    rows = [row for row in seen.received() if row["group"] == "readers"]
    assert [(row["producer"], row["seq"], row["offset"]) for row in rows] == [("app", n, n) for n in range(4)]
    assert [row["value_hash"] for row in rows] == [hash64(b"%d" % n) for n in range(4)]


def test_without_header_nothing_is_added_and_all_is_recorded(mock: str, tmp_path: Path) -> None:
    text = PRODUCE + 'producer.produce("bare", b"x", partition=0)\nproducer.flush()\n'
    assert run_program(tmp_path, text, mock, header=False).statuses() == {"acked": 1}
    read = READ + 'print([m.headers() for m in read("bare", 1)])\n'
    assert run_program(tmp_path, read, mock, record=False).stdout == "[None]\n"


def test_a_message_that_is_given_up_failed(tmp_path: Path) -> None:
    text = """
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 300, "log_level": 0})
producer.produce("nowhere", b"x")
print(producer.flush(10))
"""
    (row,) = run_program(tmp_path, text).sent()
    assert row["status"] == "failed"
    assert row["error"] == "_MSG_TIMED_OUT: Local: Message timed out"


def test_a_message_that_is_tried_again_while_the_queue_is_full_is_one_message(tmp_path: Path) -> None:
    text = """
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": "127.0.0.1:1", "queue.buffering.max.messages": 2, "log_level": 0,
                     "message.timeout.ms": 500})
refused = 0
for number in range(3):
    while True:
        try:
            producer.produce("full", b"%d" % number)
            break
        except BufferError:
            refused += 1
            producer.poll(0.1)
producer.flush(10)
print(refused > 1)
"""
    found = run_program(tmp_path, text)
    assert found.stdout == "True\n"
    assert [(row["status"], row["value_hash"]) for row in found.sent()] == [
        ("failed", hash64(b"%d" % number)) for number in range(3)
    ]
    assert {row["error"] for row in found.sent()} == {"_MSG_TIMED_OUT: Local: Message timed out"}


def test_a_message_that_is_dropped_because_the_queue_is_full_failed(tmp_path: Path) -> None:
    text = """
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": "127.0.0.1:1", "queue.buffering.max.messages": 1, "log_level": 0})
producer.produce("full", b"0")
try:
    producer.produce("full", b"1")
except BufferError as error:
    print(error)
producer.purge()
producer.flush(1)
"""
    rows = run_program(tmp_path, text).sent()
    assert [row["error"][:11] for row in rows] == ["_PURGE_QUEU", "BufferError"]


def test_a_message_of_the_largest_size_is_sent_although_the_header_makes_it_larger(mock: str, tmp_path: Path) -> None:
    text = """
import sys
from confluent_kafka import Producer, KafkaException
producer = Producer({"bootstrap.servers": sys.argv[1], "message.max.bytes": 2000})
largest = 0
for size in range(1900, 2010):
    try:
        producer.produce("large", b"x" * size)
        largest = size
    except KafkaException as error:
        pass
producer.flush()
print(largest)
"""
    plain = run_program(tmp_path, text, mock, record=False)
    found = run_program(tmp_path, text, mock)
    assert found.stdout == plain.stdout
    assert found.statuses()["acked"] == int(plain.stdout) - 1900 + 1
    assert {row["error"].split(":")[0] for row in found.sent() if row["status"] == "failed"} == {"MSG_SIZE_TOO_LARGE"}


def test_a_batch_is_recorded_message_by_message(mock: str, tmp_path: Path) -> None:
    text = """
import sys
from confluent_kafka import Producer
heard = []
producer = Producer({"bootstrap.servers": sys.argv[1], "message.max.bytes": 2000})
def own(error, m):
    heard.append(m.value())
def every(error, m):
    heard.append(("all", m.value()))
messages = [{"value": b"0"}, {"value": "1", "key": "k", "callback": own}, {"value": b"x" * 5000}]
kept = [dict(one) for one in messages]
print(producer.produce_batch("batches", messages, partition=0, on_delivery=every))
producer.flush()
print(heard, [sorted(one) for one in messages], [one["value"] for one in kept] == [one["value"] for one in messages])
try:
    producer.produce_batch("batches", [5])
except TypeError as error:
    print(error)
"""
    plain = run_program(tmp_path, text, mock, record=False)
    found = run_program(tmp_path, text, mock)
    assert found.stdout == plain.stdout
    rows = found.sent()
    assert [row["status"] for row in rows] == ["acked", "acked", "failed"]
    assert [row["value_hash"] for row in rows[:2]] == [hash64(b"0"), hash64(b"1")]


def test_serialising_clients_are_recorded_by_the_bytes_that_go_to_kafka(mock: str, tmp_path: Path) -> None:
    text = """
import sys, json
from confluent_kafka import SerializingProducer, DeserializingConsumer, TopicPartition, OFFSET_BEGINNING
producer = SerializingProducer({"bootstrap.servers": sys.argv[1],
                                "value.serializer": lambda v, c: json.dumps(v).encode()})
producer.produce("serial", value={"a": 1}, partition=0)
producer.flush()
consumer = DeserializingConsumer({"bootstrap.servers": sys.argv[1], "group.id": "s",
                                  "value.deserializer": lambda v, c: json.loads(v)})
consumer.assign([TopicPartition("serial", 0, OFFSET_BEGINNING)])
message = None
while message is None:
    message = consumer.poll(1)
print(message.value(), message.headers())
consumer.close()
"""
    found = run_program(tmp_path, text, mock)
    assert found.stdout == "{'a': 1} None\n"
    assert [row["value_hash"] for row in found.sent()] == [hash64(b'{"a": 1}')]
    assert [row["value_hash"] for row in found.received()] == [hash64(b'{"a": 1}')]


def test_the_asyncio_clients_are_recorded(mock: str, tmp_path: Path) -> None:
    text = """
import asyncio, sys
from confluent_kafka import TopicPartition, OFFSET_BEGINNING
from confluent_kafka.aio import AIOProducer, AIOConsumer
async def main():
    producer = AIOProducer({"bootstrap.servers": sys.argv[1]})
    futures = [await producer.produce("aio", value=b"%d" % number, partition=0) for number in range(5)]
    await producer.flush()
    print([(await future).offset() for future in futures])
    await producer.close()
    consumer = AIOConsumer({"bootstrap.servers": sys.argv[1], "group.id": "a"})
    await consumer.assign([TopicPartition("aio", 0, OFFSET_BEGINNING)])
    seen = []
    while len(seen) < 5:
        seen += await consumer.consume(5, timeout=1)
    print(len(seen), seen[0].headers())
    await consumer.close()
asyncio.run(main())
"""
    found = run_program(tmp_path, text, mock)
    assert found.stdout == "[0, 1, 2, 3, 4]\n5 None\n"
    assert found.statuses() == {"acked": 5}
    assert [row["offset"] for row in found.received()] == list(range(5))


def test_an_error_only_report_is_said_to_hide_acknowledgements(mock: str, tmp_path: Path) -> None:
    text = """
import sys
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": sys.argv[1], "delivery.report.only.error": True})
producer.produce("only-errors", b"x")
producer.flush()
"""
    found = run_program(tmp_path, text, mock)
    assert found.statuses() == {"queued": 1}
    assert "delivery.report.only.error" in found.notes("unrecorded")[0]["why"]
    assert "delivery.report.only.error" in found.stderr


def test_messages_without_acks_are_unconfirmed(mock: str, tmp_path: Path) -> None:
    text = """
import sys
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": sys.argv[1], "acks": 0})
producer.produce("no-acks", b"x")
producer.flush()
"""
    assert run_program(tmp_path, text, mock).statuses() == {"unconfirmed": 1}


def test_the_messages_of_a_transaction_have_its_outcome(mock: str, tmp_path: Path) -> None:
    text = """
import sys
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": sys.argv[1], "transactional.id": sys.argv[2]})
producer.init_transactions(10)
for end in (producer.commit_transaction, producer.abort_transaction):
    producer.begin_transaction()
    for number in range(3):
        producer.produce(sys.argv[2], b"%d" % number)
    producer.flush()
    end(10)
producer.begin_transaction()
producer.produce(sys.argv[2], b"open")
producer.flush()
"""
    found = run_program(tmp_path, text, mock, "in-transactions")
    assert found.statuses() == {"acked": 3, "failed": 3, "queued": 1}
    assert {row["error"] for row in found.sent() if row["status"] == "failed"} == {"transaction aborted"}


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_each_process_of_a_program_has_a_journal_of_its_own(mock: str, tmp_path: Path, how: str) -> None:
    text = """
import multiprocessing, sys
from confluent_kafka import Producer

def work(address, number):
    producer = Producer({"bootstrap.servers": address})
    for n in range(10):
        producer.produce("processes", b"%d-%d" % (number, n))
    assert producer.flush() == 0

if __name__ == "__main__":
    work(sys.argv[1], 9)
    context = multiprocessing.get_context(sys.argv[2])
    children = [context.Process(target=work, args=(sys.argv[1], number)) for number in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    work(sys.argv[1], 8)
"""
    found = run_program(tmp_path, text, mock, how)
    assert found.statuses() == {"acked": 40}
    rows = found.sent()
    assert found.journals("sent") == [f"sent.app.1.{number}.journal" for number in (1, 2, 3)]
    assert len({row["seq"] for row in rows}) == 40
    hashes = sorted(row["value_hash"] for row in rows)
    assert hashes == sorted(hash64(b"%d-%d" % (who, n)) for who in (0, 1, 8, 9) for n in range(10))


def test_threads_share_a_producer_and_a_journal(mock: str, tmp_path: Path) -> None:
    text = (
        PRODUCE
        + """
import threading
def work(number):
    for n in range(500):
        producer.produce("threads", b"%d-%d" % (number, n))
        producer.poll(0)
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
producer.flush()
"""
    )
    found = run_program(tmp_path, text, mock)
    assert found.statuses() == {"acked": 2000}
    assert {row["value_hash"] for row in found.sent()} == {
        hash64(b"%d-%d" % (who, n)) for who in range(4) for n in range(500)
    }


def test_a_killed_program_leaves_every_send_on_record(mock: str, tmp_path: Path) -> None:
    text = PRODUCE + (
        'for number in range(10**9):\n    producer.produce("killed", b"%d" % number)\n    producer.poll(0)\n'
        "    if number % 1000 == 0:\n        print(number, flush=True)\n"
    )
    process, found = start_program(tmp_path, text, mock)
    assert process.stdout is not None
    told = 0
    while told < 5000:
        told = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.communicate()
    rows = found.sent()
    assert len(rows) > told
    assert [row["value_hash"] for row in rows] == [hash64(b"%d" % number) for number in range(len(rows))]


def test_consumers_are_recorded_with_groups_assignments_and_commits(mock: str, tmp_path: Path) -> None:
    run_program(
        tmp_path,
        PRODUCE + 'for n in range(30): producer.produce("groups", b"%d" % n, partition=n % 2)\nproducer.flush()\n',
        mock,
    )
    text = """
import sys, time
from confluent_kafka import Consumer
heard = []
commits = []
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "mine", "auto.offset.reset": "earliest",
                     "enable.auto.commit": False, "on_commit": lambda error, places: commits.append(error)})
consumer.subscribe(["groups"], on_assign=lambda c, places: heard.append(len(places)))
seen = 0
while seen < 30:
    for message in consumer.consume(7, timeout=0.5):
        seen += message.error() is None
print(heard, seen)
print(sorted((p.topic, p.partition, p.offset) for p in consumer.commit(asynchronous=False))[:2])
consumer.close()
"""
    found = run_program(tmp_path, text, mock, name="reader")
    assert found.stdout == "[4] 30\n[('groups', 0, 15), ('groups', 1, 15)]\n"
    rows = [row for row in found.received() if row["group"] == "mine"]
    assert len(rows) == 30
    assert found.committed()["groups/0"] == found.committed()["groups/1"] == 15
    assert found.notes("subscribed")[-1]["topics"] == ["groups"]
    assert [place[:2] for place in found.notes("assigned")[-1]["partitions"]] == [["groups", n] for n in range(4)]
    assert found.notes("revoked")


def test_automatic_commits_are_on_record(mock: str, tmp_path: Path) -> None:
    text = (
        PRODUCE
        + """
for n in range(5): producer.produce("automatic", b"%d" % n, partition=0)
producer.flush()
from confluent_kafka import Consumer
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "auto", "auto.offset.reset": "earliest"})
consumer.subscribe(["automatic"])
seen = 0
while seen < 5:
    message = consumer.poll(1)
    seen += message is not None and message.error() is None
consumer.close()
"""
    )
    assert run_program(tmp_path, text, mock).committed() == {"automatic/0": 5}
