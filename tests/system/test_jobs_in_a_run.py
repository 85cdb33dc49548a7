"""Jobs by hand in a run that goes on: submitted, listed, moved, stopped, and judged like any other. One run."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stream2gym.record.events import read_events
from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import Reader
from stream2gym.wait import wait_until
from tests.support.users import myself

EXPERIMENT = """\
s2g: 1
name: jobs
topology: {kind: star, hosts: 4, latency: 2 ms}
brokers: [{on: h1}]
topics: [{name: t, partitions: 2}]
producers: [{name: gen, on: h2, topic: t, rate: 50/s, size: 20 B, acks: all}]
consumers: [{name: see, on: h2, topics: [t], group: seen}]
placement: {constraints: [{exlocate: ["see*"]}]}
time: 300 s
drain: 10 s
expect: ["lost(group=seen) == 0", "lost(producer=gen) == 0"]
"""
# Its placement is left to the run, which has to keep it off the host of see.
MORE = """\
s2g: 1
producers: [{name: extra, on: h3, topic: t, rate: 50/s, size: 20 B, acks: all}]
consumers: [{name: see-late, topics: [t], group: late, from: earliest}]
"""
WRONG = """\
s2g: 1
consumers: [{name: lost-reader, on: h3, topics: [nothing]}, {name: see-too, on: h2, topics: [t]}]
"""


@dataclass(frozen=True)
class Story:
    """What was said to a run, what it answered, and the run."""

    path: Path
    answers: dict[str, subprocess.CompletedProcess[str]]
    exit_code: int

    def jobs(self, step: str) -> dict[str, dict[str, Any]]:
        answer = self.answers[step]
        assert answer.returncode == 0, answer.stderr
        return {job["name"]: job for job in json.loads(answer.stdout)}

    def events(self, kind: str) -> list[dict[str, Any]]:
        events = read_events(self.path / "events.jsonl", RunFolder.open(self.path).info["t0_ns"])
        return [event for event in events if event["event"] == kind]

    def judged(self, expectation: str) -> dict[str, Any]:
        verdict = json.loads((self.path / "verdict.json").read_text())
        return next(one for one in verdict["judgements"] if one["text"] == expectation)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("jobs")
    for name, text in (("jobs.yaml", EXPERIMENT), ("more.yaml", MORE), ("wrong.yaml", WRONG)):
        (folder / name).write_text(text)
    path = folder / "run"
    user = myself()
    answers: dict[str, subprocess.CompletedProcess[str]] = {}

    def job(step: str, *words: str) -> None:
        answers[step] = user.run("job", str(path), *words, timeout=120, cwd=folder)

    def resolve(step: str) -> None:
        words = ("shell", str(path), "h2", "--", "getent", "hosts", "see-late")
        answers[step] = user.run(*words, timeout=60, cwd=folder)

    words = ("run", "jobs.yaml", "--no-report", "--out", str(path))
    with (
        (folder / "output.txt").open("w") as output,
        user.popen(*words, stdout=output, stderr=output, cwd=folder) as run,
    ):
        try:
            wait_until(
                lambda: (path / "jobs.sock").exists() or run.poll() is not None, timeout_s=120, reason="the load"
            )
            assert run.poll() is None, Path(output.name).read_text()
            job("wrong", "submit", "wrong.yaml", "lost-reader")
            job("too close", "submit", "wrong.yaml", "see-too")
            job("submit", "submit", "more.yaml", "--json")
            resolve("before")
            job("refused move", "move", "see-late", "h2")
            job("move", "move", "see-late", "h4")
            resolve("after")
            job("list", "list", "--json")
            job("stop extra", "stop", "extra")
            job("stop see", "stop", "see")
            job("again", "stop", "see")
            job("broker", "stop", "broker-h1")
            # Messages that see was not there for; then nobody sends any more, and the load is over.
            enough = count_sent(path) + 50
            wait_until(lambda: count_sent(path) >= enough, timeout_s=60, reason="more messages")
            job("stop gen", "stop", "gen")
            code = run.wait(180)
        finally:
            run.kill()
    return Story(path, answers, code)


def count_sent(path: Path) -> int:
    """How many messages gen has sent so far, as its journals say."""
    journals = RunFolder.open(path).journals_of("sent", "gen").values()
    return sum(sum(map(len, Reader(journal).blocks())) // Reader(journal).layout.row_bytes for journal in journals)


def test_what_is_wrong_in_a_part_is_said_and_nothing_starts(story: Story) -> None:
    assert story.answers["wrong"].returncode == 2
    assert "nothing" in story.answers["wrong"].stderr
    assert "lost-reader" not in story.jobs("list")


def test_constraints_hold_for_what_is_submitted_and_moved_later(story: Story) -> None:
    for step in ("too close", "refused move"):
        assert story.answers[step].returncode == 2
        assert "exlocate" in story.answers[step].stderr
    assert story.jobs("submit")["see-late"]["host"] != "h2"


def test_a_submitted_job_is_listed_with_its_health_and_where_things_listen(story: Story) -> None:
    jobs = story.jobs("list")
    assert jobs["see-late"] | {"listens": []} == {
        "name": "see-late", "kind": "consumer", "type": "STANDARD", "host": "h4", "address": "10.0.0.4",
        "state": jobs["see-late"]["state"], "processes": 1, "starts": 2, "listens": [], "submitted": True,
    }  # fmt: skip
    assert jobs["see-late"]["state"] in ("ready", "starting")
    assert "10.0.0.1:9092" in jobs["broker-h1"]["listens"]
    assert not jobs["gen"]["submitted"]


def test_the_name_of_a_moved_job_resolves_to_its_new_host(story: Story) -> None:
    first = story.jobs("submit")["see-late"]["address"]
    assert story.answers["before"].stdout.split()[0] == first != "10.0.0.4"
    assert story.answers["after"].stdout.split()[0] == "10.0.0.4"


def test_events_tell_what_was_done_by_hand_and_nothing_died(story: Story) -> None:
    assert [event["component"] for event in story.events("job-submitted")] == ["see-late", "extra"]
    assert [(event["component"], event["to"]) for event in story.events("job-moved")] == [("see-late", "h4")]
    assert [event["component"] for event in story.events("job-stopped")] == ["extra", "see", "gen"]
    assert not story.events("died")


def test_only_jobs_that_run_are_stopped_and_the_set_up_is_not(story: Story) -> None:
    assert story.answers["again"].returncode == 2
    assert "stopped by hand" in story.answers["again"].stderr
    assert story.answers["broker"].returncode == 2
    assert "fault" in story.answers["broker"].stderr


def test_a_group_whose_consumer_was_stopped_makes_no_loss_pass(story: Story) -> None:
    judged = story.judged("lost(group=seen) == 0")
    assert judged["outcome"] == "unknown"
    assert "see was stopped by hand at" in judged["reason"]
    assert story.exit_code == 3


def test_what_a_moved_consumer_was_owed_arrived_before_and_after_the_move(story: Story) -> None:
    expected = ("lost(group=late) == 0", "received(consumer=see-late) > 100")
    words = [word for text in expected for word in ("--expect", text)]
    answer = myself().run("judge", str(story.path), *words, timeout=180)
    for text in expected:
        assert re.search(rf"pass +{re.escape(text)}", answer.stdout), answer.stdout + answer.stderr


def test_the_audit_and_the_report_tell_what_was_done_by_hand(story: Story) -> None:
    stored = json.loads((story.path / "analysis.json").read_text())["jobs"]
    assert [(row["component"], row["did"], row["to"]) for row in stored] == [
        ("see-late", "submitted", ""),
        ("extra", "submitted", ""),
        ("see-late", "moved", "h4"),
        ("extra", "stopped", ""),
        ("see", "stopped", ""),
        ("gen", "stopped", ""),
    ]
    told = myself().run("report", str(story.path), "--format", "md", timeout=120)
    assert told.returncode == 0, told.stderr
    assert "see-late was submitted to" in told.stdout
    assert re.search(r"moved from h\d to h4 at \d", told.stdout)
    assert re.search(r"see was stopped at \d", told.stdout)
