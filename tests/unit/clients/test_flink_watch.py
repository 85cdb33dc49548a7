from __future__ import annotations

from typing import Any

from stream2gym.clients.flink_watch import LIST_AGAIN_AFTER, LONGEST_QUERY, NO_WATERMARK, MetricNames, batches, look

SOURCE = "Source__KafkaSource-default_catalog_default_database_src"
OFFSET = f"{SOURCE}.KafkaSourceReader.topic.in.partition.0"
FETCHES = f"{SOURCE}.KafkaSourceReader.KafkaConsumer.fetch-total"
NUMBERS = {
    f"{OFFSET}.currentOffset": 41.0,
    f"{OFFSET}.committedOffset": 30.0,
    f"{SOURCE}.numRecordsIn": 42.0,
    f"{SOURCE}.currentOutputWatermark": 7_000.0,
    "Calc[5].currentInputWatermark": float(NO_WATERMARK),
    "Calc[5].numRecordsIn": 42.0,
    "dst[6]__Writer.numRecordsSend": 40.0,
    FETCHES: 3.0,
    "KafkaProducer.something": 1.0,
}


class Flink:
    """Answers as Flink's REST interface does, and counts the questions."""

    def __init__(
        self, jobs: list[dict[str, Any]], state: str = "RUNNING", fetches: tuple[float, ...] = (3.0,)
    ) -> None:
        # How often each subtask has fetched.
        self.fetches = fetches
        self.asked: list[str] = []
        self._jobs = jobs
        self._state = state

    def ask(self, path: str) -> Any:
        self.asked.append(path)
        bare, _, query = path.partition("?")
        if bare == "/overview":
            return {"taskmanagers": 1, "slots-total": 2, "slots-available": 0, "flink-version": "x"}
        if bare == "/jobs/overview":
            return {"jobs": self._jobs}
        if bare.endswith("/checkpoints"):
            return {"counts": {"completed": 3}, "latest": {"completed": {"id": 3, "tasks": {}}, "restored": None}}
        if bare.endswith("/exceptions"):
            return {"exceptionHistory": {"entries": [{"stacktrace": "java.lang.Error: x"}]}}
        if bare.endswith("/subtasks/metrics"):
            if not query:
                return [{"id": name} for name in NUMBERS]
            wanted = query.partition("get=")[2].replace("%5B", "[").replace("%5D", "]").split(",")
            return [{"id": name, **dict.fromkeys(("min", "max", "sum"), NUMBERS[name])} for name in wanted]
        if bare.endswith("/v/metrics"):
            parts = [name.split(".", 1) for name in query.removeprefix("get=").split(",")]
            held = [(number, name) for number, name in parts if int(number) < len(self.fetches)]
            return [{"id": f"{number}.{name}", "value": str(self.fetches[int(number)])} for number, name in held]
        if bare.endswith("/metrics"):
            return [{"id": "numRestarts", "value": "0"}]
        return {
            "name": "copy",
            "state": self._state,
            "vertices": [{"id": "v", "name": "Source: src", "parallelism": 3}],
        }


def test_without_a_job_only_the_cluster_is_told() -> None:
    assert look(Flink([]).ask, MetricNames()) == {"overview": {"taskmanagers": 1, "slots-total": 2}}


def test_the_newest_job_is_told_with_positions_watermark_and_counts() -> None:
    jobs = [{"jid": "old", "start-time": 1}, {"jid": "new", "start-time": 2}]
    told = look(Flink(jobs).ask, MetricNames())
    assert told["job"]["id"] == "new"
    assert told["offsets"] == [["in", 0, 41, 30]]
    assert told["records"] == {"in": 42, "out": 40}
    assert told["watermarks"] == {"Source: src": 7_000}
    assert told["reads_topics"] is True
    assert told["fetching"] is True
    assert told["checkpoints"]["latest"] == {"completed": {"id": 3}}
    assert "exception" not in told


def test_a_job_in_trouble_is_told_with_its_exception() -> None:
    assert look(Flink([{"jid": "x"}], "RESTARTING").ask, MetricNames())["exception"] == "java.lang.Error: x"


def test_the_names_of_numbers_are_listed_now_and_then_only() -> None:
    flink, names = Flink([{"jid": "x"}]), MetricNames()
    for _ in range(LIST_AGAIN_AFTER + 1):
        look(flink.ask, names)
    assert sum(path.endswith("/subtasks/metrics") for path in flink.asked) == 1
    look(flink.ask, names)
    assert sum(path.endswith("/subtasks/metrics") for path in flink.asked) == 2


def test_requests_for_many_numbers_stay_short() -> None:
    many = [f"{OFFSET}.{number}" for number in range(200)]
    groups = batches(many)
    assert [name for group in groups for name in group] == many
    assert len(groups) > 1
    assert max(len(",".join(group)) for group in groups) <= LONGEST_QUERY
    assert batches([]) == []


def test_a_job_is_fetching_when_every_subtask_that_has_partitions_has_fetched() -> None:
    """A subtask that has no partitions never fetches: here the last one."""
    assert look(Flink([{"jid": "x"}], fetches=(2.0, 0.0)).ask, MetricNames())["fetching"] is False
    assert look(Flink([{"jid": "x"}], fetches=(2.0, 1.0)).ask, MetricNames())["fetching"] is True
