"""Programs of the user's under the recorder, against a real broker: the record agrees with Kafka's own offsets."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import kafka as kafka_python
import pytest

from stream2gym.record.messages import hash64, parse_header
from tests.support.recorded import Record, find_python, run_program, start_program
from tests.system.onebroker import Kafka, kafka

__all__ = ["kafka"]  # the fixture

LIBRARIES = ("confluent-kafka", "kafka-python", "aiokafka")

# Each program defines send(address, topic, name, values), which sends the values and waits for their outcomes,
# read(address, topic, group, count), which gives the values it got and commits them, and
# transact(address, topic, id), which commits three messages, aborts three others, and leaves one open.
PROGRAMS = {
    "confluent-kafka": """
from confluent_kafka import Consumer, Producer

def send(address, topic, values):
    producer = Producer({"bootstrap.servers": address})
    for value in values:
        producer.produce(topic, value, key=b"k" + value[-1:])
        producer.poll(0)
    assert producer.flush() == 0

def read(address, topic, group, count):
    consumer = Consumer({"bootstrap.servers": address, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    got = []
    while len(got) < count:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            assert message.headers() is None
            got.append(message.value())
    consumer.commit(asynchronous=False)
    consumer.close()
    return got

def transact(address, topic, name):
    producer = Producer({"bootstrap.servers": address, "transactional.id": name})
    producer.init_transactions()
    for end, word in ((producer.commit_transaction, b"kept"), (producer.abort_transaction, b"dropped")):
        producer.begin_transaction()
        for number in range(3):
            producer.produce(topic, word)
        producer.flush()
        end()
    producer.begin_transaction()
    producer.produce(topic, b"open")
    producer.flush()
""",
    "kafka-python": """
from kafka import KafkaConsumer, KafkaProducer

def send(address, topic, values):
    producer = KafkaProducer(bootstrap_servers=address, value_serializer=lambda value: value, acks="all")
    futures = [producer.send(topic, value, key=b"k" + value[-1:]) for value in values]
    producer.flush()
    assert all(future.get(10).serialized_header_size == -1 for future in futures)
    producer.close()

def read(address, topic, group, count):
    consumer = KafkaConsumer(
        topic, bootstrap_servers=address, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False,
        value_deserializer=lambda value: value.decode(),
    )
    got = []
    for record in consumer:
        assert not record.headers
        assert record.serialized_header_size == -1
        got.append(record.value.encode())
        if len(got) == count:
            break
    consumer.commit()
    consumer.close()
    return got

def transact(address, topic, name):
    producer = KafkaProducer(bootstrap_servers=address, transactional_id=name)
    producer.init_transactions()
    for end, word in ((producer.commit_transaction, b"kept"), (producer.abort_transaction, b"dropped")):
        producer.begin_transaction()
        for number in range(3):
            producer.send(topic, word)
        producer.flush()
        end()
    producer.begin_transaction()
    producer.send(topic, b"open").get(10)
""",
    "aiokafka": """
import asyncio
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

def send(address, topic, values):
    async def main():
        async with AIOKafkaProducer(bootstrap_servers=address, acks="all") as producer:
            futures = [await producer.send(topic, value, key=b"k" + value[-1:]) for value in values]
            await asyncio.gather(*futures)
    asyncio.run(main())

def read(address, topic, group, count):
    async def main():
        consumer = AIOKafkaConsumer(
            topic, bootstrap_servers=address, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False,
            value_deserializer=lambda value: value.decode(),
        )
        got = []
        async with consumer:
            async for record in consumer:
                assert record.headers == ()
                got.append(record.value.encode())
                if len(got) == count:
                    break
            await consumer.commit()
        return got
    return asyncio.run(main())

def transact(address, topic, name):
    async def main():
        producer = AIOKafkaProducer(bootstrap_servers=address, transactional_id=name)
        await producer.start()
        async with producer.transaction():
            for number in range(3):
                await producer.send(topic, b"kept")
        try:
            async with producer.transaction():
                for number in range(3):
                    await producer.send_and_wait(topic, b"dropped")
                raise KeyError
        except KeyError:
            pass
        await producer.begin_transaction()
        await producer.send_and_wait(topic, b"open")
        import os
        os._exit(0)
    asyncio.run(main())
""",
}


def program(library: str, body: str) -> str:
    return f"import os, sys\naddress, topic = sys.argv[1:3]\n{PROGRAMS[library]}\n{body}"


def agrees_with_kafka(found: Record, kafka: Kafka, topic: str) -> list[Any]:
    """The acknowledged rows are the messages that stand in Kafka's log, each at its place."""
    messages = kafka.messages(topic)
    stand = {(m.partition(), m.offset()): m for m in messages}
    rows = {(row["partition"], row["offset"]): row for row in found.sent() if row["status"] == "acked"}
    assert rows.keys() == stand.keys()
    for place, row in rows.items():
        assert row["value_hash"] == hash64(stand[place].value())
        (header,) = (value for name, value in stand[place].headers() or () if name == "s2g")
        assert parse_header(header) == ("app", row["seq"])
    assert end_offsets(kafka, topic) == len(messages)
    return messages


def end_offsets(kafka: Kafka, topic: str) -> int:
    """Kafka's own word: the sum of the end offsets of a topic."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": "ends", "isolation.level": "read_uncommitted"}
    )
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        return sum(consumer.get_watermark_offsets(TopicPartition(topic, number), 10)[1] for number in partitions)
    finally:
        consumer.close()


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_sent_and_read_is_on_record_with_commits(library: str, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.new_topic(partitions=3)
    body = """
send(address, topic, [b"value %d" % number for number in range(300)])
got = read(address, topic, topic + "-group", 300)
print(len(got), len(set(got)))
"""
    found = run_program(tmp_path, program(library, body), kafka.bootstrap, topic)
    assert found.stdout == "300 300\n"
    agrees_with_kafka(found, kafka, topic)
    assert found.statuses() == {"acked": 300}
    sent = {(row["producer"], row["seq"]): row for row in found.sent()}
    received = found.received()
    assert len(received) == 300
    assert {(row["producer"], row["seq"]) for row in received} == sent.keys()
    for row in received:
        before = sent[row["producer"], row["seq"]]
        assert row["value_hash"] == before["value_hash"]
        assert row["key_hash"] == before["key_hash"]
        assert (row["partition"], row["offset"]) == (before["partition"], before["offset"])
        assert row["at_ns"] >= before["sent_ns"]
        assert row["group"] == f"{topic}-group"
    assert sum(found.committed().values()) == 300
    held = {(place[0], place[1]) for note in found.notes("assigned") for place in note["partitions"]}
    assert held == {(topic, number) for number in range(3)}
    assert {note["role"] for note in found.notes("client")} == {"producer", "consumer"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_transaction_decides_what_is_acknowledged(library: str, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.new_topic()
    found = run_program(
        tmp_path, program(library, "transact(address, topic, topic)\nos._exit(0)\n"), kafka.bootstrap, topic
    )
    assert found.statuses() == {"acked": 3, "failed": 3, "queued": 1}
    kept = kafka.messages(topic, isolation="read_committed")
    assert [message.value() for message in kept] == [b"kept"] * 3
    acknowledged = {row["offset"] for row in found.sent() if row["status"] == "acked"}
    assert acknowledged == {message.offset() for message in kept}
    assert {row["error"] for row in found.sent() if row["status"] == "failed"} == {"transaction aborted"}
    # Seven messages and the markers of the two transactions that ended.
    assert end_offsets(kafka, topic) == 7 + 2


@pytest.mark.parametrize("library", LIBRARIES)
def test_threads_and_processes_lose_no_row(library: str, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.new_topic(partitions=2)
    body = """
if __name__ == "__main__":
    import multiprocessing, threading
    threads = [threading.Thread(target=send, args=(address, topic, [b"t%d-%d" % (t, n) for n in range(50)]))
               for t in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    for how in ("fork", "spawn"):
        context = multiprocessing.get_context(how)
        children = [context.Process(target=send, args=(address, topic, [b"p%d-%d" % (c, n) for n in range(50)]))
                    for c in range(2)]
        for child in children: child.start()
        for child in children: child.join()
        assert all(child.exitcode == 0 for child in children)
"""
    found = run_program(tmp_path, program(library, body), kafka.bootstrap, topic, timeout_s=120)
    messages = agrees_with_kafka(found, kafka, topic)
    assert len(messages) == 3 * 50 + 4 * 50
    assert len(found.journals("sent")) == 1 + 4


@pytest.mark.parametrize("version", ["3.9", "3.10"])
def test_an_older_python_is_recorded_as_ours_is(version: str, kafka: Kafka, tmp_path: Path) -> None:
    """With kafka-python, which is written in Python: our own copy of it serves the other interpreter, too."""
    python = find_python(version)
    if python is None:
        pytest.skip(f"neither the PATH nor pyenv has Python {version}")
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    (libraries / "kafka").symlink_to(Path(str(kafka_python.__file__)).parent)
    topic = kafka.new_topic(partitions=2)
    body = """
import multiprocessing
print(sys.version_info[:2])
send(address, topic, [b"value %d" % number for number in range(100)])
child = multiprocessing.get_context("fork").Process(target=send, args=(address, topic, [b"child"] * 50))
child.start()
child.join()
got = read(address, topic, topic + "-group", 150)
print(len(got), len(set(got)))
transact(address, topic, topic)
os._exit(0)
"""
    text = program("kafka-python", body)
    found = run_program(tmp_path, text, kafka.bootstrap, topic, python=python, libraries=libraries)
    assert found.stdout == f"({version.replace('.', ', ')})\n150 101\n", found.stderr
    assert found.notes("unrecorded") == []
    assert found.statuses() == {"acked": 153, "failed": 3, "queued": 1}
    assert len(found.journals("sent")) == 2
    acknowledged = {(row["partition"], row["offset"]) for row in found.sent() if row["status"] == "acked"}
    assert acknowledged == {(m.partition(), m.offset()) for m in kafka.messages(topic, isolation="read_committed")}
    rows = found.received()
    assert {(row["partition"], row["offset"]) for row in rows} < acknowledged
    assert len(rows) == 150
    assert {row["producer"] for row in rows} == {"app"}
    assert sum(found.committed().values()) == 150


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_killed_producer_leaves_nothing_out(library: str, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.new_topic()
    body = """
def endless():
    number = 0
    while True:
        if number % 200 == 0:
            print(number, flush=True)
        yield b"%d" % number
        number += 1
send(address, topic, endless())
"""
    process, found = start_program(tmp_path, program(library, body), kafka.bootstrap, topic)
    assert process.stdout is not None
    told = 0
    while told < 2000:
        told = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.communicate()
    rows = found.sent()
    assert len(rows) >= told
    assert [row["value_hash"] for row in rows] == [hash64(b"%d" % number) for number in range(len(rows))]
    stand = {parse_header(dict(message.headers())["s2g"]) for message in kafka.messages(topic)}
    assert stand <= {("app", row["seq"]) for row in rows}
    acknowledged = {("app", row["seq"]) for row in rows if row["status"] == "acked"}
    assert acknowledged <= stand


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_killed_consumer_leaves_nothing_out(library: str, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.new_topic()
    run_program(
        tmp_path,
        program(library, 'send(address, topic, [b"%d" % number for number in range(1000)])\n'),
        kafka.bootstrap,
        topic,
    )
    body = """
class Telling(list):
    def append(self, value):
        super().append(value)
        print(value.decode(), flush=True)
        if len(self) == 500:
            import time
            time.sleep(60)
"""
    text = program(library, body + 'read(address, topic, topic + "-killed", 1000)\n').replace(
        "got = []", "got = Telling()"
    )
    process, found = start_program(tmp_path, text, kafka.bootstrap, topic, name="reader")
    assert process.stdout is not None
    handed = [process.stdout.readline().strip() for _ in range(500)]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    rows = [row for row in found.received() if row["group"] == f"{topic}-killed"]
    assert {hash64(value.encode()) for value in handed} <= {row["value_hash"] for row in rows}
    # One by one: what the library had fetched ahead was not handed over.
    assert len(rows) == 500


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_message_to_a_topic_that_is_not_there_failed(library: str, kafka: Kafka, tmp_path: Path) -> None:
    bodies = {
        "confluent-kafka": """
producer = Producer({"bootstrap.servers": address, "message.timeout.ms": 1500, "log_level": 0,
                     "topic.metadata.propagation.max.ms": 500})
producer.produce("no-such-topic", b"x")
producer.flush()
""",
        "kafka-python": """
producer = KafkaProducer(bootstrap_servers=address, max_block_ms=1500)
try:
    producer.send("no-such-topic", b"x").get(5)
except Exception as error:
    print(type(error).__name__)
""",
        "aiokafka": """
async def main():
    async with AIOKafkaProducer(bootstrap_servers=address, request_timeout_ms=1500) as producer:
        try:
            await asyncio.wait_for(producer.send_and_wait("no-such-topic", b"x"), 5)
        except BaseException as error:
            print(type(error).__name__)
asyncio.run(main())
""",
    }
    found = run_program(tmp_path, program(library, bodies[library]), kafka.bootstrap, "none")
    (row,) = found.sent()
    assert row["status"] == "failed"
    assert row["topic"] == "no-such-topic"
    assert row["error"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_wildcard_subscription_is_recorded_by_topic(library: str, kafka: Kafka, tmp_path: Path) -> None:
    topics = [kafka.new_topic(), kafka.new_topic()]
    pattern = f"^({'|'.join(topics)})$"
    bodies = {
        "confluent-kafka": """
consumer = Consumer({"bootstrap.servers": address, "group.id": "wild" + topic, "auto.offset.reset": "earliest"})
consumer.subscribe([topic])
got = set()
while len(got) < 2:
    message = consumer.poll(1)
    if message is not None and message.error() is None: got.add(message.topic())
consumer.close()
""",
        "kafka-python": """
consumer = KafkaConsumer(bootstrap_servers=address, group_id="wild" + topic, auto_offset_reset="earliest")
consumer.subscribe(pattern=topic)
got = set()
while len(got) < 2:
    for place, records in consumer.poll(timeout_ms=1000).items():
        got |= {record.topic for record in records}
consumer.close()
""",
        "aiokafka": """
async def main():
    consumer = AIOKafkaConsumer(bootstrap_servers=address, group_id="wild" + topic, auto_offset_reset="earliest")
    consumer.subscribe(pattern=topic)
    async with consumer:
        got = set()
        while len(got) < 2:
            for place, records in (await consumer.getmany(timeout_ms=1000)).items():
                got |= {record.topic for record in records}
asyncio.run(main())
""",
    }
    for one in topics:
        run_program(tmp_path, program(library, 'send(address, topic, [b"x"])\n'), kafka.bootstrap, one)
    found = run_program(tmp_path, program(library, bodies[library]), kafka.bootstrap, pattern, name="reader")
    rows = found.received()
    assert sorted(row["topic"] for row in rows) == sorted(topics)
    assert {row["producer"] for row in rows} == {"app"}


def test_kafka_python_counts_a_polled_batch_once_and_futures_keep_their_callbacks(
    kafka: Kafka, tmp_path: Path
) -> None:
    topic = kafka.new_topic()
    body = """
heard = []
mine = [("a", b"1"), ("s2g", b"other:3")]
producer = KafkaProducer(bootstrap_servers=address, value_serializer=str.encode)
future = producer.send(topic, "x", headers=mine)
future.add_callback(lambda metadata: heard.append(metadata.offset))
producer.send(topic, "y").get(10)
producer.flush()
print(heard, mine, future.get(5).serialized_header_size)
consumer = KafkaConsumer(topic, bootstrap_servers=address, auto_offset_reset="earliest")
got = []
while len(got) < 2:
    for records in consumer.poll(timeout_ms=1000).values():
        got += records
print([(type(record).__name__, record.value, record.headers, record.serialized_header_size) for record in got])
consumer.close()
"""
    text = program("kafka-python", body)
    found = run_program(tmp_path, text, kafka.bootstrap, topic)
    assert found.stdout.splitlines() == [
        "[0] [('a', b'1'), ('s2g', b'other:3')] 12",
        "[('ConsumerRecord', b'x', [('a', b'1')], 2), ('ConsumerRecord', b'y', [], -1)]",
    ]
    assert [(row["offset"], row["group"]) for row in found.received()] == [(0, "app-group"), (1, "app-group")]
    assert found.statuses() == {"acked": 2}
    agrees_with_kafka(found, kafka, topic)


def test_aiokafka_batches_and_cancelled_waits_have_their_outcomes(kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.new_topic()
    body = """
async def main():
    producer = AIOKafkaProducer(bootstrap_servers=address, linger_ms=200, value_serializer=str.encode)
    await producer.start()
    batch = producer.create_batch()
    for number in range(4):
        batch.append(key=b"k", value="batch %d" % number, timestamp=None)
    metadata = await (await producer.send_batch(batch, topic, partition=0))
    print(metadata.offset)
    try:
        await asyncio.wait_for(producer.send_and_wait(topic, "cancelled"), 0.02)
    except asyncio.TimeoutError:
        print("given up")
    await producer.flush()
    unsent = producer.create_batch()
    unsent.append(key=b"k", value="never sent", timestamp=None)
    await producer.stop()
asyncio.run(main())
"""
    found = run_program(tmp_path, program("aiokafka", body), kafka.bootstrap, topic)
    assert found.stdout == "0\ngiven up\n"
    rows = found.sent()
    values = [b"batch 0", b"batch 1", b"batch 2", b"batch 3", b"cancelled"]
    assert [row["value_hash"] for row in rows] == [hash64(value) for value in values]
    assert [(row["status"], row["offset"]) for row in rows] == [("acked", offset) for offset in range(5)]
    headers = [message.headers() for message in kafka.messages(topic)]
    assert headers[:4] == [None] * 4  # a header would make the program's batch full earlier
    assert headers[4] == [("s2g", b"app:4")]


@pytest.mark.parametrize("library", LIBRARIES)
def test_several_clients_in_one_process_have_their_own_groups(library: str, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.new_topic()
    body = """
send(address, topic, [b"%d" % number for number in range(20)])
send(address, topic, [b"%d" % number for number in range(20)])
for group in ("one", "two"):
    read(address, topic, topic + group, 40)
"""
    found = run_program(tmp_path, program(library, body), kafka.bootstrap, topic)
    assert found.statuses() == {"acked": 40}
    rows = found.received()
    assert [sum(row["group"] == f"{topic}{group}" for row in rows) for group in ("one", "two")] == [40, 40]
    assert len(found.journals("sent")) == 1
    assert len(found.journals("received")) == 2


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_header_that_is_switched_off_is_not_sent(library: str, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.new_topic()
    began = time.monotonic_ns()
    found = run_program(
        tmp_path, program(library, 'send(address, topic, [b"x"])\n'), kafka.bootstrap, topic, header=False
    )
    (row,) = found.sent()
    assert row["status"] == "acked"
    assert row["sent_ns"] > began
    assert [message.headers() for message in kafka.messages(topic)] == [None]


# Each program defines read_new(address, topic, group, go, count): it begins at the end of the topic, as the library
# does by default, calls go() when it knows its position, and gives the values of the messages that came then.
NEW_ONLY = {
    "confluent-kafka": """
def read_new(address, topic, group, go, count):
    from confluent_kafka import TopicPartition
    consumer = Consumer({"bootstrap.servers": address, "group.id": group})
    consumer.subscribe([topic])
    got, gone = [], False
    while len(got) < count:
        message = consumer.poll(0.2)
        assert message is None or message.error() is None
        if message is not None:
            got.append(message.value())
        # The first answer to a fetch was there at the poll before.
        elif not gone and consumer.assignment() and consumer.get_watermark_offsets(
                TopicPartition(topic, 0), cached=True)[1] >= 0:
            consumer.consume(10, 0.5)
            go()
            gone = True
    consumer.close()
    return got
""",
    "kafka-python": """
def read_new(address, topic, group, go, count):
    from kafka import TopicPartition
    consumer = KafkaConsumer(topic, bootstrap_servers=address, group_id=group)
    while not consumer.assignment():
        assert not consumer.poll(100)
    consumer.position(TopicPartition(topic, 0))
    go()
    got = [next(consumer).value for number in range(count)]
    consumer.close()
    return got
""",
    "aiokafka": """
def read_new(address, topic, group, go, count):
    async def main():
        from aiokafka import TopicPartition
        consumer = AIOKafkaConsumer(topic, bootstrap_servers=address, group_id=group)
        async with consumer:
            while not consumer.assignment():
                await consumer.getmany(timeout_ms=100)
            await consumer.position(TopicPartition(topic, 0))
            go()
            return [(await consumer.getone()).value for number in range(count)]
    return asyncio.run(main())
""",
}
NEWCOMER = """
import threading
send(address, topic, [b"old %d" % number for number in range(5)])
def go():
    threading.Thread(target=send, args=(address, topic, [b"new %d" % number for number in range(5)])).start()
print(read_new(address, topic, topic + "-new", go, 5) == [b"new %d" % number for number in range(5)])
"""


@pytest.mark.parametrize("library", LIBRARIES)
def test_where_a_consumer_began_that_reads_only_what_is_new_is_noted(
    library: str, kafka: Kafka, tmp_path: Path
) -> None:
    topic = kafka.new_topic()
    found = run_program(tmp_path, program(library, NEW_ONLY[library] + NEWCOMER), kafka.bootstrap, topic)
    assert found.stdout == "True\n"
    (began,) = found.notes("began")
    assert (began["group"], began["partitions"], began["chosen"]) == (f"{topic}-new", [[topic, 0, 5]], False)
    assert [row["offset"] for row in found.received()] == [5, 6, 7, 8, 9]
    (client,) = (note for note in found.notes("client") if note["role"] == "consumer")
    assert client["start"] == "latest"


CHOOSERS = {
    "confluent-kafka": """
from confluent_kafka import OFFSET_BEGINNING, TopicPartition
def move(consumer, partitions):
    for partition in partitions:
        partition.offset = 3
    consumer.assign(partitions)
consumer = Consumer({"bootstrap.servers": address, "group.id": topic, "auto.offset.reset": "earliest"})
consumer.subscribe([topic], on_assign=move)
while (message := consumer.poll(1)) is None: pass
print(message.offset())
consumer.close()
""",
    "kafka-python": """
from kafka import TopicPartition
consumer = KafkaConsumer(bootstrap_servers=address, group_id=topic, auto_offset_reset="earliest")
consumer.assign([TopicPartition(topic, 0)])
consumer.position(TopicPartition(topic, 0))
consumer.seek(TopicPartition(topic, 0), 3)
print(next(consumer).offset)
consumer.close()
""",
    "aiokafka": """
async def main():
    from aiokafka import TopicPartition
    consumer = AIOKafkaConsumer(bootstrap_servers=address, group_id=topic, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, 0)])
    async with consumer:
        await consumer.position(TopicPartition(topic, 0))
        consumer.seek(TopicPartition(topic, 0), 3)
        print((await consumer.getone()).offset)
asyncio.run(main())
""",
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_place_that_the_program_chose_is_where_it_began(library: str, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.new_topic()
    body = 'send(address, topic, [b"%d" % number for number in range(5)])\n' + CHOOSERS[library]
    found = run_program(tmp_path, program(library, body), kafka.bootstrap, topic)
    assert found.stdout == "3\n"
    last = found.notes("began")[-1]
    assert (last["partitions"], last["chosen"]) == ([[topic, 0, 3]], True)
    assert last["again"] == (library != "confluent-kafka")


def test_ends_of_partitions_are_hidden_from_a_program_that_did_not_ask_for_them(kafka: Kafka, tmp_path: Path) -> None:
    """The recorder has them told to know where a consumer began; consume() fills its batches all the same."""
    topic = kafka.new_topic(partitions=3)
    body = """
import time
def reader(**more):
    consumer = Consumer({"bootstrap.servers": address, "group.id": topic + str(more), **more})
    consumer.subscribe([topic])
    return consumer
plain, eager = reader(), reader(**{"enable.partition.eof": True})
told = 0
while told < 3:
    message = eager.poll(1)
    told += message is not None and message.error() is not None
began = time.monotonic()
while len(plain.assignment()) < 3 or time.monotonic() < began + 2:
    assert plain.poll(0.1) is None
    assert plain.consume(5, 0.1) == []
took = time.monotonic()
assert plain.poll(0.5) is None
assert time.monotonic() >= took + 0.45
send(address, topic, [b"%d" % number for number in range(60)])
got = plain.consume(60, 20)
print(told, len(got), {message.error() for message in got})
plain.close(), eager.close()
"""
    found = run_program(tmp_path, program("confluent-kafka", body), kafka.bootstrap, topic)
    assert found.stdout == "3 60 {None}\n"
    began = {note["group"]: sum(other["group"] == note["group"] for other in found.notes("began"))
             for note in found.notes("began")}  # fmt: skip
    assert set(began.values()) == {3}
    assert {place[2] for note in found.notes("began") for place in note["partitions"]} == {0}
