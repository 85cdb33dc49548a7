"""The outcome in words: what was not expected is said all the same, and no interruption looks like a pass."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis.fake_run import FakeRun
from stream2gym.analysis.message_totals import count_totals
from stream2gym.analysis.result_tables import Analysis, AuditRow, ClientRow, Fidelity, SentRow, TraceRow
from stream2gym.api import Result
from stream2gym.cli.run import as_json
from stream2gym.cli.run_summary import SummaryPrinter
from stream2gym.judge.judge import judge
from stream2gym.judge.verdict import Verdict
from stream2gym.record.folder import RunFolder

FINE = Analysis(
    "r", 10.0, 1.0,
    clients=(ClientRow("producer", "gen", "in"), ClientRow("consumer", "see", "in", "g")),
    held={"in": 1000},
    sent=(SentRow("in", 0, "gen", 1000, 1000),),
    audit=(AuditRow("in", 0, "gen", "g", 1000, 1000, copies=1000),),
    fidelity=Fidelity(True, "in time"),
)  # fmt: skip


def words(analysis: Analysis, *expect: str, events: list[dict[str, Any]] | None = None) -> str:
    return judge(expect, analysis, events or []).words


def told(verdict: Verdict) -> str:
    out = io.StringIO()
    SummaryPrinter(quiet=False, out=out).result(Result(RunFolder(Path("x")), "done", verdict))
    return out.getvalue()


def test_nothing_expected_and_nothing_died_is_a_pass_that_says_so() -> None:
    verdict = judge([], FINE, [])

    assert (verdict.exit_code, verdict.words) == (0, "pass: nothing was expected, nothing died")
    assert "verdict: pass: nothing was expected, nothing died\n" in told(verdict)


def test_what_was_lost_or_unanswered_is_said_in_the_same_breath() -> None:
    hurt = replace(
        FINE,
        sent=(SentRow("in", 0, "gen", 4000, 2490, 0, 7, 1503),),
        audit=(AuditRow("in", 0, "gen", "g", 2490, 2389, 1, in_flight=100, copies=2389),),
    )
    verdict = judge([], hurt, [])

    assert verdict.exit_code == 0
    assert verdict.words == (
        "pass: nothing was expected, nothing died; 1 acknowledged message was lost; 100 acknowledged messages were "
        "not received by g when the drain ended; 7 messages failed; 1,503 messages were unanswered"
    )
    assert f"verdict: {verdict.words}\n" in told(verdict)
    assert "1,503 messages were unanswered" in told(judge(["acknowledged == 2490"], hurt, []))


def test_a_use_case_with_programs_of_its_own_says_who_was_not_observed_and_what_kafka_holds() -> None:
    own = Analysis(
        "r", 10.0, 1.0,
        clients=(ClientRow("producer", "own", observed=False), ClientRow("consumer", "eat", "in", "g", False)),
        held={"in": 3000, "out": 60, "none": 0},
        fidelity=Fidelity(True, "in time"),
    )  # fmt: skip
    verdict = judge([], own, [])

    assert verdict.exit_code == 0
    assert verdict.words == (
        "pass: nothing was expected, nothing died; not observed: own, eat; "
        "Kafka holds 3,060 messages (3,000 in in, 60 in out)"
    )


def test_results_that_never_came_are_mentioned() -> None:
    traced = replace(FINE, traces=(TraceRow("in", "out", "value", 800, 166, missing=634),))

    assert "634 of 800 messages of in have no result in out" in words(traced)


def test_topics_that_nobody_reads_are_mentioned_unless_an_engine_may_read_them() -> None:
    unread = replace(FINE, clients=(ClientRow("producer", "gen", "in"),), audit=())
    engine = ClientRow("engine", "job", observed=False)

    assert words(unread).endswith("; no consumer of the experiment reads in; Kafka holds 1,000 messages in in")
    assert words(replace(unread, clients=(*unread.clients, engine))) == "pass: nothing was expected, nothing died"


def test_expectations_that_held_are_counted() -> None:
    assert words(FINE, "lost == 0", "acknowledged > 2000") == "fail: 1 of 2 expectations held"


def test_an_interrupted_run_never_passes_and_a_failure_stays_a_failure() -> None:
    stopped = [{"event": "interrupted", "t_s": 1.04}]

    assert words(FINE, "lost == 0", events=stopped) == "unknown: 1 of 1 expectation held; interrupted at 1.0 s"
    assert words(FINE, events=stopped) == "unknown: nothing was expected; interrupted at 1.0 s"
    assert judge(["acknowledged > 2000"], FINE, stopped).outcome == "fail"
    late = [{"event": "interrupted", "t_s": 34.5, "during": "analysis"}]
    assert words(FINE, events=late) == "unknown: nothing was expected; interrupted during the analysis"


def test_an_interruption_while_the_record_is_judged_takes_the_pass_away() -> None:
    verdict = judge(["lost == 0"], FINE, [])

    assert verdict.outcome == "pass"
    assert verdict.with_doubt("interrupted at 12.0 s").outcome == "unknown"
    assert replace(verdict, outcome="fail").with_doubt("interrupted at 12.0 s").outcome == "fail"


@pytest.mark.parametrize(
    "event",
    [
        {"event": "check-failed", "check": "words", "reason": "ZeroDivisionError"},
        {"event": "audit-failed", "reason": "db on h3 is not there any more"},
    ],
)
def test_a_check_that_came_to_no_answer_is_no_silent_pass(event: dict[str, Any]) -> None:
    verdict = judge(["lost == 0"], FINE, [event])

    assert verdict.outcome == "unknown"
    assert event["reason"] in verdict.doubts[0]


FAILED_QUERY = {"event": "query-failed", "component": "job", "query": "fruit", "cause": "rotten", "t_s": 3.0}


def test_a_query_that_failed_while_its_program_lives_on_is_a_failure() -> None:
    verdict = judge([], FINE, [FAILED_QUERY])

    assert verdict.outcome == "fail"
    assert verdict.failures == ("query fruit of job failed at 3.000 s: rotten",)


@pytest.mark.parametrize(
    ("expect", "more"),
    [
        (["query_failures(engine=job) == 1"], []),
        ([], [{"event": "stopped", "component": "job", "why": "kill"}]),
        ([], [{"event": "query-started", "component": "job", "query": "fruit"}]),
    ],
)
def test_a_failed_query_that_was_expected_or_mended_is_none(expect: list[str], more: list[dict[str, Any]]) -> None:
    assert judge(expect, FINE, [FAILED_QUERY, *more]).failures == ()


def test_what_becomes_of_a_query_while_the_run_stops_is_nobodys_failure() -> None:
    stop = {"event": "phase", "phase": "stop", "t_s": 2.0}
    assert judge([], FINE, [stop, FAILED_QUERY]).outcome == "pass"


def test_machines_read_the_same_sentence(tmp_path: Path) -> None:
    folder = RunFolder.create("r", seed=1, base=tmp_path)
    folder.release()
    shown = as_json(Result(folder, "done", judge([], FINE, [])))

    assert shown["summary"] == "pass: nothing was expected, nothing died"


def test_the_counts_at_the_end_of_a_run_say_what_others_wrote(tmp_path: Path) -> None:
    run = FakeRun()
    run.offsets("in", 0, 40, 3100)

    assert str(count_totals(run.write(tmp_path / "own"))) == (
        "0 sent, 0 acknowledged, 0 received; Kafka holds 3,060, others wrote too"
    )
    observed = FakeRun()
    observed.send(1)
    observed.offsets("in", 0, 0, 1)
    assert str(count_totals(observed.write(tmp_path / "ours"))) == "1 sent, 1 acknowledged, 0 received"


def test_messages_that_went_with_their_topic_are_mentioned() -> None:
    gone = replace(FINE, audit=(AuditRow("in", 0, "gen", "g", 700, 700, copies=700, deleted=300),))

    assert "300 acknowledged messages were deleted with their topic before they were received" in words(gone)


def test_a_load_that_lasted_longer_says_why_and_so_does_a_program_that_did_not_end() -> None:
    events = [
        {"event": "load-overran", "t_s": 14.1, "waiting": ["pa"], "planned_s": 6.0, "load_s": 14.1},
        {"event": "grace-over", "t_s": 16.0, "component": "own", "grace_s": 10.0},
    ]

    assert words(FINE, events=events) == (
        "pass: nothing was expected, nothing died; load lasted 14.1 s instead of 6 s because pa was waiting for "
        "acknowledgements; own did not end by itself within its grace period (grace: 0 s does not wait for that)"
    )


def test_an_engine_that_was_not_observed_is_named_once_with_what_would_change_that() -> None:
    note = (
        "job is not observed: what it sends and fetches is recorded on request only; to observe it, say observe: wire"
    )
    engine = replace(FINE, clients=(*FINE.clients, ClientRow("engine", "job", observed=False)), notes=(note,))
    assert words(engine) == f"pass: nothing was expected, nothing died; {note}"
    assert told(judge(["acknowledged == 1000"], engine, [])).count("observe: wire") == 1
