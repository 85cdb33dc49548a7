"""A role is who has it when the fault fires, not who had it a quarter of a second before."""

from __future__ import annotations

from typing import Any

import pytest

from stream2gym.errors import StartFailed
from stream2gym.plan.planned import PlannedFault, Window
from tests.unit.faults.fakes import Scene

DUE_NS = 10**9
MS = 10**6


class FakeQuestion:
    """Answers some time after it was asked, with what was true when it was asked."""

    def __init__(self, scene: Scene, takes_ns: int, said: dict[str, Any] | None) -> None:
        self._scene, self._at_ns, self._said = scene, scene.now + takes_ns, said

    @property
    def done(self) -> bool:
        return self._scene.now >= self._at_ns

    def result(self, timeout_s: float = 0.0) -> dict[str, Any]:
        self._scene.now = max(self._scene.now, self._at_ns)
        if self._said is None:
            raise StartFailed("the cluster refuses")
        return self._said


class FakeCluster:
    """A controller that moves from broker-h1 to broker-h2 at a time; from another time on it refuses to answer."""

    def __init__(self, scene: Scene, *, moves_ns: int, takes_ns: int, refuses_ns: int = 10**18) -> None:
        self._scene, self._moves_ns, self._takes_ns = scene, moves_ns, takes_ns
        self._refuses_ns = refuses_ns

    def ask(self, _operation: str, **_request: Any) -> FakeQuestion:
        node = 1 if self._scene.now < self._moves_ns else 2
        said = None if self._scene.now >= self._refuses_ns else {"node": node}
        return FakeQuestion(self._scene, self._takes_ns, said)

    def broker(self, node: int) -> str:
        return f"broker-h{node}"

    def node(self, name: str) -> int:
        return int(name[-1])


def killed(**cluster: int) -> dict[str, Any]:
    """The event of a kill of the controller, due after a second."""
    scene = Scene()
    scene.context.cluster = FakeCluster(scene, **cluster)  # type: ignore[assignment]
    scene.add(PlannedFault("dead", "kill", ("controller",), {}, (Window(1.0, None),)))
    scene.go(1.5)
    [event] = scene.events
    return event


@pytest.mark.parametrize("before_ms", [200, 100, 30])
def test_a_role_that_moves_just_before_the_fault_is_followed_and_both_are_told(before_ms: int) -> None:
    event = killed(moves_ns=DUE_NS - before_ms * MS, takes_ns=5 * MS)

    assert (event["on"], event["was"]) == (["broker-h2"], {"controller": ["broker-h1"]})
    assert event["resolved_ns"] == DUE_NS - 20 * MS
    assert event["at_ns"] == DUE_NS


def test_an_answer_that_is_under_way_makes_no_fault_late() -> None:
    event = killed(moves_ns=DUE_NS - 90 * MS, takes_ns=80 * MS)

    assert event["at_ns"] == DUE_NS
    assert (event["on"], event["resolved_ns"]) == (["broker-h1"], DUE_NS - 100 * MS)


def test_without_any_answer_the_first_one_is_waited_for() -> None:
    event = killed(moves_ns=DUE_NS, takes_ns=400 * MS)

    assert (event["event"], event["at_ns"]) == ("fault-applied", DUE_NS + 150 * MS)


def test_a_refusal_does_not_hide_an_earlier_answer() -> None:
    event = killed(moves_ns=0, takes_ns=5 * MS, refuses_ns=DUE_NS - 120 * MS)

    assert (event["on"], event["resolved_ns"]) == (["broker-h2"], DUE_NS - 150 * MS)


def test_a_cluster_that_only_refuses_is_a_fault_that_failed_with_its_words() -> None:
    event = killed(moves_ns=0, takes_ns=5 * MS, refuses_ns=0)

    assert (event["event"], event["reason"]) == ("fault-failed", "controller: the cluster refuses")


def test_a_fault_of_a_name_asks_nobody_and_says_nothing_of_roles() -> None:
    scene = Scene()
    scene.add(PlannedFault("dead", "kill", ("broker-h1",), {}, (Window(1.0, None),)))
    scene.go(1.5)

    assert not {"resolved_ns", "was"} & set(scene.events[0])
