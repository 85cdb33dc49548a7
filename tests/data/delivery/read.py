"""Reads ``in`` until it is stopped, as a program that nobody observes."""

import os

from confluent_kafka import Consumer

consumer = Consumer(
    {
        "bootstrap.servers": os.environ["S2G_BOOTSTRAP"],
        "group.id": os.environ["S2G_GROUP"],
        "auto.offset.reset": "earliest",
    }
)
consumer.subscribe(["in"])
while True:
    consumer.poll(0.5)
