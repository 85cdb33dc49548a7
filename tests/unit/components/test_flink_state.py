"""What follows from the reports of a Flink job: readiness, positions, the end of its work, samples, failures."""

from __future__ import annotations

from typing import Any

from stream2gym.components.flink_state import FlinkState, short_name

TRACE = "org.apache.flink.util.FlinkException: lost\n\tat x\nCaused by: java.lang.RuntimeException: a bad apple\n"


class Recorder:
    """Takes events and samples, and tells the time."""

    def __init__(self, **partitions: int) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.samples: list[tuple[str, str, float]] = []
        self.now_s = 0.0
        self.has_checkpoints = True
        self.partitions = partitions

    def state(self, *, has_checkpoints: bool = True) -> FlinkState:
        return FlinkState(
            "job", "h1", self.partitions, self.tell, self.sample, has_checkpoints=has_checkpoints,
            clock=lambda: self.now_s,
        )  # fmt: skip

    def tell(self, kind: str, **details: Any) -> None:
        self.events.append((kind, details))

    def sample(self, source: str, obj: str, metric: str, value: float, *, at_ns: int) -> None:
        assert source == "flink"
        assert at_ns > 0
        self.samples.append((obj, metric, value))

    def values(self, metric: str) -> list[float]:
        return [value for _, name, value in self.samples if name == metric]


def report(
    at_s: float,
    offsets: list[list[Any]] | None = None,
    *,
    state: str = "RUNNING",
    task: str = "RUNNING",
    checkpoint: tuple[int, int] | None = None,
    job: str = "id-1",
    **more: Any,
) -> dict[str, Any]:
    metrics = {"accumulated-backpressured-time": at_s * 250, "accumulated-busy-time": "NaN"}
    vertex = {"id": "v", "name": "Source: x", "parallelism": 1, "status": task, "metrics": metrics}
    latest = {}
    if checkpoint is not None:
        number, began_ms = checkpoint
        latest = {
            "completed": {"id": number, "trigger_timestamp": began_ms, "end_to_end_duration": 7, "state_size": 9}
        }
    return {
        "at_ns": int(at_s * 1e9) + 1,
        "wall_ms": int(at_s * 1000),
        "overview": {"taskmanagers": 1, "slots-total": 1},
        "job": {"id": job, "name": "copy", "state": state, "vertices": [vertex]},
        "checkpoints": {"counts": {"completed": 1, "failed": 0}, "latest": latest},
        "offsets": offsets or [],
        "reads_topics": True,
        "fetching": True,
        "restarts": 0,
        **more,
    }


def test_a_job_is_ready_when_it_runs_and_its_sources_have_every_partition() -> None:
    state = Recorder(**{"in": 2}).state()
    assert not state.is_ready()
    state.take({"at_ns": 1, "error": "OSError: refused"})
    assert not state.is_ready()
    state.take(report(1, task="DEPLOYING"))
    assert not state.is_ready()
    state.take(report(2))
    assert not state.is_ready(), "no source has a partition"
    state.take(report(3, [["in", 0, -1, -1]]))
    assert not state.is_ready()
    assert state.missing_partitions() == [("in", 1)]
    state.take(report(4, [["in", 0, -1, -1], ["in", 1, -1, -1]], fetching=False))
    assert not state.is_ready(), "a source that begins at the end does not know where that is"
    state.take(report(5, [["in", 0, -1, -1], ["in", 1, -1, -1]]))
    assert state.is_ready()


def test_a_job_without_topics_is_ready_when_it_runs() -> None:
    state = Recorder().state()
    state.take(report(1, reads_topics=None))
    assert not state.is_ready(), "its numbers are not known yet"
    state.take(report(2, reads_topics=False))
    assert state.is_ready()


def test_positions_are_what_was_read_last_or_committed_and_nothing_is_read_where_neither_is() -> None:
    state = Recorder().state()
    state.take(report(1, [["in", 0, 41, 30], ["in", 1, -1, 7], ["in", 2, -1, -1]]))
    assert state.reading() == {"job.copy": {("in", 0): 42, ("in", 1): 7, ("in", 2): 0}}


def test_a_topic_with_a_dot_is_known_although_flink_writes_an_underscore() -> None:
    state = Recorder(**{"orders.v1": 2, "audit_log": 1}).state()
    state.take(report(1, [["orders_v1", 0, 4, -1], ["audit_log", 0, 1, -1]]))
    assert state.missing_partitions() == [("orders.v1", 1)]
    assert state.reading() == {"job.copy": {("orders.v1", 0): 5, ("audit_log", 0): 2}}


def test_with_checkpoints_a_job_is_settled_after_one_that_began_when_all_was_read() -> None:
    recorder = Recorder()
    state = recorder.state()
    state.take(report(10, [["in", 0, 5, -1]], checkpoint=(1, 9_500)))
    recorder.now_s = 100
    assert not state.is_settled(), "the checkpoint began before the last message was seen to be read"
    state.take(report(11, [["in", 0, 5, -1]], checkpoint=(2, 10_500)))
    assert not state.is_settled(), "results are committed after the checkpoint"
    recorder.now_s = 101
    assert state.is_settled()
    state.take(report(12, [["in", 0, 6, -1]], checkpoint=(2, 10_500)))
    assert not state.is_settled(), "it has read more"


def test_without_checkpoints_a_job_is_settled_when_nothing_has_changed_for_a_while() -> None:
    recorder = Recorder()
    state = recorder.state(has_checkpoints=False)
    recorder.now_s = 10
    state.take(report(10, [["in", 0, 5, -1]]))
    assert not state.is_settled()
    recorder.now_s = 12
    state.take(report(12, [["in", 0, 5, -1]]))
    assert state.is_settled()


def test_a_failure_that_the_job_survives_is_told_with_its_cause_and_so_is_its_return() -> None:
    recorder = Recorder()
    state = recorder.state()
    state.take(report(1, [["in", 0, 5, -1]]))
    state.take(report(2, state="RESTARTING", task="CANCELED", restarts=1, exception=TRACE))
    assert not state.is_ready()
    assert not state.is_settled()
    assert state.cause == "java.lang.RuntimeException: a bad apple"
    state.take(report(3, [["in", 0, 5, -1]], restarts=1, exception=TRACE))
    assert [kind for kind, _ in recorder.events] == ["query-started", "query-failed", "query-started"]
    assert recorder.events[1][1]["cause"] == "java.lang.RuntimeException: a bad apple"
    assert state.cause == "", "it works again"
    assert recorder.values("restarts") == [0, 1]


def test_why_a_job_failed_is_known_after_its_process_has_ended() -> None:
    state = Recorder().state()
    state.take(report(1))
    state.take(report(2, state="FAILED", task="FAILED", exception=TRACE))
    state.forget()
    assert state.cause == "java.lang.RuntimeException: a bad apple"


def test_a_failure_between_two_reports_is_told_too() -> None:
    recorder = Recorder()
    state = recorder.state()
    state.take(report(1))
    state.take(report(2, restarts=1, exception=TRACE))
    assert state.job is not None
    assert state.job.is_working, "the counter may be newer than the states of tasks"
    told = report(3, restarts=1, exception=TRACE)
    told["job"]["timestamps"] = {"RESTARTING": 2_500}
    state.take(told)
    assert [kind for kind, _ in recorder.events] == ["query-started", "query-failed", "query-started"]


def test_what_an_old_process_still_told_is_not_taken_for_the_new_one() -> None:
    state = Recorder().state()
    state.take(report(1, [["in", 0, 5, -1]]))
    state.forget()
    state.take(report(2, [["in", 0, 5, -1]]))
    assert state.job is None
    state.take(report(3, [["in", 0, 1, -1]], job="id-2"))
    assert state.reading() == {"job.copy": {("in", 0): 2}}


def test_a_job_that_asks_for_more_slots_than_there_are_is_known() -> None:
    recorder = Recorder()
    state = recorder.state()
    told = report(1, task="SCHEDULED")
    told["job"]["vertices"][0]["parallelism"] = 3
    state.take(told)
    assert state.wanted_slots() == 0, "a task manager may still tell of its slots"
    recorder.now_s = 5
    state.take(told)
    assert state.wanted_slots() == 2
    state.take({**told, "overview": {"taskmanagers": 2, "slots-total": 3}})
    assert state.wanted_slots() == 0


def test_a_job_some_of_whose_tasks_wait_for_a_slot_is_not_ready() -> None:
    recorder = Recorder()
    state = recorder.state()
    told = report(1, [["in", 0, 5, -1]], reads_topics=True, fetching=True)
    # Tasks that exchange nothing start one by one, and Flink calls all of them running when one is.
    told["job"]["vertices"][0] |= {"parallelism": 5, "status": "RUNNING", "tasks": {"RUNNING": 4, "SCHEDULED": 1}}
    told["overview"] = {"taskmanagers": 2, "slots-total": 4}
    state.take(told)
    recorder.now_s = 5
    state.take(told)
    assert not state.is_ready()
    assert state.wanted_slots() == 1
    told["job"]["vertices"][0]["tasks"] = {"RUNNING": 4, "FINISHED": 1, "SCHEDULED": 0}
    state.take(told)
    assert state.is_ready()


def test_samples_tell_checkpoints_back_pressure_watermarks_and_rates() -> None:
    recorder = Recorder()
    state = recorder.state()
    for second, read in ((1, 10.0), (2, 30.0)):
        state.take(
            report(
                second,
                checkpoint=(second, second * 1000),
                records={"in": read, "out": read / 2},
                watermarks={"Source: x": 5_000.0},
            )
        )
    assert recorder.values("checkpoint_ms") == [7, 7]
    assert recorder.values("checkpoint_bytes") == [9, 9]
    assert recorder.values("backpressure") == [0.25]
    assert recorder.values("busy") == [], "Flink did not know it"
    assert recorder.values("watermark_s") == [5, 5]
    assert recorder.values("records_in") == [10, 30]
    assert recorder.values("records_out") == [5, 15]
    assert recorder.values("rows_a_second") == [20]
    assert recorder.values("task_managers") == [1]


def test_a_count_is_sampled_when_it_changes_also_while_no_checkpoint_is_completed() -> None:
    recorder = Recorder()
    state = recorder.state()
    for second, failed in ((1, 0), (2, 0), (3, 1), (4, 1), (5, 2)):
        state.take(report(second, checkpoints={"counts": {"completed": 0, "failed": failed}, "latest": {}}))
    assert recorder.values("checkpoints_failed") == [0, 1, 2]
    assert recorder.values("checkpoints") == [0]
    assert recorder.values("restarts") == [0]
    assert recorder.values("checkpoint_ms") == []


def test_nothing_is_claimed_of_counts_that_flink_does_not_tell() -> None:
    recorder = Recorder()
    recorder.state().take(report(1, checkpoints={}, restarts=None))
    assert recorder.values("restarts") == recorder.values("checkpoints_failed") == []


def test_a_job_is_silent_from_its_last_report_on_until_its_process_ends() -> None:
    recorder = Recorder()
    state = recorder.state()
    recorder.now_s = 10
    assert state.silent_s() == 0, "its process is starting"
    state.take(report(1))
    recorder.now_s = 14
    state.take({"at_ns": 1, "error": "OSError: timed out"})
    assert state.silent_s() == 4
    state.take(report(2))
    assert state.silent_s() == 0
    recorder.now_s = 20
    state.forget()
    assert state.silent_s() == 0


def test_a_job_that_has_finished_is_not_silent() -> None:
    recorder = Recorder()
    state = recorder.state()
    state.take(report(1, state="FINISHED", task="FINISHED"))
    recorder.now_s = 10
    assert state.silent_s() == 0


def test_names_of_vertices_are_short() -> None:
    name = (
        "Source: KafkaSource-default_catalog.default_database.src -> Calc[5] -> dst[6]: Writer -> dst[6]: Committer"
    )
    assert short_name(name) == "Source: src -> Calc[5] -> dst[6]: Writer -> dst[6]: Committe"
