"""A client of the observer that dies is replaced, and its watch goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.components.observer import MOST_STARTS, Observer
from stream2gym.errors import StartFailed


class Client:
    """Stands for the process of an admin client."""

    def __init__(self, requests: int, on_line: Callable[[bytes], None]) -> None:
        self.requests = requests
        self._on_line = on_line
        self.ended: Callable[[Any], None] = lambda _process: None
        self.code: str | None = None

    def poll(self) -> str | None:
        return self.code

    def when_ended(self, listener: Callable[[Any], None]) -> None:
        self.ended = listener

    def say(self, **line: Any) -> None:
        self._on_line(json.dumps(line).encode())

    def abort(self) -> None:
        self.code = "killed by SIGABRT"
        self.ended(self)

    def asked(self) -> list[dict[str, Any]]:
        os.set_blocking(self.requests, False)
        return [json.loads(line) for line in os.read(self.requests, 65536).splitlines()]


class Scene:
    """An observer whose clients are not real."""

    def __init__(self, folder: Path) -> None:
        self.clients: list[Client] = []
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.watched: list[dict[str, Any]] = []
        network = SimpleNamespace(observer=SimpleNamespace(name="observer"))
        context: Any = SimpleNamespace(
            spawn=self.spawn,
            plan=SimpleNamespace(network=network),
            folder=SimpleNamespace(log_path=lambda host, name: folder / f"{host}.{name}.log"),
            tell=lambda event, **details: self.events.append((event, details)),
        )
        self.observer = Observer(context, "nowhere")
        self.observer.start(self.watched.append)

    def spawn(self, *_words: Any, stdin: int, on_line: Callable[[bytes], None], **_options: Any) -> Client:
        self.clients.append(Client(os.dup(stdin), on_line))
        return self.clients[-1]


def test_the_next_question_starts_another_client_which_watches_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(tmp_path)
    scene.observer.ask("watch", every_s=1, topics=["in"])
    pending = scene.observer.ask("state")
    now = iter([10.0, 12.5])
    monkeypatch.setattr("stream2gym.components.observer.time.monotonic", lambda: next(now))

    scene.clients[0].abort()
    with pytest.raises(StartFailed, match="killed by SIGABRT"):
        pending.result(0)
    again = scene.observer.ask("state")

    [watch, state] = scene.clients[1].asked()
    assert (watch["op"], watch["topics"], state["op"]) == ("watch", ["in"], "state")
    scene.clients[1].say(watch={"in/0": [1, [1], [1]]})
    scene.clients[1].say(id=state["id"], ok={"leaderless": 0})
    assert again.result(0) == {"leaderless": 0}
    assert scene.watched == [{"watch": {"in/0": [1, [1], [1]]}}]
    assert [event for event, _ in scene.events] == ["monitor-failed", "monitor-works-again"]
    assert scene.events[1][1] == {"monitor": "leadership", "silent_s": 2.5}


def test_a_client_that_dies_again_and_again_is_given_up(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for _ in range(MOST_STARTS + 2):
        scene.clients[-1].abort()
        last = scene.observer.ask("state")
    assert len(scene.clients) == MOST_STARTS
    with pytest.raises(StartFailed, match="has ended"):
        last.result(0)


def test_no_client_is_started_after_the_observer_was_closed(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.observer.close()
    scene.clients[0].abort()
    with pytest.raises(StartFailed, match="has ended"):
        scene.observer.ask("state").result(0)
    assert (len(scene.clients), scene.events) == (1, [])
