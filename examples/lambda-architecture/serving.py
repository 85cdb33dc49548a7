"""The serving layer: answers with the batch view, and with the speed view for what that one has not counted yet.

It writes its answers down once a second, and when it is asked to end.
"""

import json
import os
import signal
import threading
import time
from pathlib import Path

from confluent_kafka import Consumer


class Views:
    """The newest batch view and the speed view, as far as they were received."""

    def __init__(self) -> None:
        self.covered = 0  # how many slices of the log the batch view has counted
        self.batch: dict[str, int] = {}  # views of each page in these slices
        self.speed: dict[tuple[str, int], int] = {}  # views of each page in each slice

    def take(self, topic: str, said: dict) -> None:
        if topic == "speed":
            self.speed[said["page"], said["slice"]] = said["count"]
        elif said["slices"] >= self.covered:
            if said["slices"] > self.covered:
                self.batch = {}  # a newer view: all of its pages follow
            self.covered = said["slices"]
            self.batch[said["page"]] = said["count"]

    def answer(self) -> dict:
        recent: dict[str, int] = {}
        for (page, part), count in self.speed.items():
            if part >= self.covered:
                recent[page] = recent.get(page, 0) + count
        return {"covered": self.covered, "batch": self.batch, "speed": recent}


ended = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: ended.set())
consumer = Consumer(
    {
        "bootstrap.servers": os.environ["S2G_BOOTSTRAP"],
        "group.id": os.environ["S2G_GROUP"],
        "auto.offset.reset": "earliest",
    }
)
consumer.subscribe(["batch", "speed"])
views = Views()
next_s = 0.0
with Path("logs/output/answers.jsonl").open("w") as file:
    while not ended.is_set():
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            views.take(message.topic(), json.loads(message.value()))
        if time.monotonic() >= next_s:
            next_s = time.monotonic() + 1
            file.write(json.dumps(views.answer()) + "\n")
            file.flush()
    file.write(json.dumps(views.answer()) + "\n")
consumer.close()
