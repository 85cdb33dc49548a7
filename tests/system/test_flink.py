"""Real Flink jobs on emulated hosts: SQL between topics, exactly once through a kill; Java; faults on a cluster."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stream2gym.execution.drive_load import Load
from stream2gym.software.flink_software import FlinkSoftware
from stream2gym.software.java_compiler import compile_java
from stream2gym.wait import wait_until
from tests.support.flinkjobs import COPY, UPPER, between_topics, on_a_cluster
from tests.support.play import Played, play

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ENOUGH_S = 240.0  # for a wait that ends as soon as what it waits for is there

Row = dict[str, Any]


def part(load: Load, name: str) -> Any:
    return next(part for part in load.components.all() if part.name == name)


def table(played: Played, name: str, **wanted: Any) -> list[Row]:
    rows: list[Row] = pq.read_table(played.folder.data / f"{name}.parquet").to_pylist()
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def values(rows: list[Row]) -> Counter[bytes]:
    return Counter(row["value_hash"] for row in rows)


def kill(name: str) -> Callable[[Load], None]:
    """At t0: kill a component when results have come, so that there is a checkpoint to go on from."""

    def deed(load: Load) -> None:
        came = lambda: load.counts()["received"] > 0  # noqa: E731
        wait_until(came, timeout_s=ENOUGH_S, reason="results")
        handle = part(load, name).processes[0].handle
        assert handle is not None
        handle.signal(signal.SIGKILL)

    return deed


def check_exactly_once(played: Played) -> None:
    """Every message that was sent has been received from the job, once."""
    assert played.outcome.error is None
    (drained,) = played.events("drained")
    assert drained["complete"]
    sent = table(played, "sent", producer="gen")
    assert {row["status"] for row in sent} == {"acked"}
    assert values(table(played, "received", consumer="see")) == values(sent)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """One SQL job that is killed in the load and started again by its restart policy."""
    keys = between_topics(restart={"times": 1, "delay": "0 s"})
    return play(keys, tmp_path_factory.mktemp("killed"), {"job.sql": COPY}, at_t0=kill("job"))


def test_a_killed_job_goes_on_from_its_checkpoint_and_copies_every_message_exactly_once(killed: Played) -> None:
    check_exactly_once(killed)
    (died,) = killed.events("died", component="job")
    assert died["how"] == "killed by SIGKILL"
    first, second = killed.events("query-started", component="job")
    assert "restored" not in first
    assert second["restored"] >= 1


def test_the_load_waits_for_a_job_whose_sources_have_their_partitions(killed: Played) -> None:
    started, _ = killed.events("query-started", component="job")
    (ready,) = killed.events("ready", component="job")
    (load,) = killed.events("phase", phase="load")
    assert started["at_ns"] < ready["at_ns"] < load["at_ns"]


def test_what_a_job_did_is_sampled_through_its_rest_interface(killed: Played) -> None:
    assert max(killed.samples("flink", "job.job", "records_in")) > 0
    assert max(killed.samples("flink", "job.job", "records_out")) > 0
    assert len(killed.samples("flink", "job", "checkpoint_ms")) > 1
    assert min(killed.samples("flink", "job", "checkpoint_bytes")) > 0
    # Each of the two processes begins to count anew.
    assert killed.samples("flink", "job", "restarts") == [0, 0]
    assert killed.samples("flink", "job", "checkpoints_failed").count(0) == 2
    (vertex,) = {row["object"] for row in table(killed, "samples", source="flink", metric="backpressure")}
    assert vertex.startswith("job.Source: lines")
    assert all(0 <= share <= 1 for share in killed.samples("flink", vertex, "backpressure"))


@pytest.mark.long
def test_a_java_program_that_reads_from_latest_misses_nothing_and_is_observed_from_its_packets(
    tmp_path: Path,
) -> None:
    run = play(between_topics("Upper.java", observe="wire"), tmp_path, {"Upper.java": UPPER})
    assert run.outcome.error is None
    assert run.events("unobserved") == []
    assert run.outcome.counts["received"] == 300
    sent = table(run, "sent", producer="job")
    assert len(sent) == 300
    assert {row["status"] for row in sent} == {"acked"}
    fetched = table(run, "received", consumer="job")
    assert {(row["topic"], row["partition"], row["offset"]) for row in fetched} == {
        (row["topic"], row["partition"], row["offset"]) for row in table(run, "sent", producer="gen")
    }


@pytest.mark.long
def test_messages_of_transactions_are_observed_from_packets(tmp_path: Path) -> None:
    run = play(between_topics(observe="wire"), tmp_path, {"job.sql": COPY})
    check_exactly_once(run)
    assert run.events("unobserved") == []
    sent = table(run, "sent", producer="job")
    assert values(sent) == values(table(run, "sent", producer="gen"))
    assert {row["status"] for row in sent} == {"acked"}


@pytest.mark.long
def test_the_class_that_is_named_of_a_jar_runs_between_topics_whose_names_have_dots(tmp_path: Path) -> None:
    program = UPPER.replace('"in"', '"orders.v1"') + "class Other { public static void main(String[] args) {} }\n"
    (tmp_path / "Upper.java").write_text(program)
    jar = compile_java(tmp_path / "Upper.java", FlinkSoftware.ensure().jars)
    (tmp_path / "job.jar").write_bytes(jar.read_bytes())
    keys = between_topics("job.jar", main="Upper")
    keys["topics"][0]["name"] = keys["producers"][0]["topic"] = "orders.v1"
    run = play(keys, tmp_path)
    assert run.outcome.error is None
    assert run.outcome.counts["received"] == 300
    (drained,) = run.events("drained")
    assert drained["complete"], "how far the job has read is known"


@pytest.mark.long
@pytest.mark.parametrize("data", ["keep", "wipe"])
def test_a_job_that_is_restarted_goes_on_from_its_checkpoint_and_from_nothing_without_its_data(
    tmp_path: Path, data: str
) -> None:
    fault = {"do": "restart", "on": "job", "at": "4 s", "data": data}
    run = play(between_topics() | {"faults": [fault]}, tmp_path, {"job.sql": COPY}, at_t0=None)
    assert run.outcome.error is None
    assert run.events("fault-failed") == []
    _, second = run.events("query-started", component="job")
    assert ("restored" in second) == (data == "keep")
    if data == "keep":
        check_exactly_once(run)
        return
    received = values(table(run, "received", consumer="see"))
    assert set(received) == set(values(table(run, "sent", producer="gen")))
    assert max(received.values()) == 2, "what was committed before is copied again"


@pytest.mark.long
@pytest.mark.parametrize("name", ["t3", "job"])
def test_a_cluster_survives_the_death_of_a_task_manager_and_of_its_job_manager(tmp_path: Path, name: str) -> None:
    keys = on_a_cluster(parallelism=2)
    for engine in keys["engines"]:
        engine["restart"] = {"times": 1, "delay": "0 s"}
    run = play(keys, tmp_path, {"job.sql": COPY}, at_t0=kill(name))
    check_exactly_once(run)
    assert run.events("restarted", component=name)
    assert run.events("query-started", component="job")[-1]["restored"] >= 1
    if name == "t3":
        # It fails once more where it begins again before the task manager is back.
        failures = run.events("query-failed", component="job")
        assert failures
        assert all(failed["cause"] for failed in failures)
        assert max(run.samples("flink", "job", "restarts")) >= 1
    assert set(run.samples("flink", "job", "task_managers")) >= {2}


@pytest.mark.long
@pytest.mark.parametrize("name", ["word-count", "traffic-monitoring", "maritime-monitoring", "intrusion-detection"])
def test_an_application_in_flink_gives_the_right_answer(tmp_path: Path, name: str) -> None:
    run = play(EXAMPLES / name / "flink.yaml", tmp_path)
    assert run.outcome.error is None
    checks = run.events("checked")
    assert checks
    assert all(check["compared"] > 0 and check["mismatches"] == 0 for check in checks)
    if name == "intrusion-detection":
        lines = (EXAMPLES / name / "log.jsonl").read_text("utf-8").splitlines()
        last = max(datetime.fromisoformat(json.loads(line)["at"] + "+00:00") for line in lines)
        watermarks = [row["value"] for row in table(run, "samples", source="flink", metric="watermark_s")]
        assert max(watermarks) == pytest.approx(last.timestamp() - 60), "a minute of disorder is allowed"
