"""Kafka Streams programs that cannot run, fail, lose their state, or are observed from outside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from stream2gym.errors import BadInput
from stream2gym.execution.drive_load import Load
from stream2gym.wait import wait_until
from tests.support.play import Played, play
from tests.support.streams_programs import CHECK, count_program, counting
from tests.support.users import myself
from tests.unit.software.class_files import MAIN, class_file, write_jar

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ENOUGH_S = 240.0
ALONE = {"name": "count"}


def refused(run: Played) -> list[str]:
    assert isinstance(run.outcome.error, BadInput)
    assert run.outcome.error.exit_code == 2
    assert run.events("started") == [], "nothing was started"
    return [str(mistake) for mistake in run.outcome.error.mistakes]


def test_a_program_that_does_not_compile_is_told_by_file_and_line_before_anything_starts(tmp_path: Path) -> None:
    wrong = count_program().replace("settings.load", "settings.laod")
    line = next(n for n, text in enumerate(wrong.splitlines(), 1) if "laod" in text)
    run = play(counting(ALONE), tmp_path, {"Count.java": wrong, "check.py": CHECK})
    (told,) = refused(run)
    assert told == (
        f"{tmp_path / 'Count.java'}:{line}: engine count: "
        "The method laod(FileReader) is undefined for the type Properties"
    )


def test_a_jar_without_the_class_is_refused_with_the_classes_that_it_has(tmp_path: Path) -> None:
    write_jar(tmp_path / "app.jar", [class_file("org.Count", [MAIN])], ["org.Count"])
    keys = counting({"name": "count", "app": "app.jar", "main": "org.Cuont"})
    (told,) = refused(play(keys, tmp_path, {"check.py": CHECK}))
    assert told == (
        f"{tmp_path / 'app.jar'}: engine count: there is no class org.Cuont in it (can be started: org.Count)"
    )


def judged(keys: dict[str, Any], folder: Path, programs: dict[str, str]) -> dict[str, Any]:
    for name, text in programs.items():
        (folder / name).write_text(text)
    experiment = folder / "experiment.yaml"
    experiment.write_text(yaml.safe_dump({"s2g": 1, "name": "test", **keys}))
    done = myself().run(
        "run", str(experiment), "--out", str(folder / "run"), "--no-report", "--json", timeout=ENOUGH_S
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


FAILS = 'if (key.hashCode() % 2 == 0) throw new IllegalStateException("a key that nobody likes");'


@pytest.mark.long
def test_streams_that_failed_fail_the_verdict_although_their_program_lives_on(tmp_path: Path) -> None:
    programs = {"Count.java": count_program(FAILS, forever=True), "check.py": CHECK}
    keys = counting(ALONE, messages=400, drain="5 s", expect=["died == 0"])
    result = judged(keys, tmp_path, programs)
    assert result["verdict"] == "fail"
    assert "java.lang.IllegalStateException: a key that nobody likes" in json.dumps(result)


@pytest.mark.long
def test_a_program_that_ends_with_its_failed_streams_has_died_and_is_started_again(tmp_path: Path) -> None:
    keys = counting({"name": "count", "restart": 1}, messages=400, drain="5 s")
    run = play(keys, tmp_path, {"Count.java": count_program(FAILS), "check.py": CHECK})
    died = run.events("died", component="count")[0]
    assert (died["code"], died["cause"]) == (1, "java.lang.IllegalStateException: a key that nobody likes")
    assert [event["why"] for event in run.events("restarted", component="count")] == ["policy"]


@pytest.mark.long
def test_a_source_topic_that_nobody_made_makes_the_start_fail_with_those_that_exist(tmp_path: Path) -> None:
    program = count_program().replace('"in"', '"input"')
    run = play(counting(ALONE), tmp_path, {"Count.java": program, "check.py": CHECK})
    assert "count on h2" in str(run.outcome.error)
    assert "there are: in, counts" in str(run.outcome.error)


def restart_without_state(load: Load) -> None:
    """Kill the only instance in the middle of the load, remove what it stored, and start it again."""
    sent = load.components.producers[0].statuses[0]
    engine: Any = load.components.engines[0]
    wait_until(lambda: sent.count("sent") > 400, timeout_s=60, reason="some load")
    engine.processes[0].kill()
    engine.wipe()
    engine.processes[0].restart()


@pytest.mark.long
@pytest.mark.parametrize("store", ["memory", "rocksdb"])
def test_state_that_was_wiped_is_restored_from_kafka(tmp_path: Path, store: str) -> None:
    keys = counting({"name": "count", "guarantee": "exactly-once", "store": store})
    programs = {"Count.java": count_program(), "check.py": CHECK}
    run = play(keys, tmp_path, programs, at_t0=restart_without_state)
    assert run.outcome.error is None
    (checked,) = run.events("checked")
    assert (checked["compared"], checked["mismatches"]) == (1200, 0)
    assert len(run.events("query-started")) == 2
    if store == "rocksdb":
        assert max(run.samples("kafka-streams", "count.counts", "state_rows")) >= 5


@pytest.mark.long
def test_what_it_sends_and_fetches_is_on_record_from_its_packets(tmp_path: Path) -> None:
    keys = counting({"name": "count", "observe": "wire"}, messages=400)
    run = play(keys, tmp_path, {"Count.java": count_program(), "check.py": CHECK})
    assert run.outcome.error is None
    sent = pq.read_table(run.folder.data / "sent.parquet").to_pylist()
    counts = [row for row in sent if row["producer"] == "count" and row["topic"] == "counts"]
    assert len(counts) == 400
    assert {row["status"] for row in counts} == {"acked"}
    received = pq.read_table(run.folder.data / "received.parquet").to_pylist()
    fetched = {(row["topic"], row["partition"], row["offset"]) for row in received if row["consumer"] == "count"}
    assert len([place for place in fetched if place[0] == "in"]) == 400


@pytest.mark.long
def test_the_words_of_the_example_are_counted_as_by_spark(tmp_path: Path) -> None:
    run = play(EXAMPLES / "word-count" / "kafka-streams.yaml", tmp_path)
    assert run.outcome.error is None
    (checked,) = run.events("checked")
    assert checked["compared"] > 0
    assert checked["mismatches"] == 0
