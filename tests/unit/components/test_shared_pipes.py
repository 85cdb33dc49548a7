"""Several threads write to one pipe, messages longer than a pipe takes at once: each arrives whole."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.clients.client_process import Status
from stream2gym.components.observer import Observer

LONG = "x" * 20_000
TIMES, THREADS = 40, 3


class Reader:
    """Reads a pipe in small pieces to its end."""

    def __init__(self, fd: int) -> None:
        self.data = bytearray()
        self._fd = fd
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        while part := os.read(self._fd, 3000):
            self.data += part

    def lines(self) -> list[bytes]:
        self._thread.join()
        os.close(self._fd)
        return bytes(self.data).splitlines()


def at_once(deed: Callable[[int], object]) -> None:
    def repeat(number: int) -> None:
        for _ in range(TIMES):
            deed(number)

    threads = [threading.Thread(target=repeat, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_status_lines_of_several_threads_arrive_whole() -> None:
    read, write = os.pipe()
    status, reader = Status(write), Reader(read)

    at_once(lambda number: status.say("assigned", number=number, text=LONG))
    os.close(write)

    said = [json.loads(line.removeprefix(b"S2G ")) for line in reader.lines()]
    assert [one["text"] for one in said] == [LONG] * TIMES * THREADS


def test_a_status_line_after_one_that_found_no_room_stands_on_its_own() -> None:
    read, write = os.pipe()
    status = Status(write)
    whole = status.say("assigned", text=LONG * 10)  # more than a pipe holds, and nobody reads

    reader = Reader(read)
    after = status.say("ready")
    os.close(write)

    assert (whole, after) == (False, True)
    *torn, last = reader.lines()
    assert json.loads(last.removeprefix(b"S2G "))["event"] == "ready"
    assert len(torn) == 1


def test_questions_of_several_threads_reach_the_observer_whole(tmp_path: Any) -> None:
    read = -1

    def spawn(*_words: Any, stdin: int, **_options: Any) -> Any:
        nonlocal read
        read = os.dup(stdin)
        return SimpleNamespace(poll=lambda: None, when_ended=lambda _listener: None)

    context = SimpleNamespace(
        spawn=spawn,
        plan=SimpleNamespace(network=SimpleNamespace(observer=SimpleNamespace(name="observer"))),
        folder=SimpleNamespace(log_path=lambda host, name: tmp_path / f"{host}.{name}.log"),
    )
    observer = Observer(context, "nowhere")  # type: ignore[arg-type]
    observer.start(lambda _line: None)
    reader = Reader(read)

    at_once(lambda number: observer.ask("describe", topics=[LONG], number=number))
    observer.close()

    asked = [json.loads(line) for line in reader.lines()]
    assert len({one["id"] for one in asked}) == TIMES * THREADS
    with pytest.raises(Exception, match="has ended"):
        observer.ask("describe").result(0)
