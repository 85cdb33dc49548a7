"""What the record of a run says at a moment, whether it is read while the run goes on or afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis.fake_run import T0_NS
from stream2gym.kinds.expectation_grammar import parse_expectation
from stream2gym.record.seal import seal
from stream2gym.web import message_preview as messages
from stream2gym.web.expectation_preview import present_state, preview_expectations
from stream2gym.web.record_tail import LineTail, RecordTail
from stream2gym.web.results import latest_rows, latest_values, list_results
from stream2gym.web.run_story import RunStory, numbers_of, read_story
from stream2gym.web.snapshot import snapshot_at
from stream2gym.web.timelines import object_series, timelines_from
from tests.unit.web.web_runs import RunningRun, fake_folder, fake_run, read_whole


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> RunStory:
    return read_whole(fake_folder(tmp_path_factory.mktemp("runs") / "fake"))


def at(story: RunStory, t_s: float) -> dict[str, Any]:
    return snapshot_at(story, T0_NS + round(t_s * 1e9), T0_NS)


def test_the_leader_is_the_one_of_that_second(story: RunStory) -> None:
    assert at(story, 5.9)["leaders"]["in/0"]["leader"] == "broker-h1"
    assert at(story, 6.1)["leaders"]["in/0"]["leader"] == "broker-h2"
    assert at(story, -1.5)["leaders"] == {}


def test_a_link_is_cut_while_its_fault_is_in_force(story: RunStory) -> None:
    assert at(story, 2.9)["links"]["h1 -- s1"]["up"] == [True, True]
    cut = at(story, 4.0)
    assert cut["links"]["h1 -- s1"]["up"] == [False, False]
    assert cut["links"]["h2 -- s1"]["up"] == [True, True]
    assert [fault["fault"] for fault in cut["faults"]] == ["cut"]
    assert at(story, 5.0)["links"]["h1 -- s1"]["up"] == [True, True]


def test_traffic_stops_while_a_link_is_cut(story: RunStory) -> None:
    assert at(story, 2.0)["links"]["h1 -- s1"]["bps"][0] == pytest.approx(800_000)
    assert at(story, 4.6)["links"]["h1 -- s1"]["bps"][0] == 0
    assert at(story, 2.0)["links"]["h1 -- s1"]["use"][0] == pytest.approx(0.008)


def test_components_have_the_state_of_that_second(story: RunStory) -> None:
    states = {t: at(story, t)["components"]["broker-h1"]["state"] for t in (-1.8, -0.8, 5.0, 8.0)}
    assert states == {-1.8: "planned", -0.8: "starting", 5.0: "ready", 8.0: "killed"}
    assert at(story, 5.0)["components"]["gen"]["cpu"] == pytest.approx(0.5)


def test_counts_are_those_so_far(story: RunStory) -> None:
    early, late = at(story, 3.0)["counts"], at(story, 12.0)["counts"]
    assert early["sent"] < 40
    assert (late["sent"], late["acknowledged"], late["received"]) == (100, 100, 100)
    assert (late["lost"], late["duplicated"], late["in_flight"]) == (0, 0, 0)
    assert late["stride"] == 1


def test_topics_have_rates_and_counts_of_their_own(story: RunStory) -> None:
    assert at(story, 5.0)["topics"] == {"in": [pytest.approx(10, rel=0.3), pytest.approx(10, rel=0.3)]}
    states = {}
    for text in (
        "received(topic=in) > 50",
        "received(topic=other) > 50",
        "lost(topic=in) == 0",
        "sent(topic=i*) > 5",
    ):
        state = present_state(parse_expectation(text), story, T0_NS + 12_000_000_000)
        states[text] = state.word
    assert list(states.values()) == ["holding", "unknown", "unknown", "unknown"]


def test_lag_and_phase(story: RunStory) -> None:
    assert at(story, 5.0)["lag"] == {"g": 3}
    assert (at(story, -1.8)["phase"], at(story, 5.0)["phase"], at(story, 10.5)["phase"]) == (
        "network",
        "load",
        "drain",
    )


def test_expectations_hold_break_or_are_unknown_so_far(story: RunStory) -> None:
    rows = preview_expectations(story, T0_NS + 4_000_000_000, T0_NS, None)
    assert [row["now"] for row in rows] == ["holding", "unknown", "holding", "unknown"]
    rows = preview_expectations(story, T0_NS + 9_000_000_000, T0_NS, None)
    assert rows[1]["now"] == "holding", "more than 50 messages were received by then"
    assert rows[3]["moments"] == [3.0], "the fault that the expectation names"


def test_a_judged_run_shows_its_judgements(story: RunStory) -> None:
    proof = "gen 7: due at 4.250 s, acknowledged at 4.300 s, not received by g"
    judgement = {
        "text": "lost == 0",
        "outcome": "fail",
        "shown": "3",
        "reason": "three are gone",
        "evidence": [proof],
    }
    verdict = {"judgements": [judgement]}
    first = preview_expectations(story, T0_NS, T0_NS, verdict)[0]
    assert (first["verdict"], first["measured"], first["reason"]) == ("fail", "3", "three are gone")
    assert first["evidence"] == [{"text": proof, "t": 4.25}]


def test_a_lost_message_is_counted_once_its_group_has_read_past_it(tmp_path: Path) -> None:
    run = fake_run()
    run.rows["received"] = [row for row in run.rows["received"] if row["seq"] != 40]
    folder = fake_folder(tmp_path / "other")
    run.write(tmp_path / "lossy")
    story = read_whole(type(folder).open(tmp_path / "lossy"))
    assert at(story, 3.5)["counts"]["lost"] == 0
    assert at(story, 12.0)["counts"]["lost"] == 1
    [lost, *_] = preview_expectations(story, T0_NS + 12_000_000_000, T0_NS, None)
    assert lost["now"] == "broken"
    assert 3.5 < lost["moments"][0] < 6


def test_a_message_that_nobody_read_past_is_in_flight_and_not_lost(tmp_path: Path) -> None:
    run = fake_run()
    run.rows["received"] = [row for row in run.rows["received"] if row["seq"] < 90]
    run.write(tmp_path / "behind")
    story = read_whole(fake_folder(tmp_path / "other").open(tmp_path / "behind"))
    counts = at(story, 12.0)["counts"]
    assert (counts["lost"], counts["in_flight"]) == (0, 10)


def test_what_was_sent_before_a_group_began_is_not_lost(tmp_path: Path) -> None:
    run = fake_run()
    run.rows["received"] = [row for row in run.rows["received"] if row["seq"] >= 50]
    run.write(tmp_path / "latest")
    story = read_whole(fake_folder(tmp_path / "other").open(tmp_path / "latest"))
    assert at(story, 12.0)["counts"]["lost"] == 0


def test_messages_without_our_header_are_counted_and_not_followed(tmp_path: Path) -> None:
    running = RunningRun(tmp_path / "run", header=False)
    tail = RecordTail(running.folder)
    story = read_story(running.folder)
    for seq in range(20):
        running.acknowledge(running.send(seq / 10), seq / 10, seq)
        running.receive(seq, seq / 10, seq, is_ours=False)
    for second in (3, 4, 5):
        story.take(tail.look(), T0_NS + second * 1_000_000_000)
    counts = at(story, 6.0)["counts"]
    assert (counts["sent"], counts["acknowledged"], counts["received"]) == (20, 20, 20)
    assert (counts["lost"], counts["in_flight"]) == (0, 0)
    running.close()


def test_messages_that_nobody_acknowledges_are_forgotten_when_they_are_received(tmp_path: Path) -> None:
    run = fake_run()
    for row in run.rows["sent"]:
        row.update(status="unconfirmed", partition=None, offset=None)
    run.write(tmp_path / "acks0")
    story = read_whole(fake_folder(tmp_path / "other").open(tmp_path / "acks0"))
    counts = at(story, 12.0)["counts"]
    assert (counts["sent"], counts["acknowledged"], counts["received"], counts["lost"]) == (100, 0, 100, 0)
    assert story.messages.followed == 0


def test_a_message_that_comes_twice_is_duplicated(tmp_path: Path) -> None:
    run = fake_run()
    run.receive(10, at_s=7.0)
    run.write(tmp_path / "twice")
    story = read_whole(fake_folder(tmp_path / "other").open(tmp_path / "twice"))
    assert at(story, 6.0)["counts"]["duplicated"] == 0
    assert at(story, 12.0)["counts"]["duplicated"] == 1


def test_a_run_that_goes_on_tells_the_same_as_its_sealed_record(tmp_path: Path) -> None:
    running = RunningRun(tmp_path / "run")
    tail = RecordTail(running.folder)
    live = read_story(running.folder)
    rows = []
    for seq in range(60):
        rows.append(running.send(seq / 10))
        if seq >= 5:
            running.acknowledge(rows[seq - 5], seq / 10, seq - 5)
        if seq >= 7:
            running.receive(seq - 7, seq / 10, seq - 7)
        if seq % 5 == 4:
            running.samples.add("process", "gen", "rss_bytes", 1000 + seq, at_ns=T0_NS + seq * 100_000_000)
            live.take(tail.look(), T0_NS + seq * 100_000_000)
    running.folder.events.add("phase", phase="load", at_ns=T0_NS)
    live.take(tail.look(), T0_NS + 6_500_000_000)
    for log in (running.sent, running.received, running.samples):
        log.close()
    seal(running.folder)
    sealed = read_whole(running.folder)
    counts = at(live, 20.0)["counts"]
    assert (counts["sent"], counts["acknowledged"], counts["received"], counts["in_flight"]) == (60, 55, 53, 2)
    for key in (messages.SENT, messages.ACKNOWLEDGED, messages.RECEIVED):
        for bucket in range(40):
            assert live.buckets.value(key, bucket) == sealed.buckets.value(key, bucket), (key, bucket)
    assert live.buckets.latencies_until(99) == sealed.buckets.latencies_until(99)
    assert [series["values"] for series in object_series(live, {"gen"})] != []
    running.folder.release()


def test_what_was_written_last_is_read_although_the_journals_are_gone(tmp_path: Path) -> None:
    running = RunningRun(tmp_path / "run")
    tail = RecordTail(running.folder)
    tail.look()
    running.send(1.0)
    running.close()
    seal(running.folder)
    assert not running.folder.raw.exists()
    assert [batch.num_rows for batch in tail.look().sent] == [1]
    tail.close()


def test_a_half_written_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    tail = LineTail(path)
    assert tail.read() == ([], False)
    path.write_bytes(b'{"at_ns": 1, "event": "a"}\n{"at_ns": 2, "ev')
    assert [event["event"] for event in tail.read()[0]] == ["a"]
    with path.open("ab") as file:
        file.write(b'ent": "b"}\nno json\n[1]\n{"event": "without a time"}\n')
    assert [event["event"] for event in tail.read()[0]] == ["b"]


def test_under_load_one_of_several_messages_is_followed_and_all_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "FOLLOWED_A_LOOK", 10)
    run = fake_run()
    for seq in range(100, 2100):
        run.send(seq, due_s=5 + seq / 1000)
        if seq not in (512, 513):
            run.receive(seq, at_s=5.05 + seq / 1000)
    run.write(tmp_path / "busy")
    story = read_whole(fake_folder(tmp_path / "other").open(tmp_path / "busy"))
    counts = at(story, 15.0)["counts"]
    assert counts["stride"] > 10
    assert counts["sent"] == 2100
    assert counts["received"] == 2098
    assert counts["lost"] % counts["stride"] == 0, "an estimate from the messages that are followed"


def test_the_latest_values_of_a_topic_are_those_of_that_second(tmp_path: Path) -> None:
    folder = fake_folder(tmp_path / "run")
    rows = [
        {"at_ns": T0_NS + second * 1_000_000_000, "topic": "out", "partition": 0, "offset": second, "key": None,
         "value": json.dumps({"count": second * 10, "word": "<b>"})}
        for second in range(10)
    ]  # fmt: skip
    (folder.data / "values.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    story = read_whole(folder)
    at_ns = T0_NS + 5_500_000_000
    assert [row["offset"] for row in latest_values(story, at_ns)["out"]] == [5, 4, 3, 2, 1, 0]
    numbers = {(one["object"], one["metric"]): one["value"] for one in list_results(story, at_ns)}
    assert numbers == {("out", "count"): 50}


def test_a_message_that_is_read_again_at_the_end_is_shown_once(tmp_path: Path) -> None:
    folder = fake_folder(tmp_path / "run")
    row = {"topic": "out", "partition": 0, "offset": 7, "key": None, "value": "x"}
    lines = [{"at_ns": T0_NS + 9_000_000_000, "end": True, **row}, {"at_ns": T0_NS, **row}]
    (folder.data / "values.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(latest_values(read_whole(folder), T0_NS + 10_000_000_000)["out"]) == 1


def test_the_rows_of_a_table_are_those_of_that_second(tmp_path: Path) -> None:
    folder = fake_folder(tmp_path / "run")
    rows = [
        {"at_ns": T0_NS + second * 1_000_000_000, "store": "db", "table": "t", "by": "n", "columns": ["n"],
         "rows": [[str(second)]]}
        for second in (6, 2)
    ]  # fmt: skip
    (folder.data / "values.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    story = read_whole(folder)
    assert latest_rows(story, T0_NS) == []
    [table] = latest_rows(story, T0_NS + 5_000_000_000)
    assert table == {"store": "db", "table": "t", "by": "n", "columns": ["n"], "rows": [["2"]]}
    assert latest_rows(story, T0_NS + 9_000_000_000)[0]["rows"] == [["6"]]
    assert latest_values(story, T0_NS + 9_000_000_000) == {}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("12.5", {"value": 12.5}),
        ('{"a": 1, "b": "x", "c": true, "d": null}', {"a": 1}),
        ("words", {}),
        ("[1, 2]", {}),
        ("1e999", {}),
        ('{"cut off', {}),
    ],
)
def test_the_numbers_of_a_value(text: str, numbers: dict[str, float]) -> None:
    assert numbers_of(text) == numbers


def test_time_lines_have_a_number_for_every_bucket(story: RunStory) -> None:
    lines = timelines_from(story, 4, 20)
    assert lines["first"] == 4
    assert {len(numbers) for series in lines["charts"].values() for numbers in series.values()} == {17}
    assert lines["charts"]["lag"].keys() == {"g"}
    assert max(value or 0 for value in lines["charts"]["throughput"]["sent"]) == pytest.approx(10, rel=0.3)


def test_the_latest_events_are_handed_out_and_the_others_counted(story: RunStory) -> None:
    newest, left_out = story.events_since(0, 5)
    assert len(newest) == 5
    assert left_out == story.event_count - 5
    assert story.events_since(story.event_count, 5) == ([], 0)


@pytest.mark.parametrize(
    ("fault", "state"),
    [
        ({"do": "degrade", "on": ["h1 -- s1"], "settings": {"latency": "100 ms", "loss": "1 %"}}, "100 ms"),
        ({"do": "switch-down", "on": ["s1"]}, "down"),
        ({"do": "flap", "on": ["h1 -- s1"]}, "changing"),
    ],
)
def test_what_faults_do_to_links(tmp_path: Path, fault: dict[str, Any], state: str) -> None:
    run = fake_run()
    run.event("fault-applied", 7.0, fault="by-hand", instance=1, **fault)
    run.write(tmp_path / "run")
    link = at(read_whole(fake_folder(tmp_path / "other").open(tmp_path / "run")), 8.0)["links"]["h1 -- s1"]
    assert state in link["settings"] or link["changing"]
    assert link["faults"] == ["by-hand"]


def test_hosts_that_faults_keep_apart(tmp_path: Path) -> None:
    run = fake_run()
    run.event("fault-applied", 7.0, fault="p", instance=1, do="partition", on=["h1 | h2"])
    run.write(tmp_path / "run")
    story = read_whole(fake_folder(tmp_path / "other").open(tmp_path / "run"))
    assert at(story, 8.0)["hosts"] == {"h1": "side 1 of p", "h2": "side 2 of p"}
    assert at(story, 6.9)["hosts"] == {}
