"""How programs of the user's end: by themselves where they can, by a signal where they cannot."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from stream2gym.execution.drive_load import Load
from tests.support.play import play, star

BROKER: dict[str, Any] = {"topology": star(2), "brokers": [{"name": "broker", "on": "h1"}], "topics": ["t"]}

# Sends until the load ends, then takes a second for what is under way, and tells what it did.
FLUSHES = """
import json, os, time
from confluent_kafka import Producer

acknowledged = 0
def count(error, message):
    global acknowledged
    acknowledged += error is None

producer = Producer({"bootstrap.servers": os.environ["S2G_BOOTSTRAP"]})
sent = 0
while time.monotonic_ns() < int(os.environ["S2G_STOP_NS"]):
    producer.produce("t", b"x", on_delivery=count)
    sent += 1
    producer.poll(0.02)
time.sleep(1.0)
producer.produce("t", b"the last one", on_delivery=count)
producer.flush(5)
print("S2G", json.dumps({"sent": sent + 1, "acknowledged": acknowledged}))
"""

# Reads until nothing came for two seconds, and tells how much it got.
READS = """
import json, os
from confluent_kafka import Consumer

consumer = Consumer({"bootstrap.servers": os.environ["S2G_BOOTSTRAP"], "group.id": os.environ["S2G_GROUP"],
                     "auto.offset.reset": "earliest"})
consumer.subscribe(["t"])
got = 0
while (message := consumer.poll(2.0 if got else 30.0)) is not None:
    got += message.error() is None
consumer.close()
print("S2G", json.dumps({"got": got}))
"""

FOR_EVER = "import time\nwhile True:\n    time.sleep(0.1)\n"


def test_programs_end_by_themselves_and_their_last_word_arrives(tmp_path: Path) -> None:
    experiment = BROKER | {
        "producers": [{"name": "own", "on": "h1", "type": "CUSTOM", "app": "send.py"}],
        "consumers": [{"name": "eat", "on": "h2", "type": "CUSTOM", "app": "read.py", "topics": ["t"]}],
        "time": "3 s",
    }
    run = play(experiment, tmp_path, {"send.py": FLUSHES, "read.py": READS})
    assert run.outcome.error is None
    assert run.events("finished", component="own"), "it was not asked to stop"
    assert run.events("finished", component="eat")
    assert not run.events("grace-over")
    (sent,) = run.samples("program", "own", "sent")
    assert run.samples("program", "own", "acknowledged") == [sent]
    assert run.samples("program", "eat", "got") == [sent], "what was sent in the grace period is delivered, too"
    at_s = {event["phase"]: event["t_s"] for event in run.events("phase")}
    (finished,) = run.events("finished", component="own")
    assert 2.9 < at_s["grace"] < 3.5
    assert at_s["grace"] + 0.9 < finished["t_s"] < at_s["drain"], "the drain begins when producers have ended"


def test_a_program_that_never_ends_is_asked_to_when_its_grace_is_over(tmp_path: Path) -> None:
    experiment = BROKER | {
        "producers": [
            {"name": "at-once", "on": "h1", "type": "CUSTOM", "app": "loop.py", "grace": "0 s"},
            {"name": "later", "on": "h2", "type": "CUSTOM", "app": "loop.py", "grace": "1500 ms"},
        ],
        "time": "1 s",
    }
    run = play(experiment, tmp_path, {"loop.py": FOR_EVER})
    (at_once,) = run.events("stopped", component="at-once")
    (later,) = run.events("stopped", component="later")
    assert 0.9 < at_once["t_s"] < 1.7
    assert 2.4 < later["t_s"] < 4.0
    assert [event["component"] for event in run.events("grace-over")] == ["later"]


def test_a_load_that_lasts_longer_than_planned_says_who_waited_for_what(tmp_path: Path) -> None:
    experiment = BROKER | {
        "producers": [
            {"name": "pa", "on": "h2", "topic": "t", "rate": "50/s"},
            {"name": "early", "on": "h2", "topic": "t", "messages": 3},
        ],
        "time": "3 s",
        "drain": "1 s",
    }

    def kill_broker(load: Load) -> None:
        # By then the other producer has been answered.
        time.sleep(1.0)
        load.components.brokers[0].processes[0].kill()

    run = play(experiment, tmp_path, at_t0=kill_broker)
    (told,) = run.events("load-overran")
    assert told["waiting"] == ["pa"]
    assert told["planned_s"] == 3.0
    assert 10.0 < told["load_s"] < 14.0, "it gives up on acknowledgements after 8 s"
