"""Loss, duplicates and silent failures made on purpose in one real run, and found exactly by the audit."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stream2gym.api import Result, perform, prepare
from stream2gym.execution.drive_load import Load
from stream2gym.execution.run_control import RunControl
from stream2gym.wait import wait_until
from tests.support.play import instead_of_faults

EXPERIMENT = """\
s2g: 1
name: mischief
topology: {kind: star, hosts: 3, latency: 1 ms}
brokers: [{on: h1, controller: true}, {on: h2, controller: false}]
topics: [{name: safe, leader: h1}, {name: shaky, leader: h2}]
producers:
  - {name: steady, on: h3, topic: safe, rate: 200/s, size: 50 B, acks: all}
  - {name: careless, on: h3, topic: shaky, rate: 200/s, size: 50 B, acks: 0}
consumers:
  - {name: loser, on: h3, topics: [safe], group: losers}
  - {name: doubler, on: h3, topics: [safe], group: doublers, client: {group.instance.id: one}}
  - {name: watcher, on: h3, topics: [shaky], group: watchers}
time: 5 s
drain: 90 s
expect: [lost == 0, "duplicated(group=losers) == 0"]
"""


class Mischief:
    """What is done to the run, on a thread of its own, at times from t0."""

    def __init__(self) -> None:
        self.deleted_before = 0
        self.problems: list[BaseException] = []

    def __call__(self, _run: RunControl, load: Load) -> Mischief:
        self._thread = threading.Thread(target=self._try, args=(load,), daemon=True)
        self._thread.start()
        return self

    @property
    def held(self) -> frozenset[str]:
        return frozenset()

    def end_load(self) -> None:
        self._thread.join(40)

    def close(self) -> None:
        self._thread.join(40)

    def _try(self, load: Load) -> None:
        try:
            self._act(load)
        except BaseException as error:
            self.problems.append(error)

    def _act(self, load: Load) -> None:
        components, observer = load.components, load.components.observer
        assert observer is not None
        assert observer._process is not None
        observer._process.signal(signal.SIGABRT)  # as its library does now and then
        t0 = load.t0_ns / 1e9
        clients = {client.name: client for client in components.consumers}
        shaky = next(broker.processes[0] for broker in components.brokers if broker.host == "h2")
        loser, doubler = (clients[name].processes[0] for name in ("loser", "doubler"))
        loser.pause()
        _until(t0 + 1.5)
        status, place = clients["doubler"].statuses[0], ("safe", 0)
        read = status.positions()[place]
        doubler.kill()
        doubler.restart()
        doubler.wait_for_restart()
        wait_until(
            lambda: status.ready and status.positions()[place] > read,
            timeout_s=30,
            reason="the restarted consumer to have read everything again",
        )
        shaky.pause()
        _until(time.monotonic() + 1.0)
        shaky.kill()
        shaky.restart()
        shaky.wait_for_restart()
        [[_, _, _, self.deleted_before]] = observer.query("offsets", topics=["safe"])["offsets"]
        failed = observer.query("delete", before={"safe": {"0": self.deleted_before}})["failed"]
        assert failed == {}
        loser.resume()


def _until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))


@dataclass(frozen=True)
class Done:
    result: Result
    mischief: Mischief
    sent: list[dict[str, Any]]
    received: list[dict[str, Any]]

    def got(self, group: str) -> list[int]:
        return [row["seq"] for row in self.received if row["group"] == group]

    def audited(self, column: str, group: str) -> int:
        rows = self.result.analysis.audit if self.result.analysis else ()
        return sum(getattr(row, column) for row in rows if row.group == group)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder: Path = tmp_path_factory.mktemp("mischief")
    (folder / "experiment.yaml").write_text(EXPERIMENT)
    planned, loaded = prepare(folder / "experiment.yaml")
    mischief = Mischief()
    with instead_of_faults(mischief):
        result = perform(planned, loaded, out=folder / "run", report=False)
    assert mischief.problems == []
    return Done(result, mischief, result.table("sent").to_pylist(), result.table("received").to_pylist())


def test_records_deleted_before_they_were_read_are_lost_exactly(done: Done) -> None:
    acked = {row["seq"] for row in done.sent if row["producer"] == "steady" and row["status"] == "acked"}
    lost = acked - set(done.got("losers"))
    assert 0 < len(lost) <= done.mischief.deleted_before
    assert done.audited("lost", "losers") == len(lost)
    # On a busy machine this group may not have read the last of the deleted records either.
    assert done.audited("lost", "doublers") == len(acked - set(done.got("doublers"))) < len(lost)


def test_the_first_lost_messages_are_named_as_evidence(done: Done) -> None:
    assert done.result.analysis is not None
    named = {item.seq for item in done.result.analysis.evidence if item.claim == "lost"}
    assert named
    assert named.isdisjoint(done.got("losers"))


def test_what_a_killed_consumer_read_again_is_duplicated_exactly(done: Done) -> None:
    got = done.got("doublers")
    assert len(got) > len(set(got))
    assert done.audited("redelivered", "doublers") == len(got) - len(set(got))
    assert done.audited("redelivered", "losers") == 0


def test_messages_sent_without_acknowledgement_into_a_dead_broker_are_found_exactly(done: Done) -> None:
    unconfirmed = {
        row["seq"] for row in done.sent if row["producer"] == "careless" and row["status"] == "unconfirmed"
    }
    lost = unconfirmed - set(done.got("watchers"))
    assert len(lost) > 50
    assert done.audited("unconfirmed_lost", "watchers") == len(lost)
    assert done.audited("lost", "watchers") == 0


def test_the_verdict_fails_because_of_the_loss_alone(done: Done) -> None:
    assert done.result.verdict == "fail"
    assert done.result.exit_code == 1
    assert any("lost" in reason for reason in done.result.reasons)


def test_the_client_of_the_observer_is_replaced_and_its_silence_is_told(done: Done) -> None:
    told = [event for event in done.result.folder.read_events() if event.get("monitor") == "leadership"]
    # On a busy machine it may fall silent once more.
    assert [event["event"] for event in told[:2]] == ["monitor-failed", "monitor-works-again"]
    assert "SIGABRT" in told[0]["reason"]
    assert told[1]["silent_s"] > 0


def test_what_was_done_on_purpose_is_no_death(done: Done) -> None:
    kinds = [event["event"] for event in done.result.folder.read_events()]
    assert "died" not in kinds
    assert kinds.count("restarted") == 2
