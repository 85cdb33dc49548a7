"""The command's end of the control channel, against a fabric that the test plays."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from stream2gym.errors import BadInput, Defect
from stream2gym.fabric.userspace.control import UserspaceFabric
from stream2gym.link import Bursts, LinkSettings

Answer = Callable[[dict[str, Any]], dict[str, Any] | None]


def played(answer: Answer) -> tuple[UserspaceFabric, list[dict[str, Any]]]:
    """A fabric whose process is a thread; it dies when ``answer`` says None."""
    ours, theirs = socket.socketpair()
    asked: list[dict[str, Any]] = []

    def play() -> None:
        with theirs, theirs.makefile("rw") as lines:
            lines.write('{"ready": true, "priority": "none", "links": ["h1 -- h2"]}\n')
            lines.flush()
            for line in lines:
                asked.append(json.loads(line))
                said = answer(asked[-1])
                if said is None:
                    return
                lines.write(json.dumps(said) + "\n")
                lines.flush()

    threading.Thread(target=play, daemon=True).start()
    return UserspaceFabric(ours, timeout_s=5), asked


def test_settings_travel_whole() -> None:
    fabric, asked = played(lambda _: {"ok": True})
    settings = LinkSettings(latency_ms=3, bursts=Bursts(0.1, 0.2), bandwidth_bps=None)
    fabric.set_link("h1 -- h2", forward=settings)
    forward, backward = asked[0]["links"]["h1 -- h2"]
    assert LinkSettings.from_json(forward) == settings
    assert backward is None


def test_a_mistake_comes_back_as_bad_input() -> None:
    fabric, _ = played(lambda _: {"mistake": {"where": "h1 -- h9", "what": "no such link"}})
    with pytest.raises(BadInput, match="h1 -- h9: no such link"):
        fabric.cut("h1 -- h9")


def test_a_fabric_that_dies_is_a_defect_at_once_and_from_then_on() -> None:
    fabric, _ = played(lambda _: None)
    for _ in range(3):
        with pytest.raises(Defect, match="fabric process is gone"):
            fabric.cut("h1 -- h2")
    fabric.close()


def test_a_fabric_that_never_starts_is_a_defect() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with pytest.raises(Defect, match="gone"):
        UserspaceFabric(ours)
    ours.close()


def test_many_threads_each_get_their_own_answer() -> None:
    fabric, _ = played(lambda request: {"ok": True, "stats": _snapshot(int(request.get("link", 0)))})
    seen: list[int] = []

    def ask() -> None:
        seen.extend(fabric.stats().at_ns for _ in range(50))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 400


def test_links_that_saw_nothing_are_in_the_counters_too() -> None:
    fabric, _ = played(lambda _: {"ok": True, "stats": _snapshot(5)})
    stats = fabric.stats()
    assert [(one.direction, one.entered_packets) for one in stats.links] == [("forward", 9), ("backward", 0)]
    assert (stats.at_ns, stats.no_route) == (5, 2)


def _snapshot(at: int) -> dict[str, Any]:
    return {
        "at_ns": at,
        "links": [["h1 -- h2", "forward", 9, 900, 9, 900, 0, {}, 0, 0, 0, 0, 0]],
        "lateness": {"bounds_us": [1.0], "counts": [9], "max_us": 0.5},
        "unasked_drops": {},
        "cpu_s": 0.1,
        "no_route": 2,
        "blocked": 0,
    }
