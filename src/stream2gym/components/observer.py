"""The run's handle of the admin client on the observer host: requests to the cluster, and a watch of its leaders.

The client (``stream2gym.clients.admin``, with RabbitMQ ``amqp_admin``) runs on the hidden observer host. The paths
from there to all other hosts are never shaped and never cut, so that the run can observe the cluster during faults.

The library of the client may abort, for example while a broker dies. Then the next request starts another client,
and the watch goes on. How long nobody watched is an event of the run.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from stream2gym.components.run_context import RunContext, json_lines
from stream2gym.errors import Defect, S2gError, StartFailed
from stream2gym.hosts.process import Process
from stream2gym.own_python import own_python

# The modules of the admin clients.
KAFKA_ADMIN = "stream2gym.clients.admin"
RABBITMQ_ADMIN = "stream2gym.clients.amqp_admin"
# What an answer may take beyond the time that the request gives the cluster.
SPARE_S = 15.0
# So many clients are started in a run. One that dies again and again is not worth it.
MOST_STARTS = 5
WATCH = "watch"
# What events call the watch.
LEADERSHIP = "leadership"


class Question:
    """A request to the cluster whose answer may still be on its way."""

    def __init__(self, operation: str) -> None:
        self.operation = operation
        self._came = threading.Event()
        self._answer: dict[str, Any] = {}

    def came(self, answer: dict[str, Any]) -> None:
        """Take the answer; the observer calls this."""
        self._answer = answer
        self._came.set()

    @property
    def done(self) -> bool:
        """Whether the answer, or a refusal, is there."""
        return self._came.is_set()

    def result(self, timeout_s: float = SPARE_S) -> dict[str, Any]:
        """Wait for the answer. StartFailed has Kafka's reason if it refused, or says that no answer came in time."""
        if not self._came.wait(timeout_s):
            raise StartFailed(f"the observer did not answer {self.operation!r} within {timeout_s:g} s")
        if "error" in self._answer:
            raise StartFailed(str(self._answer["error"]))
        return dict(self._answer["ok"])


class Observer:
    """Sends requests to the admin client. Any thread may call it."""

    def __init__(self, context: RunContext, bootstrap: str, client: str = KAFKA_ADMIN) -> None:
        self._context = context
        self._client = client
        self._bootstrap = bootstrap
        self._numbers = itertools.count(1)
        self._questions: dict[int, Question] = {}
        self._on_watch: Callable[[dict[str, Any]], None] = lambda _line: None
        self._process: Process | None = None
        self._starts = 0
        self._requests = -1
        # The request of the watch, which a client that was started anew gets, too.
        self._watch: dict[str, Any] | None = None
        # When the client that watched ended, until another one watches.
        self._ended_s: float | None = None
        # Faults, conditions, monitors and the drain ask from different threads.
        self._writing = threading.Lock()

    def start(self, on_watch: Callable[[dict[str, Any]], None]) -> None:
        """Start the admin client. ``on_watch`` is called with every line of its watch."""
        self._on_watch = on_watch
        self._spawn()

    def _spawn(self) -> None:
        host = self._context.plan.network.observer
        if host is None:
            raise Defect("the plan has no observer host")
        self._starts += 1
        stdin, requests = os.pipe()
        before, self._requests = self._requests, requests
        if before >= 0:  # of a client that has ended
            os.close(before)
        log = self._context.folder.log_path(host.name, "admin")
        argv = own_python("-m", self._client, "--bootstrap", self._bootstrap)
        try:
            self._process = self._context.spawn(
                host.name, argv, name="admin", log=log, stdin=stdin, on_line=json_lines(self._on_answer)
            )
        finally:
            os.close(stdin)
        self._process.when_ended(self._on_end)

    def ask(self, operation: str, **request: Any) -> Question:
        """Send a request. The returned question gets the answer."""
        number, question = next(self._numbers), Question(operation)
        self._questions[number] = question
        if operation == WATCH:
            self._watch = request
        if not self._send(_as_line(number, operation, request)):
            question.came({"error": "the observer's admin client has ended"})
        return question

    def _send(self, line: bytes) -> bool:
        """Write one request. Returns False when no client reads it."""
        with self._writing:
            if self._requests < 0 or self._process is None:
                return False
            try:
                if self._process.poll() is not None:
                    if self._starts >= MOST_STARTS:
                        return False
                    self._start_again()
                while line:
                    line = line[os.write(self._requests, line) :]
            except (OSError, S2gError):
                return False
        return True

    def _start_again(self) -> None:
        """Start another client in place of one that has ended, and let it watch."""
        self._spawn()
        if self._watch is not None:
            os.write(self._requests, _as_line(next(self._numbers), WATCH, self._watch))

    def query(self, operation: str, timeout_s: float = 10.0, **request: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        return self.ask(operation, timeout_s=timeout_s, **request).result(timeout_s + SPARE_S)

    def close(self) -> None:
        """Close the pipe of requests, which ends the client."""
        with self._writing:
            if self._requests >= 0:
                os.close(self._requests)
                self._requests = -1

    def _on_answer(self, answer: dict[str, Any]) -> None:
        if "id" in answer:
            question = self._questions.pop(answer["id"], None)
            if question is not None:
                question.came(answer)
            return
        if self._ended_s is not None:
            silent_s, self._ended_s = time.monotonic() - self._ended_s, None
            self._context.tell("monitor-works-again", monitor=LEADERSHIP, silent_s=round(silent_s, 3))
        self._on_watch(answer)

    def _on_end(self, process: Process) -> None:
        if self._requests >= 0:  # nobody asked it to end
            reason = f"the observer's admin client has ended ({process.poll()})"
            self._context.tell("monitor-failed", monitor=LEADERSHIP, reason=reason)
            self._ended_s = time.monotonic()
        for question in list(self._questions.values()):
            question.came({"error": f"the observer's admin client has ended ({process.poll()})"})


def _as_line(number: int, operation: str, request: dict[str, Any]) -> bytes:
    return (json.dumps({"id": number, "op": operation, **request}) + "\n").encode()
