"""What an exactly-once job on a Flink cluster keeps of its promise under faults: audited message by message.

Flink's job manager has no standby here. When it is killed, the job ends with it; the job manager that is started
again restores it from the last complete checkpoint. A job whose checkpoints are wiped keeps no promise:
``test_flink`` shows that it copies again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.flinkjobs import COPY, on_a_cluster
from tests.support.users import myself

pytestmark = [pytest.mark.long, pytest.mark.timeout(290)]

ENOUGH_S = 270.0
MESSAGES = 5000
FAULTS: dict[str, dict[str, Any]] = {
    "task-manager-killed": {"do": "kill", "on": "t3", "at": "8 s", "for": "2 s"},
    "job-manager-killed": {"do": "kill", "on": "job", "at": "8 s", "for": "2 s"},
    # Longer than the heartbeats of Flink are waited for, so that the job fails and begins again.
    "link-cut": {"do": "down", "on": "h3 -- s1", "at": "8 s", "for": "14 s"},
    "broker-killed": {"do": "kill", "on": "leader of in/0", "at": "8 s", "for": "3 s"},
    "task-manager-paused": {"do": "pause", "on": "t3", "at": "8 s", "for": "14 s"},
    "task-manager-wiped": {"do": "restart", "on": "t3", "at": "8 s", "data": "wipe"},
    "job-manager-paused": {"do": "pause", "on": "job", "at": "8 s", "for": "14 s"},
}
MISSING = "results_missing(from=in, to=out) == 0"
DOUBLED = "results_doubled(from=in, to=out) == 0"
RECOVERY = "recovery(fault=it) < 90 s"


@dataclass(frozen=True)
class Judged:
    """A run that is over: what it said of each expectation, and its folder."""

    judgements: dict[str, dict[str, Any]]
    folder: Path

    def events(self, kind: str, **wanted: Any) -> list[dict[str, Any]]:
        lines = (self.folder / "events.jsonl").read_text("utf-8").splitlines()
        found = [event for event in map(json.loads, lines) if event["event"] == kind]
        return [event for event in found if all(event.get(key) == value for key, value in wanted.items())]


def copied_under(fault: dict[str, Any], folder: Path, *, brokers: int = 1) -> Judged:
    """Copy messages on a job manager and two task managers while the fault happens, and judge the run."""
    keys = on_a_cluster(parallelism=2)
    hosts = [f"h{number}" for number in range(1, 4 + brokers)]
    keys["topology"] = {"hosts": hosts, "switches": ["s1"], "links": [f"{host} -- s1: 1 ms" for host in hosts]}
    keys["brokers"] = [{"on": host} for host in ("h2", *hosts[4:])]
    keys["topics"] = [{"name": name, "partitions": 2, "replicas": brokers} for name in ("in", "out")]
    keys["producers"] = [
        {"name": "gen", "on": "h1", "topic": "in", "rate": "200/s", "messages": MESSAGES, "acks": "all"}
    ]
    keys |= {
        "trace": [{"from": "in", "to": "out", "by": "value"}],
        "time": "40 s",
        "drain": "120 s",
        "faults": [{"name": "it", **fault}],
        "expect": [MISSING, DOUBLED, "lost == 0", RECOVERY],
    }
    (folder / "job.sql").write_text(COPY)
    path = folder / "experiment.yaml"
    path.write_text(yaml.safe_dump({"s2g": 1, "name": "exactly-once", **keys}))
    run = folder / "run"
    done = myself().run("run", str(path), "--out", str(run), "--no-report", "--json", timeout=ENOUGH_S)
    assert done.stdout, done.stderr
    judgements = json.loads(done.stdout)["details"]["judgements"]
    return Judged({one["text"]: one for one in judgements}, run)


@pytest.mark.parametrize("name", FAULTS)
def test_a_job_on_a_cluster_copies_every_message_exactly_once_whatever_happens(tmp_path: Path, name: str) -> None:
    run = copied_under(FAULTS[name], tmp_path, brokers=3 if name == "broker-killed" else 1)
    measured = {text: one.get("measured") for text, one in run.judgements.items()}
    print(f"{name}: {measured}")
    for text in (MISSING, DOUBLED, "lost == 0"):
        assert run.judgements[text]["outcome"] == "pass", run.judgements[text]
    # A busy machine may make it unknown. Only a job that never comes back fails it.
    assert run.judgements[RECOVERY]["outcome"] in ("pass", "unknown"), run.judgements[RECOVERY]
    (drained,) = run.events("drained")
    assert drained["complete"]
    if name == "job-manager-paused":
        # What it would have told meanwhile is not known.
        assert run.events("monitor-failed", monitor="engine job")
        assert run.events("monitor-works-again", monitor="engine job")[-1]["silent_s"] > 5
    if name == "broker-killed":
        return  # the clients of Kafka wait for the next leader, the job need not begin again
    again = run.events("query-started", component="job")[1:]
    assert again, "the job has begun again"
    assert all(event["restored"] >= 1 for event in again)
