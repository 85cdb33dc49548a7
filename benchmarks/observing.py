"""What observing people's own programs costs: CPU a message of the same program, with and without the recorder.

    ./s2g bench observing [MESSAGES]

One bare broker on loopback. For each library one program sends messages of 100 bytes and waits for their outcomes,
another reads them. Each is run in turns with the recorder and without; CPU time is that of the whole process from its
first message on, and the best round of each counts, so that what else the machine does disturbs less.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.table import Table
from stream2gym.instrument.settings import VARIABLE, Settings
from stream2gym.record.journal import ACKED, Reader
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.loopback_broker import loopback_broker

ON_PATH = Path(__file__).parents[1] / "src/stream2gym/instrument/onpath"
ROUNDS = 5
MOST_US = 10.0

_SEND = {
    "confluent-kafka": """
producer = Producer({"bootstrap.servers": address, "queue.buffering.max.messages": 2000000})
begin()
for _ in range(count):
    producer.produce(topic, value)
    producer.poll(0)
producer.flush()
""",
    "kafka-python": """
producer = KafkaProducer(bootstrap_servers=address, linger_ms=20, batch_size=1 << 17)
producer.partitions_for(topic)
begin()
for _ in range(count):
    producer.send(topic, value)
producer.flush()
""",
    "aiokafka": """
async def main():
    async with AIOKafkaProducer(bootstrap_servers=address, linger_ms=5) as producer:
        await producer.partitions_for(topic)
        begin()
        for _ in range(count):
            future = await producer.send(topic, value)
        await producer.flush()
asyncio.run(main())
""",
}
_READ = {
    "confluent-kafka": """
consumer = Consumer({"bootstrap.servers": address, "group.id": "bench", "enable.auto.commit": False})
consumer.assign([TopicPartition(topic, 0, 0)])
while consumer.poll(1) is None:
    pass
begin()
seen = 1
while seen < count:
    seen += consumer.poll(1) is not None
""",
    "kafka-python": """
consumer = KafkaConsumer(bootstrap_servers=address, auto_offset_reset="earliest")
consumer.assign([TopicPartition(topic, 0)])
next(consumer)
begin()
for seen, record in enumerate(consumer, 2):
    if seen >= count:
        break
""",
    "aiokafka": """
async def main():
    consumer = AIOKafkaConsumer(bootstrap_servers=address, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, 0)])
    async with consumer:
        await consumer.getone()
        begin()
        for _ in range(count - 1):
            await consumer.getone()
asyncio.run(main())
""",
}
_IMPORTS = {
    "confluent-kafka": "from confluent_kafka import Consumer, Producer, TopicPartition",
    "kafka-python": "from kafka import KafkaConsumer, KafkaProducer, TopicPartition",
    "aiokafka": "import asyncio\nfrom aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition",
}
_FRAME = """
import sys, time
{imports}
address, topic, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
value = b"x" * 100
def begin():
    global began
    began = time.process_time()
{body}
print((time.process_time() - began) / count * 1e6)
"""


def main() -> int:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    table = Table("Observing people's own programs")
    with tempfile.TemporaryDirectory() as name, loopback_broker(ensure_kafka(), Path(name)) as broker:
        address = f"127.0.0.1:{broker.port}"
        for library in _IMPORTS:
            count = int(words[0]) if words else (200_000 if library == "confluent-kafka" else 50_000)
            compare(table, Path(name), address, library, count)
    return table.finish()


def compare(table: Table, folder: Path, address: str, library: str, count: int) -> None:
    """Both programs of a library, with the recorder and without."""
    topics = {recorded: f"{library}-{'recorded' if recorded else 'plain'}" for recorded in (True, False)}
    for topic in topics.values():
        make_topic(address, topic)
    for verb, bodies in (("sends", _SEND), ("reads", _READ)):
        text = _FRAME.format(imports=_IMPORTS[library], body=bodies[library])
        costs: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(ROUNDS):
            for recorded in (True, False):
                costs[recorded].append(run(folder, text, [address, topics[recorded], str(count)], recorded=recorded))
        check(folder, verb, count)
        full, bare = min(costs[True]), min(costs[False])
        table.add(
            f"{library}: CPU a message that it {verb}, observed",
            f"{full:.2f} us ({full - bare:+.2f} us)",
            f"less than {MOST_US:g} us more",
            f"unobserved {bare:.2f} us",
            full - bare < MOST_US,
        )


def run(folder: Path, text: str, arguments: list[str], *, recorded: bool) -> float:
    """Microseconds of CPU a message of one run of a program."""
    raw = folder / "raw"
    raw.mkdir(exist_ok=True)
    for path in raw.iterdir():
        if recorded:
            path.unlink()
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", VARIABLE)}
    if recorded:
        settings = Settings(raw=str(raw), name="bench", label="bench", group="bench")
        environment |= {"PYTHONPATH": str(ON_PATH), VARIABLE: settings.to_text()}
    program = folder / "program.py"
    program.write_text(text)
    said = subprocess.run(
        [sys.executable, str(program), *arguments],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if said.returncode:
        raise SystemExit(said.stderr)
    return float(said.stdout)


def check(folder: Path, verb: str, count: int) -> None:
    """The last observed run left every message on record, or the figure is worth nothing."""
    (path,) = (folder / "raw").glob("sent.*.journal" if verb == "sends" else "received.*.journal")
    rows = [row.get("status", ACKED) for row in Reader(path).rows()]
    if rows != [ACKED] * count:
        raise SystemExit(f"{len(rows)} rows of {count} messages, {rows.count(ACKED)} acknowledged")


def make_topic(address: str, name: str) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)


if __name__ == "__main__":
    sys.exit(main())
