"""A whole run for real: Kafka on the emulated network, the record, the verdict, the report."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stream2gym.record.events import read_events
from stream2gym.record.schemas import read_table
from tests.support.leaks import ALONE, left_behind, snapshot
from tests.support.users import myself


@dataclass(frozen=True)
class Hello:
    """The bundled example, run once by its command."""

    process: subprocess.CompletedProcess[str]
    path: Path
    left: dict[str, list[str]]

    def rows(self, table: str) -> list[dict[str, Any]]:
        return read_table(self.path / "data", table).to_pylist()  # type: ignore[no-any-return]

    @property
    def info(self) -> dict[str, Any]:
        return json.loads((self.path / "run.json").read_text())  # type: ignore[no-any-return]

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [e for e in read_events(self.path / "events.jsonl", self.info["t0_ns"]) if e["event"] == kind]


@pytest.fixture(scope="module")
def hello(tmp_path_factory: pytest.TempPathFactory) -> Hello:
    path = tmp_path_factory.mktemp("hello") / "run"
    before = snapshot()
    process = myself().run("run", "hello", "--time", "3", "--out", str(path), timeout=120)
    left = left_behind(before, within_s=5)
    if not ALONE:
        left.pop("/tmp", None)  # other people's runs leave their things there meanwhile
    return Hello(process, path, left)


def test_the_first_command_of_the_readme_passes(hello: Hello) -> None:
    said = hello.process.stdout
    assert "600 sent, 600 acknowledged, 600 received" in said, said + hello.process.stderr
    assert "  fail" not in said
    for expected in ("lost == 0", "duplicated == 0", "delivered == 100 %"):
        assert f"  pass     {expected}" in said
    assert hello.process.returncode == 0
    assert "verdict: pass" in said


def test_the_record_tells_when_the_command_began(hello: Hello) -> None:
    before_s = (hello.info["created_ns"] - hello.info["began_ns"]) / 1e9
    assert 0.1 < before_s < 30, "Python starts and plans the run before its folder is made"


def test_it_offers_exactly_the_load_that_was_asked_for(hello: Hello) -> None:
    sent = hello.rows("sent")
    assert len(sent) == 600
    assert {row["status"] for row in sent} == {"acked"}
    assert [row["due_ns"] for row in sent[:3]] == [0, 5_000_000, 10_000_000]


def test_every_message_is_received_once_and_no_sooner_than_the_links_allow(hello: Hello) -> None:
    due = {row["seq"]: row["due_ns"] for row in hello.rows("sent")}
    received = hello.rows("received")
    assert sorted(row["seq"] for row in received) == sorted(due)
    assert min(row["at_ns"] - due[row["seq"]] for row in received) > 42_000_000


def test_kafkas_own_offsets_agree_with_the_record(hello: Hello) -> None:
    assert sum(row["end"] - row["start"] for row in hello.rows("offsets")) == 600


def test_its_phases_come_in_order_and_load_starts_at_zero(hello: Hello) -> None:
    phases = [(event["phase"], event["t_s"]) for event in hello.events("phase")]
    names = [name for name, _ in phases]
    assert names[:9] == [
        "software",
        "network",
        "brokers",
        "topics",
        "consumers",
        "load",
        "drain",
        "stop",
        "seal",
    ]
    assert dict(phases)["load"] == 0.0
    assert dict(phases)["brokers"] < 0 < dict(phases)["drain"]


def test_monitors_saw_links_processes_and_leaders(hello: Hello) -> None:
    samples = hello.rows("samples")
    seen = {(row["source"], row["object"], row["metric"]) for row in samples}
    assert ("fabric", "h2 -- s1 forward", "delivered_bytes") in seen
    assert ("fabric", "lateness", "p99_us") in seen
    assert ("process", "broker-h2", "rss_bytes") in seen
    assert ("kafka", "greetings/0", "leader") in seen
    assert {row["value"] for row in samples if row["metric"] == "leader"} == {2.0}


def test_monitors_saw_hosts_the_machine_the_cluster_and_its_groups(hello: Hello) -> None:
    samples: dict[tuple[str, str, str], list[float]] = {}
    for row in hello.rows("samples"):
        samples.setdefault((row["source"], row["object"], row["metric"]), []).append(row["value"])
    assert 0 < samples["machine-use", "memory", "used_bytes"][0] < samples["machine-use", "memory", "total_bytes"][0]
    assert samples["machine-use", "disk", "free_bytes"][0] > 0
    assert all(0 <= share <= 1 for share in samples["machine-use", "cpu", "steal"])
    assert max(samples["host", "h2", "threads"]) > 20, "those of the broker"
    assert max(samples["host", "h2", "open_files"]) > 20
    assert max(samples["host", "h2", "tcp_connections"]) >= 3
    assert max(samples["host", "h1", "sent_bps"]) > 1000
    assert max(samples["memory", "h2", "pss_bytes"]) > 50 * 1024**2
    assert max(samples["link", "h1 -- s1 forward", "bps"]) > 1000
    assert 0 < max(samples["link", "h2 -- s1 forward", "use"]) < 1
    assert set(samples["kafka", "cluster", "under_replicated"]) == {0}
    assert set(samples["kafka", "cluster", "active_controller"]) == {2}
    ends = [samples["kafka", f"greetings/{number}", "end_offset"][-1] for number in range(2)]
    assert sum(ends) == 600, "the last look is before the stop"
    [group] = {obj for source, obj, metric in samples if (source, metric) == ("kafka", "state")}
    assert set(samples["kafka", group, "state"]) <= {3, 4, 5}
    assert hello.events("monitor-failed") == []


def test_each_look_of_a_monitor_and_its_cost_are_sampled(hello: Hello) -> None:
    looks = {
        row["object"] for row in hello.rows("samples") if row["source"] == "monitor" and row["metric"] == "cpu_s"
    }
    assert {"fabric", "process", "machine", "machine-use", "host", "memory", "link", "kafka", "lag"} <= looks


def test_clients_are_small(hello: Hello) -> None:
    sizes = [
        row["value"]
        for row in hello.rows("samples")
        if row["metric"] == "rss_bytes" and row["object"] in ("speaker", "listener")
    ]
    assert 0 < max(sizes) < 30 * 1024**2


def test_nothing_is_left_behind(hello: Hello) -> None:
    assert hello.left == {}


def test_the_folder_names_no_place_outside_of_it(hello: Hello) -> None:
    place = str(hello.path.parent)
    for file in hello.path.rglob("*"):
        assert not file.is_symlink()
        if file.suffix in (".json", ".jsonl", ".yaml", ".html"):
            assert place not in file.read_text(errors="replace"), file.name


def test_runs_logs_and_clean_know_the_run(hello: Hello) -> None:
    base = hello.path.parent
    listed = myself().run("runs", "--in", str(base), "--json")
    [run] = json.loads(listed.stdout)
    assert run["state"] == "done"
    assert run["verdict"] in ("pass", "unknown")
    logs = myself().run("logs", str(hello.path))
    assert "h2.broker-h2" in logs.stdout
    log = myself().run("logs", str(hello.path), "broker-h2", "--tail", "500")
    assert "Kafka Server started" in log.stdout
    unknown = myself().run("logs", str(hello.path), "broker-h9")
    assert unknown.returncode == 2
    assert "did you mean 'broker-h2'?" in unknown.stderr
    kept = myself().run("clean", "--in", str(base), "--older", "1h")
    assert "nothing to remove" in kept.stdout
    assert hello.path.exists()


def test_the_python_door_gives_verdict_tables_and_paths(tmp_path: Path) -> None:
    code = (
        "from stream2gym import run\n"
        "from stream2gym.spec.model import *\n"
        "experiment = Experiment(name='mine', topology=Topology(kind='star', hosts=2, latency='1 ms'),\n"
        "  brokers=[Broker(on='h1')], topics=[Topic(name='t')],\n"
        "  producers=[Producer(name='p', on='h2', topic='t', rate='50/s', size='10 B', messages=40)],\n"
        "  consumers=[Consumer(name='c', on='h2', topics=['t'])], time='20 s',\n"
        "  expect=['lost == 0', 'received == 40'])\n"
        "result = run(experiment, out='out', report=False)\n"
        "print(result.verdict, result.exit_code, result.table('received').num_rows, result.path)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False
    )
    assert done.stdout.split() == ["pass", "0", "40", "out"], done.stderr
    events = list(read_events(tmp_path / "out" / "events.jsonl"))
    t0 = json.loads((tmp_path / "out" / "run.json").read_text())["t0_ns"]
    [drain] = [e["at_ns"] for e in events if e.get("phase") == "drain"]
    assert (drain - t0) / 1e9 < 10  # a limited producer that is done ends the load early
