"""Run folders for tests of the page: a sealed one that is made up, and one that is being written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stream2gym.analysis.fake_run import T0_NS, FakeRun
from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import ACKED, Identity
from stream2gym.record.journal_writers import ReceivedLog, SampleLog, SentLog
from stream2gym.web.record_tail import RecordTail
from stream2gym.web.run_story import RunStory, read_story

EXPERIMENT: dict[str, Any] = {
    "topics": [{"name": "in"}],
    "brokers": [{"name": "broker-h1", "on": "h1"}, {"name": "broker-h2", "on": "h2"}],
    "producers": [{"name": "gen", "on": "h1", "topic": "in"}],
    "consumers": [{"name": "see", "on": "h2", "topics": ["in"], "group": "g"}],
    "expect": ["lost == 0", "received > 50", "latency.p99 < 1 s", "recovery(fault=cut) < 5 s"],
}


def fake_run(**experiment: Any) -> FakeRun:
    """Ten seconds in which 100 messages are sent, a link is cut, and another broker becomes the leader."""
    run = FakeRun(10.0, **{**EXPERIMENT, **experiment})
    for seq in range(100):
        run.send(seq, due_s=seq / 10)
        run.receive(seq, at_s=seq / 10 + 0.05)
    for name, host in (("broker-h1", "h1"), ("broker-h2", "h2"), ("gen", "h1"), ("see", "h2")):
        run.event("started", -1.0, component=name, host=host, instance=1, start=1)
        run.event("ready", -0.5, component=name, host=host)
    run.sample(-0.5, "kafka", "in/0", "leader", 1)
    run.sample(-0.5, "kafka", "in/0", "isr", 2)
    run.sample(-0.5, "kafka", "in/0", "replicas", 2)
    run.sample(6.0, "kafka", "in/0", "leader", 2)
    run.event("leader", 6.0, topic="in", partition=0, leader=2, before=1)
    cut = {"fault": "cut", "instance": 1, "do": "down", "on": ["h1 -- s1"]}
    run.event("fault-applied", 3.0, **cut)
    run.event("fault-healed", 5.0, at_end=False, **cut)
    kill = {"fault": "kill-by-hand-1", "instance": 1, "do": "kill", "on": ["broker-h1"]}
    run.event("fault-applied", 5.5, **kill)
    run.event("stopped", 5.6, component="broker-h1", host="h1", instance=1, how="killed by SIGKILL", why="kill")
    for tick in range(21):
        is_cut = 6 <= tick < 10
        carried = tick if tick < 6 else 6 if is_cut else tick - 4
        run.sample(tick / 2, "fabric", "h1 -- s1 forward", "delivered_bytes", carried * 50_000)
        run.sample(tick / 2, "process", "gen", "cpu_s", tick / 4)
        run.sample(tick / 2, "process", "gen", "rss_bytes", 1e6)
        run.sample(tick / 2, "client", "g", "lag", 3)
    return run


def fake_folder(path: Path, **experiment: Any) -> RunFolder:
    folder = RunFolder.open(fake_run(**experiment).write(path))
    folder.logs.mkdir(exist_ok=True)
    return folder


def read_whole(folder: RunFolder) -> RunStory:
    """The story of a run that is over."""
    story = read_story(folder)
    story.take_whole_record(RecordTail(folder).look())
    return story


class RunningRun:
    """A run folder that is owned and written to by this process."""

    def __init__(self, path: Path, *, header: bool = True) -> None:
        model = path.with_name("model")
        model.mkdir()
        FakeRun(10.0, **EXPERIMENT).write_rest(model)
        self.folder = RunFolder.create("fake", seed=1, out=path)
        for name in ("experiment.yaml", "plan.json"):
            self.folder.write_text(name, (model / name).read_text("utf-8"))
        self.folder.update(t0_ns=T0_NS, created_ns=T0_NS - 2_000_000_000)
        self.sent = SentLog(self._path("sent", "gen"), Identity("gen", extra={} if header else {"header": False}))
        self.received = ReceivedLog(self._path("received", "see"), Identity("see", extra={"group": "g"}))
        self.samples = SampleLog(self.folder.raw, "monitors")

    def _path(self, schema: str, name: str) -> Path:
        return self.folder.raw / Identity(name).file_name(schema)

    def send(self, at_s: float) -> int:
        at_ns = T0_NS + round(at_s * 1e9)
        return self.sent.add(at_ns, at_ns, None, 1, 100, self.sent.number("in"))

    def acknowledge(self, row: int, at_s: float, offset: int) -> None:
        self.sent.report(row, ACKED, T0_NS + round(at_s * 1e9), 0, offset)

    def receive(self, seq: int, at_s: float, offset: int, *, is_ours: bool = True) -> None:
        log = self.received
        at_ns = T0_NS + round(at_s * 1e9)
        log.add(at_ns, log.number("in"), 0, offset, log.number("gen") if is_ours else 0, seq, None, 1, 100, 0)

    def close(self) -> None:
        for log in (self.sent, self.received, self.samples):
            log.close()
        self.folder.release()
