"""The list of bundled examples: what each shows, what it needs, how long it takes, a line for each."""

from __future__ import annotations

import json

import pytest

from stream2gym.cli.examples import COLUMNS, Example, describe, first_sentence, table
from stream2gym.cli.main import main
from stream2gym.spec.readers.bundled_examples import bundled_examples

EXAMPLES = [describe(name, path) for name, path in bundled_examples().items()]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_every_bundled_example_says_what_it_shows_what_it_needs_and_how_long_it_takes(example: Example) -> None:
    assert example.summary
    assert example.needed
    assert example.seconds is not None
    assert example.seconds > 10


def test_every_example_has_one_line_of_at_most_100_columns() -> None:
    lines = table(EXAMPLES, COLUMNS)
    assert len(lines) == len(EXAMPLES)
    assert max(map(len, lines)) <= COLUMNS
    assert all(example.summary in line for example, line in zip(EXAMPLES, lines, strict=True))


def test_a_narrow_terminal_wraps_by_words_and_cuts_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["examples"]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    words = set(printed.split())
    assert all(set(example.summary.split()) <= words for example in EXAMPLES)


def test_bundled_sweeps_are_listed_below_the_experiments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples"]) == 0
    _, sweeps = capsys.readouterr().out.split("\n\nSweeps, for s2g sweep:\n")
    others, published = sweeps.split("\n\nPublished results, for s2g sweep (all of them: s2g sweep published):\n")
    assert "link-latency How the latency of messages depends on that of one link" in " ".join(others.split())
    assert {"imperfect-streams", "keeps-moving", "safety", "respond"} <= set(others.split())
    names = [line.split()[0] for line in published.splitlines() if not line.startswith(" ")]
    assert {"accuracy", "link-delay", "resource-use"} <= set(names)


def test_needs_are_counted_in_the_experiment_and_the_time_is_added_to_what_the_readme_states(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["examples", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["maritime-monitoring"]["needs"] == {"brokers": 1, "jobs": 1, "stores": 1}
    assert rows["maritime-monitoring"]["seconds"] == 30 + 20
    assert rows["network"]["needs"] == {"brokers": 0, "jobs": 0, "stores": 0}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# Title\n\nShows\nmuch. And more.\n", "Shows much"),
        ("# Shows 2.5 GB. More.\ns2g: 1\n", "Shows 2.5 GB"),
        ("# Title\n", "Title"),
        ("", ""),
    ],
)
def test_the_first_sentence_is_what_an_example_shows(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence
