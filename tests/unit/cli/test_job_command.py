"""``s2g job``: what it asks the run for, and how it shows the answer."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from stream2gym.cli import job
from stream2gym.errors import BadInput

MORE = """\
s2g: 1
topics: [t]
producers: [{name: gen, topic: t}]
consumers: [{name: late, topics: [t]}, {topics: [t]}]
"""


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    job.add(parser)
    return parser.parse_args(["latest", *words])


@pytest.fixture
def more(tmp_path: Path) -> Path:
    path = tmp_path / "more.yaml"
    path.write_text(MORE)
    return path


@pytest.mark.parametrize(
    "words", [["list", "x"], ["submit"], ["stop"], ["stop", "a", "b"], ["move", "a"], ["stop", "a", "--on", "h1"]]
)
def test_too_few_or_too_many_words_are_told(words: list[str]) -> None:
    with pytest.raises(BadInput, match="s2g job RUN"):
        job.check_words(parse(*words))


def test_named_parts_are_submitted_on_the_host_and_under_the_name_that_are_given(more: Path) -> None:
    question = job.read_parts(parse("submit", str(more), "late", "--on", "h3", "--as", "later"), set())
    assert question["parts"] == {"consumers": [{"name": "later", "topics": ["t"], "on": "h3"}]}
    assert question["folder"] == str(more.parent)


def test_without_names_all_that_the_run_lacks_is_submitted_and_needs_a_name(more: Path) -> None:
    with pytest.raises(BadInput, match="without a name"):
        job.read_parts(parse("submit", str(more)), {"gen"})
    more.write_text(MORE.replace(", {topics: [t]}", ""))
    question = job.read_parts(parse("submit", str(more), "--set", "consumers.late.group=g"), {"gen"})
    assert question["parts"] == {"consumers": [{"name": "late", "topics": ["t"], "group": "g"}]}
    with pytest.raises(BadInput, match="that the run lacks"):
        job.read_parts(parse("submit", str(more)), {"gen", "late"})


@pytest.mark.parametrize(
    ("words", "what"),
    [(["nosuch"], "is no engine, consumer or producer"), (["gen", "late", "--as", "x"], "cannot have one name")],
)
def test_wrong_names_are_told(more: Path, words: list[str], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        job.read_parts(parse("submit", str(more), *words), set())


def test_jobs_are_shown_as_a_table() -> None:
    one = {
        "name": "late", "kind": "consumer", "type": "STANDARD", "host": "h3", "address": "10.0.0.3", "state": "ready",
        "processes": 1, "starts": 1, "listens": [], "submitted": True,
    }  # fmt: skip
    broker = one | {"name": "b", "kind": "broker", "type": "kafka", "listens": ["10.0.0.1:9092"], "submitted": False}
    engine = one | {"name": "count", "kind": "engine", "type": "spark", "submitted": False}
    lines = job.make_lines([one, broker, engine])
    assert lines[0].split() == ["NAME", "KIND", "HOST", "ADDRESS", "STATE", "LISTENS", "ON"]
    assert lines[1].split() == ["late", "consumer", "h3", "10.0.0.3", "ready", "(submitted)", "-"]
    assert lines[2].endswith("10.0.0.1:9092")
    assert "engine spark" in lines[3]


def test_it_waits_until_every_job_has_come_to_a_state() -> None:
    answers = iter(
        [[{"name": "a", "state": "starting"}], [{"name": "a", "state": "ready"}, {"name": "b", "state": "x"}]]
    )
    assert job.wait_for(lambda: next(answers), ["a"], 30) == [{"name": "a", "state": "ready"}]
