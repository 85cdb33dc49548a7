"""The program that measures from a host."""

from __future__ import annotations

from stream2gym.hosts.probing import PROGRAM


def test_the_probe_program_is_where_it_is_started_from() -> None:
    assert PROGRAM.is_file()
