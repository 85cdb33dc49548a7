"""How far a group is behind is sampled: a consumer that stands still falls behind, and a fault may wait for that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream2gym import run
from stream2gym.spec.model import Experiment

RATE, BEHIND = 400, 600
WHEN = f"lag > {BEHIND}"

DESCRIBED: dict[str, Any] = {
    "topology": {"kind": "star", "hosts": 2, "latency": "1 ms"},
    "brokers": [{"on": "h1"}],
    "topics": [{"name": "t", "partitions": 2}],
    "producers": [{"name": "gen", "on": "h2", "topic": "t", "rate": f"{RATE}/s", "size": "50 B"}],
    "consumers": [{"name": "see", "on": "h2", "topics": ["t"], "group": "g"}],
    "time": "9 s",
    "drain": "30 s",
    "faults": [
        {"name": "nap", "do": "pause", "on": "see", "at": "1 s", "for": "5 s"},
        {"name": "then", "do": "degrade", "on": "h1 -- s1", "latency": "5 ms", "for": "1 s", "when": WHEN},
    ],
    "expect": [WHEN, "lag.max(consumer=see) > 0", "lost == 0"],
}  # fmt: skip


@pytest.mark.long
def test_a_consumer_that_stands_still_falls_behind_and_catches_up(tmp_path: Path) -> None:
    result = run(Experiment.model_validate(DESCRIBED), out=tmp_path / "run", report=False)
    assert result.state == "done", result.reasons
    samples = [
        (row["at_ns"], row["value"])
        for row in result.table("samples").to_pylist()
        if (row["source"], row["object"], row["metric"]) == ("client", "g", "lag")
    ]
    assert max(value for _, value in samples) > BEHIND
    events = {event["event"]: event for event in result.folder.read_events() if event.get("fault") != "nap"}
    assert events["drained"]["complete"]
    assert samples[-1][1] == 0
    assert events["fault-applied"]["fault"] == "then"
    first = min(at_ns for at_ns, value in samples if value > BEHIND)
    assert events["fault-applied"]["at_ns"] - result.folder.t0_ns >= first
    judged = {one.text: one for one in result.judged.judgements}
    for text in DESCRIBED["expect"][:2]:
        assert judged[text].outcome in ("pass", "unknown")  # unknown where the machine was too busy to trust
        assert judged[text].shown, judged[text].reason
