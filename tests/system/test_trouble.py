"""Trouble of every kind: a clear message, the right exit code, the record kept, nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.hangups import hangups
from tests.support.leaks import ALONE, Holdings, left_behind, snapshot
from tests.support.users import myself
from tests.system.conftest import Running, Starter
from tests.system.small import SMALL


def pids_of(running: Running, words: str) -> list[int]:
    """Processes below the run whose command line has these words, as the machine numbers them."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(folder.name))
    found, queue = [], [running.process.pid]
    while queue:
        pid = queue.pop()
        queue += children.get(pid, [])
        try:
            if words in Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode():
                found.append(pid)
        except OSError:
            continue
    return found


def nothing_left(before: Holdings) -> bool:
    left = left_behind(before)
    if not ALONE:
        left.pop("/tmp", None)  # other people's runs leave their things there meanwhile
    return not left


# ---- things that go wrong while it runs


@pytest.mark.long
def test_a_broker_killed_from_outside_is_shown_at_once_and_fails_the_verdict(starter: Starter) -> None:
    running = starter.start(starter.write(SMALL.replace("time: 30 s", "time: 3 s")), "--no-report")
    running.wait_for("load")
    for pid in pids_of(running, "kafka.Kafka"):
        os.kill(pid, signal.SIGKILL)
    running.wait_for("broker-h1 on h1 died: killed by SIGKILL", within_s=20)
    assert running.end(90) == 1, running.output
    assert running.info["state"] == "done"


def test_the_death_of_the_fabric_ends_the_run_at_once(starter: Starter) -> None:
    running = starter.start(starter.write(SMALL))
    running.wait_for("load")
    [pid] = pids_of(running, "fabric.userspace.main")
    os.kill(pid, signal.SIGKILL)
    running.wait_for("the fabric process died", within_s=20)
    running.wait_for("] seal", within_s=40)
    assert running.end(90) == 3
    assert running.info["sealed"]


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare")
def test_a_full_disk_in_the_run_folder_is_one_clear_message(starter: Starter) -> None:
    starter.write(SMALL.replace("rate: 100/s, size: 20 B", "rate: 20000/s, size: 10 B"))
    (starter.folder / "disk").mkdir()
    words = 'mount -t tmpfs -o size=4m none disk && exec "$0" -m stream2gym run experiment.yaml --out disk/run'
    own = [] if os.geteuid() == 0 else ["-r"]
    done = subprocess.run(
        ["unshare", "-m", *own, "sh", "-c", words, sys.executable],
        cwd=starter.folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "no room left for the record" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("phase", "number"),
    [
        ("network", signal.SIGINT),
        ("brokers", signal.SIGTERM),
        ("consumers", signal.SIGHUP),
        ("load", signal.SIGINT),
    ],
)
def test_a_signal_stops_orderly_in_every_phase(starter: Starter, phase: str, number: signal.Signals) -> None:
    before = snapshot()
    with hangups(signal.SIG_DFL):
        running = starter.start(starter.write(SMALL), "--no-report")
    running.wait_for(f"] {phase}")
    running.interrupt(number)
    assert running.end(120) == 130, running.output
    assert "Traceback" not in running.output
    assert running.info["state"] == "interrupted"
    assert running.info["sealed"]
    assert nothing_left(before)


def test_a_run_that_ignores_hangups_loses_no_program_to_them_while_it_starts(starter: Starter) -> None:
    with hangups(signal.SIG_IGN):  # as nohup does
        running = starter.start(starter.write(SMALL.replace("time: 30 s", "time: 1 s")), "--no-report")
    while not any("] load" in line for line in running.lines):
        assert running.process.poll() is None, running.output
        running.interrupt(signal.SIGHUP)
        time.sleep(0.0005)  # a program that starts stays in the group of the command for about a millisecond
    assert running.end(90) == 0, running.output


@pytest.mark.long
def test_ctrl_c_while_consumers_hang_in_the_drain_judges_what_is_there(starter: Starter) -> None:
    text = SMALL.replace("time: 30 s", "time: 2 s").replace("drain: 5 s", "drain: 60 s")
    running = starter.start(starter.write(text), "--no-report")
    running.wait_for("] load")
    [consumer] = pids_of(running, "stream2gym.clients.consumer")
    os.kill(consumer, signal.SIGSTOP)
    running.wait_for("] drain")
    running.interrupt()
    assert running.end(90) == 130, running.output
    assert running.info["rows"]["sent"] == 200
    assert (running.path / "verdict.json").exists()


@pytest.mark.long
def test_ctrl_c_during_the_analysis_lets_it_finish(starter: Starter) -> None:
    running = starter.start(starter.write(SMALL.replace("time: 30 s", "time: 1 s")), "--no-report")
    running.wait_for("] analysis")
    running.interrupt()
    assert running.end(180) == 130, running.output
    assert running.info["state"] == "interrupted"
    assert json.loads((running.path / "verdict.json").read_text())["outcome"] == "unknown"


@pytest.mark.alone
def test_a_second_ctrl_c_ends_it_at_once(starter: Starter) -> None:
    before = snapshot()
    (starter.folder / "prog.py").write_text(
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(60)\n"
    )
    running = starter.start(starter.write(SMALL.replace("rate: 100/s, size: 20 B", "type: CUSTOM, app: prog.py")))
    running.wait_for("load")
    running.interrupt()
    running.wait_for("stop")
    running.interrupt()
    began = time.monotonic()
    assert running.end(20) == 130
    assert time.monotonic() - began < 4
    assert nothing_left(before)


@pytest.mark.long
def test_two_runs_at_once_do_not_meet(starter: Starter) -> None:
    path = starter.write(SMALL.replace("time: 30 s", "time: 2 s"))
    runs = [starter.start(path, "--no-report", "--seed", str(n), out=f"run-{n}") for n in (1, 2)]
    assert [running.end(120) for running in runs] == [0, 0], runs[0].output + runs[1].output
    assert [running.info["rows"]["received"] for running in runs] == [200, 200]


@pytest.mark.long
def test_slow_links_between_brokers_do_not_keep_the_cluster_from_forming(starter: Starter) -> None:
    text = SMALL.replace("brokers: [{on: h1}]", "brokers: [{on: h1}, {on: h2}, {on: h3}]")
    text = text.replace("hosts: 2, latency: 1 ms", "hosts: 3, latency: 300 ms").replace("time: 30 s", "time: 2 s")
    running = starter.start(starter.write(text.replace("drain: 5 s", "drain: 20 s")), "--no-report")
    assert running.end(120) == 0, running.output
    assert running.info["rows"]["received"] == 200


@pytest.mark.long
def test_a_cluster_that_never_forms_over_narrow_links_says_so_at_its_deadline(starter: Starter) -> None:
    text = SMALL.replace("brokers: [{on: h1}]", "brokers: [{on: h1}, {on: h2}, {on: h3}]")
    narrow = "hosts: 3, latency: 1 ms, bandwidth: 1 kbps"
    text = text.replace("hosts: 2, latency: 1 ms", narrow) + "startup: as-configured\n"
    running = starter.start(starter.write(text), "--no-report")
    assert running.end(200) == 3
    assert "the brokers did not form a cluster" in running.output


def test_an_experiment_without_components_measures_its_links(tmp_path: Path) -> None:
    path = tmp_path / "net.yaml"
    path.write_text('s2g: 1\ntopology: {hosts: [h1, h2], links: ["h1 -- h2: 5 ms, 50 Mbps"]}\n')
    done = myself().run("run", str(path), "--json")
    [measured] = json.loads(done.stdout)
    assert measured["link"] == "h1 -- h2"
    assert measured["rtt_asked_ms"] == 10
    assert measured["rtt_ms"] >= 10
