"""Writes 3,000 messages to ``in`` and 60 to ``out``, as a program that nobody observes."""

import os

from confluent_kafka import Producer

producer = Producer({"bootstrap.servers": os.environ["S2G_BOOTSTRAP"]})
for number in range(3060):
    producer.produce("in" if number < 3000 else "out", str(number).encode())
producer.flush(30)
