"""What Spark promises with a sink that recognises a batch that comes again: every message once, under four faults."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream2gym.sweeps.load_sweep import load_sweep
from tests.support.examples import EXAMPLES
from tests.support.users import myself

pytestmark = [pytest.mark.long, pytest.mark.timeout(290)]

ENOUGH_S = 270.0
SAFETY = EXAMPLES / "engines-compared" / "safety"
AXES = load_sweep(SAFETY / "table-sweep.yaml").file.axes
FAULTS = dict(zip(AXES["fault"].list_values(), AXES["how"].list_values(), strict=True))
# What the log of the job says of an executor that is gone.
LOST = "Lost executor"


@pytest.mark.parametrize("name", FAULTS)
def test_every_message_stands_in_the_table_once_whatever_happens(tmp_path: Path, name: str) -> None:
    run = tmp_path / "run"
    done = myself().run(
        "run", str(SAFETY / "table.yaml"), "--set", f"faults.fault={FAULTS[name]}", "--out", str(run), "--no-report",
        timeout=ENOUGH_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    events = [json.loads(line) for line in (run / "events.jsonl").read_text("utf-8").splitlines()]
    [checked] = [event for event in events if event["event"] == "checked"]
    print(f"{name}: {checked}")
    assert (checked["messages"], checked["lost"], checked["twice"]) == (2500, 0, 0)
    starts = [event for event in events if event["event"] == "started" and event["component"] == "job"]
    assert len(starts) == (2 if name == "coordinator killed" else 1)
    log = (run / "logs" / "manager.job.log").read_text("utf-8")
    assert (LOST in log) == (name in ("worker killed", "link cut"))
