"""Experiments in which messages do not arrive, run for real: no verdict passes over what nobody saw."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.users import myself

EXPERIMENTS = Path(__file__).parents[1] / "data" / "delivery"
ENOUGH_S = 240.0


@dataclass(frozen=True)
class Judged:
    """What a run said to a machine."""

    result: dict[str, Any]

    @property
    def outcomes(self) -> dict[str, str]:
        return {one["text"]: one["outcome"] for one in self.result["details"]["judgements"]}

    def reason(self, text: str) -> str:
        return next(str(one["reason"]) for one in self.result["details"]["judgements"] if one["text"] == text)


def judged(name: str, tmp_path: Path) -> Judged:
    done = myself().run(
        "run", str(EXPERIMENTS / f"{name}.yaml"), "--out", str(tmp_path / "run"), "--no-report", "--json",
        timeout=ENOUGH_S,
    )  # fmt: skip
    found = Judged(json.loads(done.stdout))
    assert found.result["exit_code"] == done.returncode
    return found


def test_a_consumer_that_nothing_reaches_leaves_only_its_life_and_its_silence_known(tmp_path: Path) -> None:
    found = judged("isolated-consumer", tmp_path)

    unknown = (
        "lost == 0",
        "duplicated == 0",
        "out_of_order == 0",
        "offset_gaps == 0",
        "lost(fault=alone) == 0",
    )
    assert {text: found.outcomes[text] for text in unknown} == dict.fromkeys(unknown, "unknown")
    assert (found.outcomes["died == 0"], found.outcomes["received == 0"]) == ("pass", "pass")
    assert found.outcomes["latency.p99 < 1 h"] == "unknown"
    # Nothing arrived for a second or more; a starved machine may take the blame, never a pass.
    assert found.outcomes["latency.p99 < 500 ms"] in ("fail", "unknown")
    assert found.result["verdict"] != "pass"
    assert "had received 0 of 1,000 acknowledged messages" in found.reason("lost == 0")
    assert "1,000 acknowledged messages were not received by g" in found.result["summary"]


@pytest.mark.long
def test_an_interrupted_run_is_unknown_although_everything_expected_held(tmp_path: Path) -> None:
    command = ("run", str(EXPERIMENTS / "interrupted.yaml"), "--out", str(tmp_path / "run"), "--no-report")
    with myself().popen(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            for line in process.stderr or ():
                if line.rstrip().endswith(b"] load"):
                    break
            time.sleep(1.0)
            process.send_signal(signal.SIGTERM)
            out, _ = process.communicate(timeout=ENOUGH_S)
        finally:
            process.kill()

    assert process.returncode == 130
    assert "verdict: unknown" in out.decode()
    verdict = json.loads((tmp_path / "run" / "verdict.json").read_text("utf-8"))
    assert [one["outcome"] for one in verdict["judgements"]] == ["pass"]
    (doubt,) = verdict["doubts"]
    assert doubt.startswith("interrupted at ")


@pytest.mark.long
@pytest.mark.parametrize("name", ["dead-broker-slow-link", "dead-broker-paused-consumer", "slow-consumer"])
def test_what_was_acknowledged_and_never_received_is_doubt_on_loss(tmp_path: Path, name: str) -> None:
    found = judged(name, tmp_path)

    assert found.outcomes == {"lost == 0": "unknown"}
    assert found.result["exit_code"] == 3
    is_dead = name.startswith("dead-broker")
    why = "Kafka's end offset is unknown" if is_dead else "acknowledged messages of in when the drain ended"
    assert why in found.reason("lost == 0")


@pytest.mark.long
def test_without_acknowledgements_a_dead_broker_leaves_loss_and_failures_unknown(tmp_path: Path) -> None:
    found = judged("acks-0-dead-broker", tmp_path)

    assert (found.outcomes["lost == 0"], found.outcomes["failed == 0"]) == ("unknown", "unknown")
    assert found.outcomes["latency.p99 < 500 ms"] in ("fail", "unknown")
    assert found.outcomes["latency.p99 < 1 h"] == "unknown"
    assert found.outcomes["latency.p99(of=received) < 1 h"] == "pass"
    assert "messages were unanswered" in found.result["summary"]


@pytest.mark.long
def test_the_results_before_a_job_was_killed_do_not_speak_for_those_that_never_came(tmp_path: Path) -> None:
    found = judged("killed-job", tmp_path)

    assert found.outcomes["trace_latency.p99 < 1 s"] in ("fail", "unknown")
    assert found.outcomes["trace_latency.p99 < 1 h"] == "unknown"
    assert found.outcomes["trace_latency.p99(of=received) < 1 h"] == "pass"
    assert found.outcomes["lost(topic=out) == 0"] == "fail"


@pytest.mark.long
def test_programs_that_nobody_observes_pass_and_it_is_said_who_they_are_and_what_kafka_holds(
    tmp_path: Path,
) -> None:
    found = judged("own-programs", tmp_path)

    assert found.result["exit_code"] == 0
    assert found.result["summary"] == (
        "pass: nothing was expected, nothing died; own, eat are not observed: the experiment says observe: false; "
        "to observe it, leave that out; "
        "Kafka holds 3,060 messages (3,000 in in, 60 in out)"
    )
