"""Programs of a user's that count what they do and know nothing of us, for tests that observe them from outside.

Each says at its end how many messages it got acknowledged, or was handed.
"""

from __future__ import annotations

KAFKA_PYTHON_WRITES = """
import os, sys, time
from kafka import KafkaProducer
producer = KafkaProducer(bootstrap_servers=os.environ["S2G_BOOTSTRAP"].split(","), acks="all",
                         linger_ms=100)
futures = []
stop = int(os.environ["S2G_STOP_NS"]) - 12_000_000_000
while time.monotonic_ns() < stop:
    number = len(futures)
    futures.append(producer.send("t", b"%s %d" % (sys.argv[2].encode(), number), key=b"k%d" % (number % 7)))
    time.sleep(0.004)
acknowledged = sum(future.get(20) is not None for future in futures)
print('S2G {"acknowledged": %d}' % acknowledged, flush=True)
"""

CONFLUENT_WRITES = """
import os, time
from confluent_kafka import Producer
acknowledged = 0
def report(error, message):
    global acknowledged
    acknowledged += error is None
producer = Producer({"bootstrap.servers": os.environ["S2G_BOOTSTRAP"], "compression.type": "gzip", "acks": "all",
                     "linger.ms": 100})
number = 0
stop = int(os.environ["S2G_STOP_NS"]) - 12_000_000_000
while time.monotonic_ns() < stop:
    producer.produce("t", b"foreign %d" % number, on_delivery=report)
    producer.poll(0.004)
    number += 1
producer.flush(20)
print('S2G {"acknowledged": %d}' % acknowledged, flush=True)
"""

CONFLUENT_REPEATS = """
import os, time
from confluent_kafka import Producer
acknowledged = 0
def report(error, message):
    global acknowledged
    acknowledged += error is None
producer = Producer({"bootstrap.servers": os.environ["S2G_BOOTSTRAP"], "acks": os.environ["ACKS"],
                     "enable.idempotence": False, "request.timeout.ms": 800, "socket.timeout.ms": 1000,
                     "reconnect.backoff.max.ms": 200, "linger.ms": 5, "message.timeout.ms": 30000})
number = 0
stop = int(os.environ["S2G_STOP_NS"]) - 4_000_000_000
while time.monotonic_ns() < stop:
    producer.produce("t", b"the same %d" % (number // 2), on_delivery=report)
    producer.poll(0.004)
    number += 1
producer.flush(20)
print('S2G {"acknowledged": %d, "made": %d}' % (acknowledged, number), flush=True)
"""

CONFLUENT_READS = """
import os, signal
from confluent_kafka import Consumer
consumer = Consumer({"bootstrap.servers": os.environ["S2G_BOOTSTRAP"], "group.id": "foreign",
                     "auto.offset.reset": "earliest"})
consumer.subscribe(["t"])
going = True
def stop(*_):
    global going
    going = False
signal.signal(signal.SIGTERM, stop)
handed = 0
while going:
    message = consumer.poll(0.1)
    if message is not None and message.error() is None:
        handed += 1
print('S2G {"handed": %d}' % handed, flush=True)
consumer.close()
"""

KAFKA_PYTHON_READS = """
import os, signal
from kafka import KafkaConsumer
consumer = KafkaConsumer("t", bootstrap_servers=os.environ["S2G_BOOTSTRAP"].split(","), group_id="pythonic",
                         auto_offset_reset="earliest")
going = True
def stop(*_):
    global going
    going = False
signal.signal(signal.SIGTERM, stop)
handed = 0
while going:
    handed += sum(map(len, consumer.poll(100).values()))
print('S2G {"handed": %d}' % handed, flush=True)
consumer.close()
"""


def foreign(python: str, program: str) -> str:
    """An executable that starts the program where nothing of ours, and no variable of Python's, can reach it."""
    return f'#!/bin/sh\nexec "{python}" -I "$(dirname "$0")/{program}" "$@"\n'
