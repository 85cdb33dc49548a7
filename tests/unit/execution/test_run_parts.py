"""Waiting, draining, links and the working directory of programs."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from stream2gym.components.topics import host_number
from stream2gym.errors import Defect, Interrupted, StartFailed
from stream2gym.execution.lag_tracker import messages_behind
from stream2gym.execution.link_startup import configured_links, unshaped_links
from stream2gym.execution.program_folder import make_root, remove_root
from stream2gym.execution.waiter import Waiter
from stream2gym.interrupts import Interrupts
from stream2gym.link import LinkSettings
from stream2gym.plan.planned import Network, PlannedLink, Routing
from stream2gym.record.folder import RunFolder
from stream2gym.wait import wait_until


def waiter(interrupts: Interrupts | None = None) -> Waiter:
    return Waiter(interrupts or Interrupts())


def test_a_wait_ends_at_its_deadline_and_names_its_reason() -> None:
    with pytest.raises(StartFailed, match=r"waited 0\.05 s for the moon"):
        waiter().wait_until(lambda: False, 0.05, "the moon")


def test_a_wait_ends_at_once_when_the_network_dies() -> None:
    waiting = waiter()
    waiting.failure_checks.append(lambda: Defect("the fabric process died"))
    with pytest.raises(Defect, match="fabric"):
        waiting.wait_until(lambda: False, 60, "ever")


def test_one_interrupt_ends_waits_and_a_second_one_everything() -> None:
    notes: list[str] = []
    with Interrupts() as interrupts, interrupts.orderly(lambda: notes.append("stopping")):
        waiting = waiter(interrupts)
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Interrupted):
            waiting.wait_until(lambda: False, 60, "ever")
        wait_until(lambda: notes == ["stopping"], timeout_s=5, reason="the note")
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_after_an_interrupt_an_orderly_stop_may_still_wait() -> None:
    interrupts = Interrupts()
    interrupts.count = 1
    waiting = waiter(interrupts)
    waiting.stops_on_interrupt = False
    assert waiting.wait_until(lambda: True, 1, "the stop")


def test_running_out_of_time_is_an_answer_where_it_is_meant_to_be_one() -> None:
    assert waiter().wait_at_most(0.03, lambda: False) is False
    assert waiter().wait_at_most(60, lambda: True) is True


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
    forward, _ = unshaped_links(network)["h1 -- s1"]
    assert forward == LinkSettings(mtu=9000, up=False)
    assert configured_links(network)["h1 -- s1"] == (slow, slow)


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
