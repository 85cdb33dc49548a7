"""The life of one process: finished, died, started again, stopped."""

from __future__ import annotations

import signal
import threading
from typing import Any

from stream2gym.components.component_process import ComponentProcess, RestartPolicy
from stream2gym.hosts.process import Exit, Process
from stream2gym.wait import wait_until


class Stand:
    """Makes processes that end when told, and remembers what was said about them."""

    def __init__(self, **options: Any) -> None:
        self.processes: list[Process] = []
        self.signals: list[int] = []
        self.obeys = True
        self.events: list[dict[str, Any]] = []
        self.process = ComponentProcess("gen", "h1", self.launch, self.tell, grace_s=0.05, **options)

    def launch(self, start: int) -> Process:
        process = Process(start, "h1", "gen", self.signal)
        self.processes.append(process)
        return process

    def signal(self, _process: int, number: int) -> bool:
        self.signals.append(number)
        if number == signal.SIGKILL or (number == signal.SIGTERM and self.obeys):
            self.end(0 if number == signal.SIGTERM else -number)
        return True

    def end(self, code: int) -> None:
        thread = threading.Thread(target=self.processes[-1].ended, args=(Exit(code),))
        thread.start()

    def tell(self, kind: str, **details: Any) -> None:
        self.events.append({"event": kind, **details})

    def kinds(self) -> list[str]:
        return [event["event"] for event in self.events]

    def comes_to(self, state: str) -> None:
        wait_until(lambda: self.process.state == state, timeout_s=2, reason=state, every_s=0.001)


def test_a_process_that_exits_0_has_finished() -> None:
    stand = Stand()
    stand.process.start()
    stand.end(0)
    stand.comes_to("finished")
    assert stand.kinds() == ["started", "finished"]
    assert stand.process.over


def test_a_process_that_exits_otherwise_has_died() -> None:
    stand = Stand()
    stand.process.start()
    stand.end(-9)
    stand.comes_to("died")
    assert stand.events[-1]["how"] == "killed by SIGKILL"
    assert stand.process.over


def test_a_process_that_died_is_started_again_as_often_as_its_policy_says() -> None:
    stand = Stand(policy=RestartPolicy(times=1, delay_s=0.01))
    stand.process.start()
    stand.end(1)
    stand.comes_to("waiting")
    assert not stand.process.over
    stand.comes_to("running")
    stand.end(1)
    stand.comes_to("died")
    assert stand.kinds() == ["started", "died", "started", "restarted", "died"]


def test_an_end_that_was_asked_for_is_no_death() -> None:
    stand = Stand()
    stand.process.start()
    stand.process.ask_to_stop()
    stand.process.wait_for_stop()
    stand.comes_to("stopped")
    assert "died" not in stand.kinds()


def test_sigterm_is_sent_once_since_clients_take_a_second_one_as_an_order_to_drop_everything() -> None:
    stand = Stand()
    stand.obeys = False
    stand.process.start()
    stand.process.ask_to_stop()
    stand.process.ask_to_stop()
    assert stand.signals.count(signal.SIGTERM) == 1


def test_what_ignores_sigterm_is_killed_and_told() -> None:
    stand = Stand()
    stand.obeys = False
    stand.process.start()
    stand.process.ask_to_stop()
    stand.process.wait_for_stop()
    assert stand.signals[-1] == signal.SIGKILL
    assert "ignored-stop" in stand.kinds()


def test_a_stop_cancels_the_restart_that_is_due() -> None:
    stand = Stand(policy=RestartPolicy(times=5, delay_s=30))
    stand.process.start()
    stand.end(1)
    stand.comes_to("waiting")
    stand.process.ask_to_stop()
    assert stand.process.state == "stopped"
    assert len(stand.processes) == 1


def test_a_kill_on_purpose_is_followed_by_a_restart_only_when_asked() -> None:
    stand = Stand(policy=RestartPolicy(times=5, delay_s=0))
    stand.process.start()
    stand.process.kill()
    stand.comes_to("stopped")
    stand.process.restart()
    stand.process.wait_for_restart()
    assert stand.process.running
    assert stand.process.starts == 2


def test_what_is_revived_starts_by_itself_and_was_never_over() -> None:
    stand = Stand()
    stand.process.start()
    stand.process.kill()
    stand.process.restart()
    assert not stand.process.over
    stand.process.wait_for_restart()
    assert stand.process.running
    assert stand.kinds() == ["started", "stopped", "started", "restarted"]


def test_a_process_that_is_stopped_while_it_is_launched_is_told_when_it_is_there() -> None:
    launching, go_on = threading.Event(), threading.Event()

    class Slow(Stand):
        def launch(self, start: int) -> Process:
            if start == 2:
                launching.set()
                assert go_on.wait(5)
            return super().launch(start)

    stand = Slow()
    stand.process.start()
    stand.process.kill()
    stand.process.restart()
    assert launching.wait(5)
    stand.process.ask_to_stop()
    go_on.set()
    wait_until(lambda: stand.kinds().count("stopped") == 2, timeout_s=5, reason="its end to be told")
    assert stand.signals[-1] == signal.SIGTERM


def test_a_revival_that_somebody_thought_better_of_does_not_happen() -> None:
    stand = Stand()
    stand.process.start()
    stand.process.kill()
    with stand.process._lock:  # the start waits for it
        stand.process.restart()
        stand.process.ask_to_stop()
    assert stand.process.over
    assert len(stand.processes) == 1


def test_an_end_that_is_told_while_the_next_process_is_launched_is_told_of_the_first() -> None:
    """As by the network's reader, which also brings the answer to the launch."""
    told = threading.Event()

    class Reader(Stand):
        def launch(self, start: int) -> Process:
            if start == 2:
                assert told.wait(5)
            return super().launch(start)

        def tell(self, kind: str, **details: Any) -> None:
            super().tell(kind, **details)
            if kind == "stopped":
                told.set()

    stand = Reader()
    stand.process.start()
    stand.process.kill()
    stand.process.restart()
    stand.process.wait_for_restart()
    assert stand.kinds() == ["started", "stopped", "started", "restarted"]
