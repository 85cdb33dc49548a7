"""Faults in real runs: by hand and on schedule, as root and as an ordinary user; interrupted, killed, failing."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.leaks import ALONE, Holdings, left_behind, snapshot
from tests.support.users import User, myself, with_software
from tests.system.conftest import Running, Starter

pytestmark = pytest.mark.timeout(900)  # a crowded machine takes its time
SMALL = """\
s2g: 1
name: small
topology: {kind: star, hosts: 3, latency: 1 ms}
brokers: [{on: h1}]
topics: [t]
producers: [{name: gen, on: h2, topic: t, rate: 100/s, size: 20 B}]
consumers: [{name: see, on: h3, topics: [t], group: g}]
drain: 60 s
"""
FROZEN = """\
time: 600 s
faults:
  - {name: cut, do: down, on: h2 -- s1, at: 1 s, for: 500 s}
  - {name: frozen, do: pause, on: broker-h1, at: 1 s, for: 500 s}
"""


CONDITIONS = {
    "messages": "after: 100 messages",
    "acked": "when: acked > 100",
    "received": "when: received >= 100",
    "lag": "when: lag >= 0",
    "controller": "when: broker-h1 is controller",
    "leader": "when: broker-h1 is leader of t/0",
    "coordinator": "when: broker-h1 is coordinator of g",
    "two": "after: [acked, received], delay: 200 ms",
}


def left(before: Holdings) -> dict[str, list[str]]:
    found = left_behind(before)
    if not ALONE:
        found.pop("/tmp", None)  # other people's runs leave their things there meanwhile
    return found


def waiting() -> Iterator[str]:
    """A harmless fault for every condition that there is."""
    for name, condition in CONDITIONS.items():
        yield f"  - {{name: {name}, do: degrade, on: h3 -- s1, latency: 2 ms, for: 500 ms, {condition}}}\n"


def wait_for_faults(running: Running, *names: str) -> None:
    for name in names:
        running.wait_for(f"fault {name} applied", within_s=120)


@pytest.mark.long
def test_ctrl_c_during_faults_undoes_them_and_keeps_the_record(starter: Starter) -> None:
    before = snapshot()
    running = starter.start(starter.write(SMALL + FROZEN), "--no-report")
    wait_for_faults(running, "cut", "frozen")
    running.interrupt()

    assert running.end(180) == 130, running.output
    assert {event["fault"] for event in running.events("fault-healed")} == {"cut", "frozen"}
    assert all(event["at_end"] for event in running.events("fault-healed"))
    assert running.info["state"] == "interrupted"
    assert running.info["sealed"]
    assert not running.events("died")
    assert left(before) == {}


def test_when_we_are_killed_during_faults_nothing_is_left(starter: Starter) -> None:
    before = snapshot()
    running = starter.start(starter.write(SMALL + FROZEN), "--no-report")
    wait_for_faults(running, "cut", "frozen")
    running.process.kill()

    assert running.end(60) == -9
    assert left(before) == {}
    assert [event["fault"] for event in running.events("fault-applied")] == ["cut", "frozen"]


def test_a_fault_that_cannot_be_applied_makes_the_verdict_unknown(starter: Starter) -> None:
    faults = """\
time: 4 s
faults:
  - {name: dead, do: kill, on: see, at: 0 s}
  - {name: late, do: pause, on: see, when: sent >= 200, for: 1 s}
  - {name: never, do: down, on: h2 -- s1, when: lag > 1000000}
expect: [failed == 0]
"""
    running = starter.start(starter.write(SMALL.replace("drain: 60 s", "drain: 1 s") + faults), "--no-report")

    assert running.end(180) == 3, running.output
    [failed] = running.events("fault-failed")
    assert (failed["fault"], failed["reason"]) == ("late", "see is not running")
    [skipped] = running.events("fault-skipped")
    assert (skipped["fault"], skipped["reason"]) == ("never", "its condition never came: lag > 1000000")
    verdict = json.loads((running.path / "verdict.json").read_text())
    assert verdict["outcome"] == "unknown"
    assert "see is not running" in json.dumps(verdict)


@pytest.fixture(params=["root", "ordinary"])
def person(request: pytest.FixtureRequest, users: dict[str, User]) -> User:
    """Root and an ordinary user who can run everything."""
    return myself() if request.param == "root" else with_software(users["ordinary"])


@pytest.fixture
def by(person: User, tmp_path: Path) -> Iterator[Starter]:
    folder = tmp_path if person.uid is None else Path(person.env["HOME"])
    made = Starter(folder, person)
    yield made
    made.close()


@pytest.mark.long
def test_faults_by_hand_and_on_schedule_are_the_same_to_the_record(by: Starter, person: User) -> None:
    before = snapshot()
    faults = f"""\
time: 300 s
faults:
  - {{name: slow, do: degrade, on: h2 -- s1, latency: 20 ms, at: 1 s, for: 250 s}}
  - {{name: again, do: restart, on: see, after: 200 messages}}
  - {{name: frozen, do: pause, on: leader of t/0, after: [slow, again], for: 1 s}}
{"".join(waiting())}
expect: [lost == 0]
"""
    running = by.start(by.write(SMALL + faults), "--no-report", out="by-hand")

    def fault(*words: str) -> subprocess.CompletedProcess[str]:
        return person.run("fault", str(running.path), *words, cwd=by.folder)

    wait_for_faults(running, "slow")
    said = [
        fault("down h3 -- s1", "--for", "1s", "--name", "mine"),
        fault("degrade h1 -- s1", "--set", "latency=5ms", "--name", "extra"),
        fault("list"),
        fault("heal", "extra"),
        fault("heal", "extra"),
        fault("down h9 -- s1"),
        fault("list", "--json"),
        fault("heal", "slow"),
    ]
    for name in ("mine", "again", "frozen", *CONDITIONS):
        running.wait_for(f"fault {name} healed", within_s=120)
    last = fault("stop gen", "--name", "enough")  # without its only source the load is over

    assert running.end(240) == 0, running.output
    assert [one.returncode for one in (*said, last)] == [0, 0, 0, 0, 2, 2, 0, 0, 0], said
    assert said[0].stdout == "mine: down h3 -- s1: in force\n"
    assert "extra: degrade h1 -- s1: in force" in said[2].stdout
    assert "slow: degrade h2 -- s1: in force, until +" in said[2].stdout
    assert "frozen: pause leader of t/0: waits for fault slow, again" in said[2].stdout
    assert said[3].stdout == "extra: healed\n"
    assert "no such fault is in force" in said[4].stderr
    assert "no link 'h9 -- s1'" in said[5].stderr
    assert {"active", "planned", "waiting"} == json.loads(said[6].stdout).keys()
    applied = {event["fault"]: event for event in running.events("fault-applied")}
    healed = {event["fault"] for event in running.events("fault-healed")}
    assert applied.keys() == healed == {"slow", "again", "frozen", "mine", "extra", "enough", *CONDITIONS}
    assert applied["frozen"]["on"] == ["broker-h1"]
    assert applied["mine"].keys() == applied["slow"].keys()
    assert not running.events("died")
    over = person.run("fault", str(running.path), "list", cwd=by.folder)
    assert (over.returncode, "is over" in over.stderr) == (2, True)
    assert left(before) == {}
