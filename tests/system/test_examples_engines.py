"""Broken copies of the applications in Flink SQL and Kafka Streams, which the checks of the applications find out.

That the applications themselves give the right answer is shown in test_flink.py and test_kafka_streams_trouble.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.examples import Changes, run_copy, verdict_of

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

BROKEN: dict[str, tuple[str, str, Changes]] = {
    "word count in Flink": ("word-count", "flink.yaml", {"split.sql": {"word, COUNT(*)": "word, COUNT(*) + 1"}}),
    "word count in Kafka Streams": (
        "word-count",
        "kafka-streams.yaml",
        {"WordCount.java": {"!word.isEmpty()": "word.length() > 1"}},
    ),
    "traffic monitoring in Flink": (
        "traffic-monitoring",
        "flink.yaml",
        {"ports.sql": {"SUM(`bytes`)": "MAX(`bytes`)"}},
    ),
    "maritime monitoring in Flink": (
        "maritime-monitoring",
        "flink.yaml",
        {"watch.sql": {" AND kind <> 'pilot'": ""}},
    ),
    "intrusion detection in Flink": (
        "intrusion-detection",
        "flink.yaml",
        {"rules.sql": {"v.`at` <= l.`at`": "v.`at` <= l.`at` + INTERVAL '5' MINUTE"}},
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_copy_of_an_application_in_another_engine_is_found_out(tmp_path: Path, name: str) -> None:
    example, experiment, changes = BROKEN[name]
    run = run_copy(example, tmp_path, changes, experiment)
    assert run.outcome.error is None
    said = verdict_of(run)
    assert said.compared > 0
    assert said.mismatches is not None
    assert said.mismatches > 0
