"""What the commands into a run that goes on say, and which words they take."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.cli.capture import count_packets, find_link, read_limit
from stream2gym.cli.main import main
from stream2gym.cli.shell import find_entered_run
from stream2gym.cli.topic import arrange, make_command, show_topics
from stream2gym.clients.topic_view import as_text, show, show_as_json
from stream2gym.errors import Mistake
from stream2gym.record.folder import RunFolder
from tests.unit.report.synthetic import plan, rich_run


def message(**changes: Any) -> Any:
    values: dict[str, Any] = {
        "topic": "in", "partition": 1, "offset": 7, "timestamp": (1, 1_700_000_000_123), "key": b"k", "value": b"v",
        "headers": [("s2g", b"gen")],
    }  # fmt: skip
    return SimpleNamespace(**{name: (lambda value=value: value) for name, value in (values | changes).items()})


def test_a_message_is_one_line_that_moves_no_cursor() -> None:
    assert show(message()).startswith("1/7  ")
    assert show(message()).endswith(".123  k  v")
    assert show(message(value=None, key=None)).endswith("  (no value)")
    assert as_text(b"\x1b[2J\nx\xff") == "\\x1b[2J\\nx\\xff"
    assert "\n" not in show(message(value=b"a\nb"))


def test_a_message_as_json_has_its_headers() -> None:
    found = json.loads(show_as_json(message(value=b"\xffa")))
    assert found["value"] == "\\xffa"
    assert found["headers"] == {"s2g": "gen"}
    assert (found["topic"], found["partition"], found["offset"]) == ("in", 1, 7)


def test_topics_are_shown_with_the_names_of_brokers() -> None:
    row = {"id": 0, "leader": 2, "replicas": [1, 2], "in_sync": [2], "start": 10, "end": 1510}
    nobody = {**row, "id": 1, "leader": -1, "start": None, "end": None}
    lines = show_topics(plan("rides", 6), {"in": [row, nobody], "__consumer_offsets": [dict(row)]}, as_json=False)
    assert lines[1].split() == ["in/0", "1,500", "broker-h2", "1", "of", "2:", "broker-h2"]
    assert lines[2].split()[:3] == ["in/1", "?", "nobody"]
    assert len(lines) == 3


def test_the_program_asks_every_broker_from_the_observer() -> None:
    from stream2gym.errors import BadInput
    from stream2gym.plan.make_plan import make_plan
    from stream2gym.spec.loading import find_experiment, load_experiment

    planned = make_plan(load_experiment(find_experiment("broker-failure")).experiment)
    argv, host = make_command(planned, ["list"])
    assert argv[-1] == "10.0.0.1:9092,10.0.0.2:9092,10.0.0.3:9092"
    assert host == "observer"
    bare = make_plan(load_experiment(find_experiment("network")).experiment)
    with pytest.raises(BadInput, match="no brokers"):
        make_command(bare, ["list"])


def test_options_of_topic_may_stand_anywhere() -> None:
    assert arrange(["tail", "latest", "-n", "3", "in", "-f"]) == ["-n", "3", "-f", "tail", "latest", "in"]


def test_a_link_is_found_from_either_end() -> None:
    mistakes: list[Mistake] = []
    assert find_link(plan("rides", 3), "s1 -- h2", mistakes) == "h2 -- s1"
    assert find_link(plan("rides", 3), "h2--s1", mistakes) == "h2 -- s1"
    assert mistakes == []
    find_link(plan("rides", 3), "h2 -- s9", mistakes)
    assert read_limit("soon", mistakes) is None
    assert read_limit("2 s", mistakes) == 2.0
    assert len(mistakes) == 2


def test_packets_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "a.pcap"
    packets = b"".join(struct.pack("=IIII", 0, 0, size, size) + b"x" * size for size in (0, 5, 70))
    file.write_bytes(b"\0" * 24 + packets)
    assert count_packets(file) == 3


@pytest.mark.parametrize(
    "words",
    [
        ["topic", "list"],
        ["topic", "tail", "RUN", "in"],
        ["capture", "RUN", "h1 -- s1"],
        ["shell", "RUN", "h1"],
        ["forward", "RUN", "h1:80"],
    ],
)
def test_a_run_that_is_over_is_refused(tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run = str(rich_run(tmp_path))
    assert main([run if word == "RUN" else word for word in [*words, *(["RUN"] if len(words) == 2 else [])]]) == 2
    assert "is over" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["topic", "tail", "latest"], "no topic is named"),
        (["topic", "list", "latest", "in"], "one argument too many"),
        (["topic", "tail", "latest", "in", "-n", "-3"], "no number of messages"),
    ],
)
def test_words_that_are_missing_or_too_many(words: list[str], wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert wrong in capsys.readouterr().err


def test_a_word_means_a_run_while_it_goes_on_and_an_experiment_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_entered_run("hello") is None
    run = RunFolder.create("hello", seed=1)
    found = find_entered_run("hello")
    assert found is not None
    assert found.path == run.path
    run.release()
    assert find_entered_run("hello") is None
    over = find_entered_run(run.path.name)
    assert over is not None
    assert find_entered_run("./hello") is None
