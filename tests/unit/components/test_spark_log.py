"""What is read out of Spark's event log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stream2gym.components.death_cause import first_cause
from stream2gym.components.spark_log import Queries, kafka_positions, wall_ns

LISTENER = "org.apache.spark.sql.streaming.StreamingQueryListener$"
STARTED = {"Event": f"{LISTENER}QueryStartedEvent", "id": "q", "runId": "r", "name": "words",
           "timestamp": "2026-01-31T12:00:00.500Z"}  # fmt: skip
PROGRESS = {
    "Event": f"{LISTENER}QueryProgressEvent",
    "progress": {
        "id": "q", "runId": "r", "batchId": 3, "timestamp": "2026-01-31T12:00:01.000Z",
        "durationMs": {"triggerExecution": 250, "addBatch": 200},
        "stateOperators": [{"numRowsTotal": 7, "memoryUsedBytes": 100, "numRowsDroppedByWatermark": 2}],
        "eventTime": {"watermark": "1970-01-01T00:01:00.000Z"},
        "sources": [{"endOffset": '{"in":{"0":12}}', "numInputRows": 12, "inputRowsPerSecond": 6.0,
                     "processedRowsPerSecond": "NaN"}],
        "sink": {"numOutputRows": 4},
    },
}  # fmt: skip


class Heard:
    def __init__(self, folder: Path) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.samples: dict[str, float] = {}
        self.file = folder / "app.inprogress"
        self.queries = Queries("job", "h1", folder, self.tell, self.sample)

    def tell(self, kind: str, **details: Any) -> None:
        self.events.append((kind, details))

    def sample(self, _source: str, _obj: str, metric: str, value: float, at_ns: int) -> None:
        self.samples[metric] = value

    def write(self, *events: dict[str, Any], end: str = "\n") -> None:
        with self.file.open("a") as file:
            file.write("\n".join(map(json.dumps, events)) + end)
        self.queries.look()


def test_a_query_has_begun_only_when_it_has_looked_at_its_sources(tmp_path: Path) -> None:
    heard = Heard(tmp_path)
    heard.write(STARTED)
    (query,) = heard.queries.now
    assert query.name == "words"
    assert not query.begun
    heard.write(PROGRESS)
    assert query.begun
    assert query.positions == {("in", 0): 12}


def test_a_batch_counts_when_it_had_data(tmp_path: Path) -> None:
    heard = Heard(tmp_path)
    empty: dict[str, Any] = {"id": "q", "runId": "r", "sources": [{"numInputRows": 0}]}
    heard.write(STARTED, {**PROGRESS, "progress": empty})
    (query,) = heard.queries.now
    assert (query.begun, query.batches) == (True, 0)
    heard.write(PROGRESS)
    assert query.batches == 1


def test_cores_of_executors_are_counted(tmp_path: Path) -> None:
    heard = Heard(tmp_path)
    for cores in (1, 2):
        info = {"Host": "10.0.0.2", "Total Cores": cores}
        heard.write({"Event": "SparkListenerExecutorAdded", "Executor Info": info})
    assert (len(heard.queries.executors), heard.queries.executor_cores) == (2, 3)


def test_progress_becomes_numbers(tmp_path: Path) -> None:
    heard = Heard(tmp_path)
    heard.write(STARTED, PROGRESS)
    assert heard.samples == {
        "batch_id": 3, "rows": 12, "rows_out": 4, "rows_a_second": 6, "processed_a_second": 0, "batch_ms": 250,
        "batch_ms.addBatch": 200, "state_rows": 7, "state_bytes": 100, "late_rows": 2, "watermark_s": 60,
    }  # fmt: skip


def test_a_job_of_the_query_shows_that_it_reads_even_without_any_progress(tmp_path: Path) -> None:
    heard = Heard(tmp_path)
    heard.write(STARTED, {"Event": "SparkListenerJobStart", "Properties": {"spark.jobGroup.id": "r"}})
    assert heard.queries.now[0].begun


def test_a_failed_query_is_told_with_its_innermost_cause(tmp_path: Path) -> None:
    heard = Heard(tmp_path)
    trace = "org.apache.spark.SparkException: job aborted\n\tat x\nCaused by: java.lang.X: no topic\n\tat y\n"
    heard.write(STARTED, {"Event": f"{LISTENER}QueryTerminatedEvent", "runId": "r", "exception": trace})
    assert heard.queries.now == []
    assert heard.queries.cause == "java.lang.X: no topic"
    assert [kind for kind, _ in heard.events] == ["query-started", "query-failed"]


def test_half_a_line_waits_for_its_end_and_a_renamed_log_is_not_read_again(tmp_path: Path) -> None:
    heard = Heard(tmp_path)
    text = json.dumps(STARTED)
    heard.file.write_text(text[:50])
    heard.queries.look()
    assert heard.events == []
    heard.file.write_text(text + "\n")
    heard.queries.look()
    heard.file.rename(tmp_path / "app")
    heard.queries.look()
    assert len(heard.events) == 1


def test_a_python_error_is_preferred_to_the_java_around_it() -> None:
    trace = "org.apache.spark.api.python.PythonException: Traceback:\n  File x\nValueError: bad ship\n\n\tat y"
    assert first_cause(trace) == "ValueError: bad ship"


def test_offsets_that_are_not_kafkas_are_no_positions() -> None:
    assert kafka_positions("17") == {}
    assert kafka_positions(None) == {}
    assert kafka_positions({"t": {"0": 5, "1": 6}}) == {("t", 0): 5, ("t", 1): 6}


def test_sparks_times_are_read_to_the_millisecond() -> None:
    assert wall_ns("1970-01-01T00:00:01.250Z") == 1_250_000_000
    assert wall_ns("sometime") is None


def test_the_last_error_of_a_log_is_the_cause_wherever_it_comes_from() -> None:
    log = "WARNING: package x\nTraceback (most recent call last):\n  File y\npyspark.errors.PySparkError: no session"
    assert first_cause(log) == "pyspark.errors.PySparkError: no session"


def test_an_exception_of_any_name_is_the_cause_and_never_a_frame_of_its_trace() -> None:
    trace = (
        "org.apache.spark.LocationNotEmpty: [NOT_EMPTY] offsets should be empty\nPlease delete it\n\tat a.B.c(B:1)"
    )
    assert first_cause(trace) == "org.apache.spark.LocationNotEmpty: [NOT_EMPTY] offsets should be empty"
    assert first_cause("something else\n\tat a.B.c(B:1)") == ""


def test_executors_are_counted_as_they_come_and_go_and_anew_after_a_restart(tmp_path: Path) -> None:
    def executor(what: str, number: str) -> dict[str, Any]:
        info = {"Executor Info": {"Host": "10.0.0.2"}} if what == "Added" else {}
        return {"Event": f"SparkListenerExecutor{what}", "Timestamp": 5, "Executor ID": number, **info}

    heard = Heard(tmp_path)
    heard.write(executor("Added", "0"), executor("Added", "1"))
    assert heard.samples["executors"] == 2
    heard.write(executor("Removed", "0"))
    assert heard.samples["executors"] == 1
    heard.write({"Event": "SparkListenerLogStart", "Timestamp": 9}, executor("Added", "0"))
    assert heard.samples["executors"] == 1
    heard.queries.lose_executors()
    assert heard.samples["executors"] == 0
