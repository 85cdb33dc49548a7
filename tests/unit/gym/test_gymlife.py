"""Waiting, draining, links and the working directory of programs."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from stream2gym.components.topics import host_number
from stream2gym.errors import Defect, Interrupted, StartFailed
from stream2gym.gymlife.drain import messages_behind
from stream2gym.gymlife.links import configured, unshaped
from stream2gym.gymlife.patience import Interrupts, Patience
from stream2gym.gymlife.root import make_root, remove_root
from stream2gym.link import LinkSettings
from stream2gym.plan.model import Network, PlannedLink, Routing
from stream2gym.record.folder import RunFolder


def patience(interrupts: Interrupts | None = None) -> Patience:
    return Patience(interrupts or Interrupts(), lambda: None)


def test_a_wait_ends_at_its_deadline_and_names_its_reason() -> None:
    with pytest.raises(StartFailed, match=r"waited 0\.05 s for the moon"):
        patience().until(lambda: False, 0.05, "the moon")


def test_a_wait_ends_at_once_when_the_network_dies() -> None:
    waiting = patience()
    waiting.troubles.append(lambda: Defect("the fabric process died"))
    with pytest.raises(Defect, match="fabric"):
        waiting.until(lambda: False, 60, "ever")


def test_one_interrupt_ends_waits_and_a_second_one_everything() -> None:
    notes: list[str] = []
    with Interrupts(lambda: notes.append("stopping")) as interrupts:
        waiting = patience(interrupts)
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Interrupted):
            waiting.until(lambda: False, 60, "ever")
        assert notes == ["stopping"]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_after_an_interrupt_an_orderly_stop_may_still_wait() -> None:
    interrupts = Interrupts()
    interrupts.count = 1
    waiting = patience(interrupts)
    waiting.heed_interrupts = False
    assert waiting.until(lambda: True, 1, "the stop")


def test_running_out_of_time_is_an_answer_where_it_is_meant_to_be_one() -> None:
    assert patience().up_to(lambda: False, 0.03) is False
    assert patience().up_to(lambda: True, 60) is True


def test_every_group_must_reach_the_end_of_every_partition() -> None:
    offsets = [["t", 0, 0, 10], ["t", 1, 0, 5], ["u", 0, 3, 4]]
    groups = {"g": ["t"], "k": ["t", "u"]}
    positions = {"g": {("t", 0): 10, ("t", 1): 3}, "k": {("t", 0): 4}}
    assert messages_behind(offsets, groups, positions) == 2 + (6 + 5 + 1)


def test_records_deleted_before_they_were_read_are_not_waited_for() -> None:
    assert messages_behind([["t", 0, 8, 10]], {"g": ["t"]}, {"g": {("t", 0): 2}}) == 2


def test_a_fast_start_opens_links_and_keeps_what_is_down() -> None:
    slow = LinkSettings(latency_ms=600, bandwidth_bps=1e6, loss=0.1, mtu=9000, up=False)
    link = PlannedLink("h1 -- s1", "h1", "s1", 1, 1, slow, slow)
    network = Network((), ("s1",), (link,), Routing(), 1)
    forward, _ = unshaped(network)["h1 -- s1"]
    assert forward == LinkSettings(mtu=9000, up=False)
    assert configured(network)["h1 -- s1"] == (slow, slow)


def test_programs_see_their_files_and_write_into_the_run(tmp_path: Path) -> None:
    base = tmp_path / "base"
    (base / "use-cases").mkdir(parents=True)
    (base / "use-cases" / "data.txt").write_text("x")
    (base / "logs").mkdir()
    (base / "logs" / "old").write_text("old")
    folder = RunFolder.create("n", seed=1, out=tmp_path / "run")
    root = make_root(folder, base)
    assert (root / "use-cases" / "data.txt").read_text() == "x"
    assert not (root / "logs" / "old").exists()
    (root / "logs" / "output" / "prod" / "p.log").write_text("mine")
    remove_root(folder)
    folder.release()
    assert (folder.work / "logs/output/prod/p.log").read_text() == "mine"
    assert (base / "use-cases" / "data.txt").exists()
    assert not root.exists()


def test_the_number_of_a_host_is_the_number_in_its_name() -> None:
    assert host_number("h12") == "12"
    assert host_number("paris") == "paris"
