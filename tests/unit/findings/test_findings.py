"""What a run showed, in sentences: true to the tables, cautious where the judge is, each number with evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.result_tables import (
    Analysis,
    AuditRow,
    ClientRow,
    CutOffRow,
    FaultRow,
    Fidelity,
    LatencyRow,
    OutageRow,
    PositionRow,
    ReceivedRow,
    RecoveryRow,
    SentRow,
    SeriesPoint,
    SuspectSpan,
    TraceRow,
)
from stream2gym.findings.fault_words import _VERBS, describe_fault
from stream2gym.findings.finding import Finding, compose, make_sentence, name, names
from stream2gym.findings.producer_acks import read_acks
from stream2gym.findings.tell_findings import tell_findings
from stream2gym.judge.verdict import Judgement, Verdict
from stream2gym.kinds.fault_settings import KINDS

GOOD = Fidelity(True, "it kept up", seconds=20, suspect=())
FAST = Histogram(((20_000_000, 2000), (40_000_000, 1000)), 8e10, 10_000_000, 40_000_000)
CLIENTS = (ClientRow("producer", "shop", "orders"), ClientRow("consumer", "bill", "orders", "billing"))


def quiet_run(**changes: Any) -> Analysis:
    """A run of 3,000 messages in which nothing happened."""
    base = Analysis(
        run="r", load_s=20.0, step_s=1.0, clients=CLIENTS, held={"orders": 3000},
        sent=(SentRow("orders", 0, "shop", 3000, 3000),),
        audit=(AuditRow("orders", 0, "shop", "billing", 3000, 3000, copies=3000),),
        positions=(PositionRow("orders", 0, "billing", 0, 3000, 0, 3000, 3000, 3000),),
        latency=(LatencyRow("latency", "orders", 0, "shop", "billing", histogram=FAST),),
        fidelity=GOOD,
    )  # fmt: skip
    return replace(base, **changes)


def fault_row(kind: str = "kill", on: tuple[str, ...] = ("broker-h2",), **changes: Any) -> FaultRow:
    base = FaultRow("dead", 1, kind, on, 10.0, 16.04, 20.0, last=True)
    return replace(base, **changes)


def cost(**changes: Any) -> RecoveryRow:
    base = RecoveryRow("dead", 1, "orders", recovery_s=3.6, latency_before_s=0.098, latency_during_s=3.4)
    return replace(base, **changes)


def told(
    analysis: Analysis | None,
    verdict: Verdict | None = None,
    events: Sequence[dict[str, Any]] = (),
    acks: dict[str, str] | None = None,
) -> list[str]:
    return [finding.text for finding in tell_findings(analysis, verdict, list(events), acks)]


def test_a_run_in_which_nothing_happened_tells_what_arrived_and_how_fast() -> None:
    assert told(quiet_run(), Verdict("pass")) == [
        "No acknowledged message was lost: all 3,000 were received.",
        "150 messages/s were acknowledged; half of them arrived within 20 ms and 99 % within 40 ms.",
    ]


def test_a_broker_that_was_killed_and_came_back() -> None:
    silence = OutageRow("dead", 1, "received", "orders", "bill", "billing", 3.02, 3.02)
    run = quiet_run(faults=(fault_row(),), recovery=(cost(),), outages=(silence,))
    assert told(run, Verdict("pass")) == [
        "broker-h2 was killed at 10 s and started again at 16 s.",
        "No acknowledged message was lost: all 3,000 were received.",
        "bill received nothing of orders for 3.02 s, and orders had caught up 3.6 s after the fault.",
        "The 99th percentile of the latency of orders rose from 98 ms to 3.4 s.",
    ]


def test_a_fault_that_was_never_undone_and_not_recovered_from_is_told_as_open() -> None:
    open_cost = cost(recovery_s=9.0, recovery_open=True, latency_during_open=True)
    sentences = told(quiet_run(faults=(fault_row(to_s=None),), recovery=(open_cost,)))
    assert sentences[0] == "broker-h2 was killed at 10 s and not started again."
    assert sentences[2] == "orders had not caught up 9 s after the fault."
    assert sentences[3].endswith("rose from 98 ms to at least 3.4 s.")


def test_a_link_that_was_cut_without_a_cost() -> None:
    cut = fault_row("down", ("h5 -- s1",), fault="cut")
    free = cost(fault="cut", recovery_s=0.0, latency_during_s=0.099)
    sentences = told(quiet_run(faults=(cut,), recovery=(free,)))
    assert sentences[0] == "The link h5 -- s1 was cut at 10 s and carried packets again at 16 s."
    assert sentences[2:] == ["No topic fell behind because of a fault."]


def test_of_several_faults_the_costliest_is_named() -> None:
    faults = (fault_row("degrade", ("h5 -- s1",), fault="slow", from_s=3.0, to_s=6.0), fault_row())
    costs = (cost(fault="slow", recovery_s=1.0), cost())
    sentences = told(quiet_run(faults=faults, recovery=costs))
    assert sentences[0] == (
        "The link h5 -- s1 was degraded from 3 s to 6 s, and then broker-h2 was killed at 10 s "
        "and started again at 16 s."
    )
    assert sentences[2] == "orders had caught up 3.6 s after the fault dead."


def test_many_faults_are_counted() -> None:
    faults = tuple(fault_row(instance=number, from_s=float(number), to_s=number + 0.5) for number in range(1, 5))
    sentences = told(quiet_run(faults=(*faults, fault_row("down", ("h5 -- s1",), from_s=9.0, to_s=None))))
    assert sentences[0] == "5 faults were injected between 1 s and 9 s: 4 times kill and one down."


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
@pytest.mark.parametrize("to_s", [16.0, None])
@pytest.mark.parametrize("on", [("a",), ("a", "b"), ("a", "b", "c", "d", "e"), ()])
def test_every_kind_of_fault_has_words(kind: str, to_s: float | None, on: tuple[str, ...]) -> None:
    assert kind in _VERBS or kind == "partition"
    sentence = make_sentence(describe_fault(fault_row(kind, on, to_s=to_s))).text
    assert "10 s" in sentence
    assert "{" not in sentence
    assert "  " not in sentence


def test_a_fault_of_a_plug_in_is_named() -> None:
    sentence = make_sentence(describe_fault(fault_row("gamma-rays", ("h1",)))).text
    assert sentence == "Fault dead (gamma-rays) was in force from 10 s to 16 s."


def lost_with_leader(*producers: str) -> Analysis:
    lost = {"shop": 409, "kiosk": 12, "web": 3, "app": 1}
    return quiet_run(
        sent=tuple(SentRow("orders", 0, one, 3000, 2990) for one in producers),
        audit=tuple(AuditRow("orders", 0, one, "billing", 2990, 2990 - lost[one], lost[one]) for one in producers),
        cut_off=tuple(
            CutOffRow("orders", 0, one, "broker-h1", "broker-h2", 12.0, lost[one], 10, 500, 9.0, 11.0)
            for one in producers
        ),
        faults=(fault_row(on=("broker-h1",)),),
    )  # fmt: skip


def test_messages_that_went_with_their_leader_are_told_by_producer_with_its_acks() -> None:
    sentences = told(lost_with_leader("shop"), acks={"shop": "1"})
    assert sentences[1] == (
        "409 of 3,000 messages of shop were acknowledged and are gone: their leader broker-h1 was gone before "
        "broker-h2, the next one, had a copy (acks=1)."
    )
    assert not any("No acknowledged message" in sentence for sentence in sentences)
    several = told(lost_with_leader("shop", "kiosk"), acks={"shop": "1", "kiosk": "all"})
    assert several[1].startswith("409 of 3,000 messages of shop and 12 of 3,000 messages of kiosk were acknowledged")
    assert "acks" not in several[1]
    many = told(lost_with_leader("shop", "kiosk", "web", "app"))
    assert many[1].startswith("425 messages of 4 producers were acknowledged and are gone")


def test_a_setting_that_is_known_of_some_producers_only_is_not_told() -> None:
    assert "acks" not in told(lost_with_leader("shop", "kiosk"), acks={"shop": "1"})[1]


def test_lost_messages_without_a_known_reason() -> None:
    audit = (
        AuditRow("orders", 0, "shop", "billing", 3000, 2900, 100, expired=40),
        AuditRow("orders", 0, "shop", "other", 3000, 2993, 7),
    )
    assert told(quiet_run(audit=audit))[0] == (
        "100 of 3,000 acknowledged messages of orders never reached group billing, and 7 more were lost on other ways"
        "; Kafka had deleted 40 of the lost ones before."
    )


def test_losses_beyond_those_with_a_leader_are_told_as_well() -> None:
    run = lost_with_leader("shop")
    run = replace(run, audit=(replace(run.audit[0], lost=500),))
    sentences = told(run)
    assert sentences[1].startswith("409 of 3,000")
    assert sentences[2] == "91 of 2,990 acknowledged messages of orders never reached group billing."


def test_messages_that_nobody_saw_arrive_are_doubt_and_no_pass() -> None:
    flight = (AuditRow("orders", 0, "shop", "billing", 3000, 2900, in_flight=100),)
    sentence = told(quiet_run(audit=flight))[0]
    assert sentence == ("No message is known to be lost, but nobody saw 100 of 3,000 acknowledged messages arrive.")


def test_failures_and_duplicates_stand_beside_the_good_news() -> None:
    audit = (
        AuditRow("orders", 0, "shop", "billing", 2990, 2990, duplicated_in_log=2, redelivered=3, out_of_order=1),
    )
    run = quiet_run(sent=(SentRow("orders", 0, "shop", 3000, 2990, failed=10),), audit=audit)
    assert told(run)[0] == (
        "No acknowledged message was lost: all 2,990 were received; 10 failed, 5 received more than once and "
        "1 out of order."
    )


def test_groups_that_were_owed_the_same_and_groups_that_were_not() -> None:
    same = tuple(AuditRow("orders", 0, "shop", group, 3000, 3000) for group in ("a", "b"))
    assert told(quiet_run(audit=same))[0] == "No acknowledged message was lost: each of 2 groups received all 3,000."
    other = (same[0], replace(same[1], expected=2000, received=2000))
    assert told(quiet_run(audit=other))[0].endswith(
        "2 groups received all that they were owed, 5,000 messages together."
    )


def test_messages_that_nobody_was_to_read_are_not_counted_as_received() -> None:
    sent = (SentRow("orders", 0, "shop", 3000, 3000), SentRow("audit-log", 0, "shop", 50, 50))
    assert told(quiet_run(sent=sent))[0] == (
        "No acknowledged message was lost: all 3,000 were received; no recorded consumer read the 50 of audit-log."
    )


def test_nobody_reads_and_nobody_acknowledges() -> None:
    assert told(quiet_run(audit=(), positions=(), latency=()))[0] == (
        "3,000 messages were acknowledged, and no recorded consumer was to receive them."
    )
    refused = quiet_run(sent=(SentRow("orders", 0, "shop", 3000, failed=3000),), audit=(), latency=())
    assert told(refused)[0] == "None of 3,000 messages was acknowledged."


def test_messages_without_acknowledgements() -> None:
    run = quiet_run(
        sent=(SentRow("orders", 0, "shop", 3000, unconfirmed=3000),),
        audit=(AuditRow("orders", 0, "shop", "billing", 0, 2990, unconfirmed_lost=6, unconfirmed_in_flight=4),),
    )
    assert told(run)[0] == "10 of 3,000 messages that were sent with acks 0 were not received."


def test_results_behind_an_engine() -> None:
    complete = TraceRow("orders", "sums", "value", 3000, 3000)
    assert "All 3,000 messages of orders have their result in sums." in told(quiet_run(traces=(complete,)))
    missing = replace(complete, recognised=2990, missing=10)
    assert "10 of 3,000 messages of orders have no result in sums." in told(quiet_run(traces=(missing,)))
    unread = replace(complete, unread=5.0)
    assert not any("sums" in sentence for sentence in told(quiet_run(traces=(unread,))))
    blind = replace(complete, why_unknown="nobody read sums")
    assert any(sentence.startswith("How many messages of orders") for sentence in told(quiet_run(traces=(blind,))))


def spark_points(*batches: tuple[float, float], query: str = "job.sums") -> tuple[SeriesPoint, ...]:
    found = []
    for number, (rows, batch_ms) in enumerate(batches):
        for metric, value in (("batch_id", number), ("rows", rows), ("batch_ms", batch_ms)):
            found.append(SeriesPoint(f"spark {query}", metric, float(number), float(value)))
    return tuple(found)


def test_an_engine_that_reads_all_messages_is_told_instead_of_consumers() -> None:
    clients = (CLIENTS[0], ClientRow("engine", "job", observed=False))
    results = (ReceivedRow("sums", 0, "g", "see", 12, 100, foreign=12),)
    points = spark_points((2000, 700), (1000, 1234))
    run = quiet_run(clients=clients, audit=(), positions=(), latency=(), received=results, gauges=points)
    assert told(run) == [
        "job.sums processed 3,000 rows in 2 batches, the longest of 1.23 s; consumers received 12 results.",
        "150 messages/s were acknowledged.",
    ]
    idle = replace(run, gauges=spark_points((0, 10)), received=())
    assert told(idle)[0] == "No streaming query processed a row."
    more = (*points, *(one for n in range(3) for one in spark_points((1, 1), query=f"job.q{n}")))
    assert "2 more queries processed rows" in told(replace(run, gauges=more))[0]


def test_programs_that_were_not_observed() -> None:
    clients = (ClientRow("producer", "mine", observed=False), ClientRow("engine", "job", observed=False))
    notes = ("mine is not observed: it is no Python program", "job is not observed: say observe: wire")
    run = Analysis("r", 20.0, 1.0, clients=clients, held={"orders": 500}, fidelity=GOOD, notes=notes)
    assert told(run, Verdict("pass")) == [
        "No recorded client sent a message, and Kafka holds 500 messages of others.",
        "What mine sent and received is not on record.",
    ]


def test_an_expectation_that_failed_is_told_with_what_was_measured() -> None:
    failed = Judgement("latency.p99 < 10 ms", "fail", 0.04, "40 ms")
    sentence = told(quiet_run(), Verdict("fail", (failed,)))[-1]
    assert sentence == "latency.p99 < 10 ms does not hold: 40 ms."
    three = Verdict("fail", (failed, failed, failed))
    assert told(quiet_run(), three)[-1].endswith("40 ms; 2 more do not hold either.")
    assert told(quiet_run(), Verdict("fail", (failed, failed)))[-1].endswith("; 1 more does not hold either.")


def test_an_expectation_that_is_unknown_because_time_is_suspect() -> None:
    suspect = Fidelity(False, "fell behind", seconds=20, bad_seconds=4, suspect=(SuspectSpan(2, 6, ("late",)),))
    unknown = Judgement("latency.p99 < 30 ms", "unknown", 0.04, "40 ms", reason="the machine may have shaped it")
    sentences = told(quiet_run(fidelity=suspect), Verdict("unknown", (unknown,)))
    assert sentences[-2:] == [
        "The machine could not keep up in 4 of 20 seconds of load, so times may be too long.",
        "Whether latency.p99 < 30 ms holds is unknown: the machine may have shaped it.",
    ]
    not_measured = told(quiet_run(fidelity=Fidelity(None, "not measured")))
    assert "Whether the machine kept up is unknown, so times may be too long." in not_measured


def test_an_interrupted_run_says_so_first() -> None:
    sentences = told(quiet_run(), Verdict("unknown", doubts=("interrupted at 12.3 s",)))
    assert sentences[0] == "The run was interrupted at 12.3 s."


def test_a_run_without_an_analysis_tells_doubts_and_deaths() -> None:
    verdict = Verdict("unknown", doubts=("no load was driven: there is nothing to judge",))
    died = {"event": "died", "component": "broker-h1", "t_s": -3.0, "how": "exit 1"}
    assert told(None, verdict, [died]) == [
        "No load was driven: there is nothing to judge.",
        "broker-h1 died at -3 s (exit 1); no fault asked for that.",
    ]
    assert told(None, None) == []


def test_deaths_are_told_up_to_two_and_then_counted() -> None:
    died = [{"event": "died", "component": f"c{n}", "t_s": float(n), "how": "SIGSEGV"} for n in (1, 2, 3)]
    restarted = {"event": "died", "component": "c9", "t_s": 1.0, "how": "exit 1", "restarts_left": 2}
    assert told(quiet_run(), None, [*died, restarted])[0] == (
        "c1 died at 1 s (SIGSEGV), c2 died at 2 s (SIGSEGV) and 1 more died; no fault asked for that."
    )


RUNS = {
    "quiet": quiet_run(),
    "killed": quiet_run(
        faults=(fault_row(),), recovery=(cost(),),
        outages=(OutageRow("dead", 1, "acknowledged", "orders", "shop", "", 3.02, 3.02),),
    ),
    "lost": lost_with_leader("shop"),
    "suspect": quiet_run(fidelity=Fidelity(False, "", seconds=20, bad_seconds=4)),
    "spark": quiet_run(gauges=spark_points((2000, 700), (1000, 1234))),
    "traced": quiet_run(traces=(TraceRow("orders", "orders", "value", 3000, 2990, missing=10),)),
}  # fmt: skip


@pytest.mark.parametrize("which", RUNS)
def test_every_number_names_its_evidence(which: str) -> None:
    verdict = Verdict("fail", (Judgement("lost < 3", "fail", 4.0, "4"), Judgement("x < 3", "unknown", reason="5 s")))
    findings = tell_findings(RUNS[which], verdict, [])
    for finding in findings:
        for phrase in finding.phrases:
            bare = not phrase.evidence and not phrase.is_name
            assert not (bare and re.search(r"\d", phrase.text.replace("99th", ""))), finding.text
        assert finding.describe()["text"] == finding.text
        assert all(cited["in"] for cited in finding.describe()["evidence"])


def test_names_with_braces_and_markup_stay_as_they_are() -> None:
    sentence = make_sentence(compose("{who} sent {what}", who=name("{x} <b>"), what="{y}"))
    assert sentence.text == "{x} <b> sent {y}."
    assert names(["a", "b", "c", "d"]).text == "a, b and 2 more"


def test_a_finding_survives_json() -> None:
    finding = tell_findings(quiet_run(), None, [])[0]
    assert Finding.from_json(finding.to_json()) == finding


def test_acks_are_read_from_the_experiment_as_understood(tmp_path: Path) -> None:
    assert read_acks(tmp_path) == {}
    text = "producers: [{name: a, acks: 1}, {name: b}, {name: c, app: mine.py}]\n"
    (tmp_path / "experiment.yaml").write_text(text, "utf-8")
    assert read_acks(tmp_path) == {"a": "1", "b": str(read_default())}


def read_default() -> object:
    from stream2gym.spec.model import Producer

    return Producer.model_fields["acks"].default


def test_partitions_that_got_different_leaders_are_one_story() -> None:
    base = lost_with_leader("shop")
    [row] = base.cut_off
    others = (row, replace(row, partition=1, successor="broker-h3", messages=100))
    assert "their leader broker-h1 was gone before broker-h2 and broker-h3, the next ones, had a copy" in "".join(
        told(replace(base, cut_off=others))
    )
    two = (row, replace(row, partition=1, leader="broker-h2", successor="broker-h3", messages=100))
    assert "of 409 the leader broker-h1 was gone before broker-h2, the next one, had a copy" in "".join(
        told(replace(base, cut_off=two))
    )


def test_what_was_done_by_hand_to_jobs_is_told_with_its_evidence() -> None:
    events = [
        {"event": "job-submitted", "t_s": 3.14, "component": "late", "host": "h3"},
        {"event": "job-moved", "t_s": 8.0, "component": "late", "host": "h3", "to": "h4"},
        {"event": "job-stopped", "t_s": 12.0, "component": "bill", "host": "h2"},
    ]
    [first, *_] = tell_findings(quiet_run(), None, events)
    assert first.text == (
        "late was submitted to h3 at 3.1 s and moved from h3 to h4 at 8 s by hand; bill was stopped at 12 s by hand."
    )
    assert {phrase.evidence for phrase in first.phrases if phrase.text.endswith(" s")} == {"table-jobs"}


def test_of_many_jobs_the_first_ones_are_told_and_the_others_counted() -> None:
    events = [
        {"event": "job-stopped", "t_s": float(number), "component": f"c{number}", "host": "h2"}
        for number in range(1, 6)
    ]
    [first, *_] = tell_findings(quiet_run(), None, events)
    assert first.text.endswith("c3 was stopped at 3 s by hand; 2 more jobs were submitted, moved or stopped by hand.")
