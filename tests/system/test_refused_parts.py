"""Bad input, software that says no, programs that misbehave: a clear message, the exit code, the record kept."""

from __future__ import annotations

import pytest

from tests.system.conftest import Running, Starter
from tests.system.small import SMALL

# ---- bad input: found before anything starts


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("topics: [t]", "topics: [{name: t, replicas: 3}]"), "replicas"),
        (("topic: t, rate", "rate"), "needs a topic"),
        (("brokers: [{on: h1}]", "brokers: [{on: h1}, {name: b, on: h1}]"), "h1 has the broker"),
        (("rate: 100/s, size: 20 B", "type: SFST, file: no.csv"), "no.csv"),
        (("rate: 100/s, size: 20 B", "type: CUSTOM, app: no.py"), "no.py"),
        (("brokers: [{on: h1}]", "brokers: [{on: h1, type: rabbitmq}, {on: h2}]"), "are mixed"),
    ],
)
def test_bad_input_is_told_before_anything_starts(starter: Starter, change: tuple[str, str], words: str) -> None:
    running = starter.start(starter.write(SMALL.replace(*change, 1)))
    assert running.end() == 2
    assert words in running.output
    assert "Traceback" not in running.output
    assert not running.path.exists()


def test_a_program_that_is_not_executable_is_told_with_the_remedy(starter: Starter) -> None:
    (starter.folder / "tool").write_text("#!/bin/sh\n")
    text = SMALL.replace("rate: 100/s, size: 20 B", "type: CUSTOM, app: tool")
    running = starter.start(starter.write(text))
    assert running.end() == 2
    assert "chmod +x" in running.output


def test_a_cluster_that_cannot_form_is_told_before_anything_starts(starter: Starter) -> None:
    text = SMALL.replace("brokers: [{on: h1}]", "brokers: [{on: h1}, {on: h2}, {on: h3}]")
    text = text.replace("hosts: 2, latency: 1 ms", "hosts: 3, latency: 600 ms") + "startup: as-configured\n"
    running = starter.start(starter.write(text), "--no-report")
    assert running.end() == 2
    assert "no majority of the controllers" in running.output
    assert "startup: fast" in running.output
    assert not running.path.exists()


# ---- the real software says no


def test_a_property_that_kafka_refuses_is_shown_in_its_own_words(starter: Starter) -> None:
    text = SMALL.replace("{on: h1}", "{on: h1, config: {log.segment.bytes: 3}}")
    running = starter.start(starter.write(text))
    assert running.end() == 3
    assert "broker-h1" in running.output
    assert "ConfigException" in running.output
    assert "log.segment.bytes" in running.output
    assert running.info["state"] == "failed"
    assert running.info["sealed"]


def test_a_topic_property_that_kafka_refuses_is_shown_in_its_own_words(starter: Starter) -> None:
    text = SMALL.replace("topics: [t]", "topics: [{name: t, config: {cleanup.policy: shred}}]", 1)
    running = starter.start(starter.write(text))
    assert running.end() == 3
    assert "cleanup.policy" in running.output


def test_a_client_property_that_is_refused_names_the_component(starter: Starter) -> None:
    text = SMALL.replace("size: 20 B", "size: 20 B, client: {no.such.thing: 1}")
    running = starter.start(starter.write(text))
    assert running.end() == 3
    assert "gen on h2" in running.output
    assert "no.such.thing" in running.output


# ---- programs of the user's


def program(starter: Starter, body: str, *, time_s: int = 2, more: str = "") -> Running:
    (starter.folder / "prog.py").write_text(body)
    text = SMALL.replace("rate: 100/s, size: 20 B", f"type: CUSTOM, app: prog.py{more}")
    return starter.start(starter.write(text.replace("time: 30 s", f"time: {time_s} s")), "--no-report")


def test_a_program_gets_its_arguments_its_environment_and_a_place_to_write(starter: Starter) -> None:
    running = program(
        starter,
        "import json, os, sys\n"
        "from confluent_kafka import Producer\n"
        "p = Producer({'bootstrap.servers': os.environ['S2G_BOOTSTRAP']})\n"
        "for n in range(10): p.produce(os.environ['S2G_TOPICS'], b'x%d' % n)\n"
        "left = p.flush(10)\n"
        "open('logs/output/prod/mine.log', 'w').write(' '.join(sys.argv[1:]))\n"
        "print('a line for the log')\n"
        "print('S2G', json.dumps({'event': 'flushed', 'left': left}))\n"
        "print('S2G', json.dumps({'metric': 'made', 'value': 10}))\n",
    )
    assert running.end() == 0, running.output
    assert (running.path / "work/logs/output/prod/mine.log").read_text() == "h2 1"
    assert "a line for the log" in (running.path / "logs/h2.gen.log").read_text()
    [event] = running.events("program")
    assert event["name"] == "flushed"
    assert event["details"] == {"left": 0}
    assert running.info["rows"]["received"] == 10
    [finished] = running.events("finished")
    assert finished["component"] == "gen"


def test_a_program_that_crashes_at_once_fails_the_run(starter: Starter) -> None:
    running = program(starter, "raise SystemExit(7)\n", more=", restart: {times: 1, delay: 100 ms}")
    assert running.end() == 1, running.output
    died = running.events("died")
    assert [event["code"] for event in died] == [7, 7]
    assert len(running.events("restarted")) == 1
    assert "gen on h2 died: exit code 7" in running.output


@pytest.mark.long
def test_a_program_that_ignores_sigterm_is_killed_in_time(starter: Starter) -> None:
    running = program(
        starter,
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(60)\n",
        more=", grace: 0 s",
    )
    assert running.end(90) == 0, running.output
    [event] = running.events("ignored-stop")
    assert event["component"] == "gen"
