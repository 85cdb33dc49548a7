"""The observer's admin client as the run holds it: ask the cluster, wait for it, watch it.

The program (``stream2gym.clients.admin``) runs on the hidden observer host, whose paths to all others are never
shaped and never cut, so that faults do not blind us.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from stream2gym.components.stage import Stage, json_lines
from stream2gym.errors import Defect, StartFailed
from stream2gym.hosts.process import Process

SPARE_S = 15.0  # what an answer may take beyond the time that the request allows the cluster


class Question:
    """A request on its way; ``answer`` is None until it came."""

    def __init__(self, operation: str) -> None:
        self.operation = operation
        self._came = threading.Event()
        self._answer: dict[str, Any] = {}

    def came(self, answer: dict[str, Any]) -> None:
        self._answer = answer
        self._came.set()

    @property
    def done(self) -> bool:
        return self._came.is_set()

    def result(self, timeout_s: float = SPARE_S) -> dict[str, Any]:
        """The answer; StartFailed with Kafka's words when it refused or the time was over."""
        if not self._came.wait(timeout_s):
            raise StartFailed(f"the observer did not answer {self.operation!r} within {timeout_s:g} s")
        if "error" in self._answer:
            raise StartFailed(str(self._answer["error"]))
        return dict(self._answer["ok"])


class Observer:
    """Handle of the admin client."""

    def __init__(self, stage: Stage, bootstrap: str, on_watch: Callable[[dict[str, Any]], None]) -> None:
        host = stage.plan.network.observer
        if host is None:
            raise Defect("the plan has no observer host")
        self._numbers = itertools.count(1)
        self._questions: dict[int, Question] = {}
        self._on_watch = on_watch
        stdin, self._requests = os.pipe()
        self.log = stage.folder.logs / f"{host.name}.admin.log"
        argv = [sys.executable, "-m", "stream2gym.clients.admin", "--bootstrap", bootstrap]
        try:
            self.process: Process = stage.spawn(
                host.name, argv, name="admin", log=self.log, stdin=stdin, on_line=json_lines(self._on_answer)
            )
        finally:
            os.close(stdin)
        self.process.when_ended(self._on_end)

    def ask(self, operation: str, **request: Any) -> Question:
        """Send a request; the answer comes to the question."""
        number, question = next(self._numbers), Question(operation)
        self._questions[number] = question
        if self.process.poll() is not None or self._requests < 0:
            question.came({"error": "the observer's admin client has ended"})
            return question
        try:
            os.write(self._requests, (json.dumps({"id": number, "op": operation, **request}) + "\n").encode())
        except OSError:
            question.came({"error": "the observer's admin client has ended"})
        return question

    def query(self, operation: str, timeout_s: float = 10.0, **request: Any) -> dict[str, Any]:
        """Ask and wait for the answer."""
        return self.ask(operation, timeout_s=timeout_s, **request).result(timeout_s + SPARE_S)

    def close(self) -> None:
        if self._requests >= 0:
            os.close(self._requests)
            self._requests = -1

    def _on_answer(self, answer: dict[str, Any]) -> None:
        if "id" in answer:
            question = self._questions.pop(answer["id"], None)
            if question is not None:
                question.came(answer)
        else:
            self._on_watch(answer)

    def _on_end(self, process: Process) -> None:
        for question in list(self._questions.values()):
            question.came({"error": f"the observer's admin client has ended ({process.poll()})"})
