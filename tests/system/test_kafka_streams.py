"""A real Kafka Streams application in two instances: one is killed, the other takes over, every count is exact."""

from __future__ import annotations

import pytest

from stream2gym.components.base_component import BaseComponent
from stream2gym.execution.drive_load import Load
from stream2gym.wait import wait_until
from tests.support.play import Played, play
from tests.support.streams_programs import CHECK, count_program, counting

MESSAGES = 1200


def engine_of(load: Load, name: str) -> BaseComponent:
    return next(engine for engine in load.components.engines if engine.name == name)


def kill_first(load: Load) -> None:
    """Kill the first instance in the middle of the load, when it has something to lose."""
    sent = load.components.producers[0].statuses[0]
    wait_until(lambda: sent.count("sent") > MESSAGES // 3, timeout_s=60, reason="a third of the load")
    engine_of(load, "first").processes[0].kill()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Played:
    once = {"guarantee": "exactly-once"}
    keys = counting({"name": "first", **once}, {"name": "second", **once}, messages=MESSAGES)
    folder = tmp_path_factory.mktemp("streams")
    return play(keys, folder, {"Count.java": count_program(), "check.py": CHECK}, at_t0=kill_first)


def test_every_message_is_counted_exactly_once_although_an_instance_was_killed(run: Played) -> None:
    assert run.outcome.error is None
    assert run.outcome.counts["acked"] == MESSAGES
    assert run.outcome.counts["received"] == MESSAGES, "one count for each message, and no more"
    (checked,) = run.events("checked")
    assert (checked["compared"], checked["mismatches"]) == (MESSAGES, 0)


def test_the_load_begins_when_all_instances_run_and_share_the_partitions(run: Played) -> None:
    (load,) = run.events("phase", phase="load")
    running = [e for e in run.events("streams-state", state="RUNNING") if e["at_ns"] < load["at_ns"]]
    assert {event["component"] for event in running} == {"first", "second"}
    assert {event["query"] for event in run.events("query-started")} == {"counts"}
    held = [run.samples("kafka-streams", f"{name}.counts", "partitions") for name in ("first", "second")]
    assert max(held[0]) >= 1
    assert held[1][-1] == 2, "the one that is left has all"


def test_what_it_processed_is_sampled_and_the_drain_knew_how_far_it_was(run: Played) -> None:
    rows = [sum(run.samples("kafka-streams", f"{name}.counts", "rows")) for name in ("first", "second")]
    assert rows[0] > 0
    assert rows[1] > 0
    assert max(run.samples("kafka-streams", "second.counts", "rows_a_second")) > 0
    assert run.samples("kafka-streams", "second.counts", "threads")[-1] == 1
    (drained,) = run.events("drained")
    assert (drained["complete"], drained["behind"]) == (True, 0)
    assert run.events("query-failed") == []
