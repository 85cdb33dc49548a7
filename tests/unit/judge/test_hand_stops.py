"""A consumer that was stopped by hand: what it had not read makes no loss pass, and the verdict says why."""

from __future__ import annotations

from stream2gym.analysis.result_tables import Analysis, AuditRow, ClientRow, SentRow
from stream2gym.judge.judge import judge

STOPPED = {"event": "job-stopped", "component": "see", "host": "h2", "t_s": 12.34}


def analysis(flight: int) -> Analysis:
    return Analysis(
        run="run",
        load_s=20.0,
        step_s=1.0,
        sent=(SentRow("in", 0, "gen", 100, 100),),
        audit=(
            AuditRow("in", 0, "gen", "g", 100, 100 - flight, in_flight=flight, copies=100 - flight),
            AuditRow("in", 0, "gen", "other", 100, 100, copies=100),
        ),
        clients=(ClientRow("consumer", "see", "in", "g"), ClientRow("consumer", "more", "in", "other")),
    )


def test_what_a_stopped_consumer_had_not_read_leaves_loss_unknown_with_the_reason() -> None:
    verdict = judge(["lost == 0", "lost(group=other) == 0"], analysis(40), [STOPPED])
    [loss, other] = verdict.judgements
    assert loss.outcome == "unknown"
    assert loss.reason.endswith("see was stopped by hand at 12.3 s")
    assert other.outcome == "pass"
    assert "see was stopped by hand at 12.3 s" in verdict.remarks
    assert verdict.failures == ()


def test_a_stop_after_everything_was_read_leaves_no_doubt() -> None:
    verdict = judge(["lost == 0"], analysis(0), [STOPPED])
    assert verdict.judgements[0].outcome == "pass"
