"""Whose partitions a run waits for: a group that a program shares never has all of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from stream2gym.execution.run_components import leave_out_shared_groups


def program(*groups: str, observed: bool = True) -> Any:
    return SimpleNamespace(record=object() if observed else None, groups=lambda: dict.fromkeys(groups))


def test_without_programs_every_group_is_waited_for() -> None:
    assert leave_out_shared_groups(["team", "g"], set(), []) == ["team", "g"]


def test_a_group_that_the_experiment_gives_to_a_program_is_not_waited_for() -> None:
    assert leave_out_shared_groups(["team", "g"], {"team"}, [program()]) == ["g"]


def test_a_group_that_a_program_joined_by_itself_is_not_waited_for() -> None:
    assert leave_out_shared_groups(["team", "g"], set(), [program("other"), program("team")]) == ["g"]


def test_beside_a_program_that_nobody_observes_no_group_is_waited_for() -> None:
    assert leave_out_shared_groups(["team", "g"], set(), [program("team"), program(observed=False)]) == []
