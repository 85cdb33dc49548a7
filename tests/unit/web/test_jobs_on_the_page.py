"""Jobs that join a run, are moved or are stopped by hand: the page shows each where it is and as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stream2gym.analysis.fake_run import T0_NS, FakeRun
from stream2gym.record.folder import RunFolder
from stream2gym.web.record_tail import RecordTail
from stream2gym.web.run_story import RunStory
from stream2gym.web.run_watch import RunWatch
from stream2gym.web.snapshot import snapshot_at
from tests.unit.web.web_runs import EXPERIMENT, RunningRun, fake_run, read_whole

LATE = {"name": "late", "on": "h1", "topics": ["in"], "group": "late"}
WITH_LATE = {"consumers": [*EXPERIMENT["consumers"], LATE]}


def run_with_jobs(path: Path) -> RunFolder:
    """``late`` joins on h1 at 2 s, is moved to h2 at 6 s and stopped at 8 s."""
    run = fake_run(**WITH_LATE)
    run.event("job-submitted", 2.0, component="late", host="h1", part="consumer")
    run.event("started", 2.1, component="late", host="h1", instance=1, start=1)
    run.event("ready", 2.5, component="late", host="h1")
    run.event("job-moved", 6.0, component="late", host="h1", to="h2")
    run.event("stopped", 6.1, component="late", host="h1", instance=1, how="exit code 0", why="stop")
    run.event("started", 6.3, component="late", host="h2", instance=1, start=2)
    run.event("job-stopped", 8.0, component="late", host="h2")
    run.event("stopped", 8.1, component="late", host="h2", instance=1, how="exit code 0", why="stop")
    return RunFolder.open(run.write(path))


def at(story: RunStory, t_s: float) -> dict[str, Any]:
    return snapshot_at(story, T0_NS + round(t_s * 1e9), T0_NS)


def test_a_job_is_listed_with_its_health_and_its_host_from_when_it_joined(tmp_path: Path) -> None:
    story = read_whole(run_with_jobs(tmp_path / "run"))
    assert at(story, 1.0)["jobs"] == []
    assert "late" not in at(story, 1.0)["components"]
    seen = {}
    for t in (2.2, 3.0, 7.0, 9.0):
        [job] = at(story, t)["jobs"]
        assert (job["name"], job["kind"]) == ("late", "consumer")
        seen[t] = (job["host"], job["state"], job["reason"], [one["did"] for one in job["changes"]])
    assert seen == {
        2.2: ("h1", "starting", "", ["submitted"]),
        3.0: ("h1", "ready", "", ["submitted"]),
        7.0: ("h2", "running", "", ["submitted", "moved"]),
        9.0: ("h2", "stopped", "by hand", ["submitted", "moved", "stopped"]),
    }
    moved = at(story, 9.0)["jobs"][0]["changes"][1]
    assert moved == {"did": "moved", "t": 6.0, "host": "h1", "to": "h2"}


def test_a_component_of_the_plan_that_is_stopped_by_hand_is_listed_too(tmp_path: Path) -> None:
    run = fake_run()
    run.event("job-stopped", 4.0, component="see", host="h2")
    run.event("stopped", 4.1, component="see", host="h2", instance=1, how="exit code 0", why="stop")
    story = read_whole(RunFolder.open(run.write(tmp_path / "run")))
    [job] = at(story, 5.0)["jobs"]
    assert (job["name"], job["host"], job["state"], job["reason"]) == ("see", "h2", "stopped", "by hand")
    assert at(story, 3.0)["jobs"] == []


def cards(picture: dict[str, Any]) -> dict[str, list[str]]:
    """The components that are drawn on each host."""
    hosts = [node for node in picture["topology"]["nodes"] if node["kind"] == "host"]
    return {node["name"]: [line["component"] for line in node["lines"] if line["component"]] for node in hosts}


def test_a_replay_draws_each_job_where_it_was_at_the_moment(tmp_path: Path) -> None:
    watch = RunWatch(run_with_jobs(tmp_path / "run"))
    try:
        where = {
            t: [host for host, names in cards(watch.picture(t)).items() if "late" in names] for t in (1, 3, 7, 9)
        }
        assert where == {1: [], 3: ["h1"], 7: ["h2"], 9: ["h2"]}
        numbers = {t: watch.picture(t)["picture"] for t in (1, 3, 7, 9)}
        assert numbers == {t: watch.snapshot(t)["picture"] for t in (1, 3, 7, 9)} == {1: 0, 3: 1, 7: 2, 9: 2}
        assert "late" not in {node["id"] for node in watch.picture(1)["pipeline"]["nodes"]}
        assert "late" in {node["id"] for node in watch.picture(3)["pipeline"]["nodes"]}
    finally:
        watch.close()


def test_the_page_of_a_run_that_goes_on_takes_up_a_job_that_joins(tmp_path: Path) -> None:
    running = RunningRun(tmp_path / "run")
    watch = RunWatch(running.folder, look_s=0.02)
    try:
        assert "late" not in watch.snapshot()["components"]
        model = tmp_path / "joined"
        model.mkdir()
        FakeRun(10.0, **{**EXPERIMENT, **WITH_LATE}).write_rest(model)
        for name in ("experiment.yaml", "plan.json"):
            running.folder.write_text(name, (model / name).read_text("utf-8"))
        running.folder.events.add("job-submitted", component="late", host="h1", part="consumer")
        running.folder.events.add("started", component="late", host="h1", instance=1, start=1)
        watch.stop_following()
        assert watch.snapshot()["components"]["late"]["state"] == "starting"
        assert watch.snapshot()["components"]["late"]["host"] == "h1"
        assert watch.picture()["picture"] == watch.snapshot()["picture"] == 1
        assert "late" in cards(watch.picture())["h1"]
    finally:
        watch.close()
        running.close()


def test_a_look_that_finds_no_job_reads_no_plan_again(tmp_path: Path) -> None:
    running = RunningRun(tmp_path / "run")
    tail = RecordTail(running.folder)
    watch = RunWatch(running.folder, look_s=0.02)
    try:
        (running.folder.path / "plan.json").write_text("no plan")
        running.folder.events.add("started", component="see", host="h2", instance=1, start=1)
        watch.stop_following()
        assert watch.snapshot()["components"]["see"]["state"] == "starting"
    finally:
        tail.close()
        watch.close()
        running.close()
