"""What was observed from packets is judged like what our own clients record."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.wire_programs import CONFLUENT_READS, CONFLUENT_WRITES, foreign
from tests.system.conftest import Starter

EXPERIMENT = """\
s2g: 1
name: foreign
topology: {kind: star, hosts: 3, latency: 2 ms}
brokers: [{on: h1}]
topics: [{name: t, partitions: 2}]
producers: [{name: gen, on: h2, type: CUSTOM, topic: t, app: writes, observe: wire}]
consumers: [{name: see, on: h3, type: CUSTOM, topics: [t], group: foreign, app: reads, observe: wire}]
time: 16 s
drain: 10 s
expect: [lost == 0, duplicated == 0, "sent > 100", "received > 100", "delivered == 100 %"]
"""


@pytest.mark.long
@pytest.mark.timeout(240)
def test_programs_in_any_language_pass_and_it_is_said_how_they_were_observed(starter: Starter) -> None:
    path = starter.write(EXPERIMENT)
    folder = Path(path).parent
    for name, text in (
        ("foreign_writes.py", CONFLUENT_WRITES),
        ("foreign_reads.py", CONFLUENT_READS),
        ("writes", foreign(sys.executable, "foreign_writes.py")),
        ("reads", foreign(sys.executable, "foreign_reads.py")),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    running = starter.start(path)
    code = running.end(200)
    verdict = json.loads((running.path / "verdict.json").read_text())
    assert code == 0, (running.output, verdict)
    assert verdict["outcome"] == "pass"
    assert [row["measured"] for row in verdict["judgements"][2:4]] == [verdict["judgements"][2]["measured"]] * 2
    assert "not observed" not in running.output
    assert "gen, see: observed from packets" in (running.path / "report.html").read_text()
