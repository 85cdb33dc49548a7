"""Answers the requests of the observer: JSON objects, one on each line of standard input, answered on the output."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

Answer = dict[str, Any]
# Lines of several threads must not mix.
_SPEAKING = threading.Lock()


def say(answer: Answer) -> None:
    """Write a line. Any thread may call this."""
    with _SPEAKING:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def answer_requests(admin: object, describe_error: Callable[[BaseException], str]) -> NoReturn:
    """Answer every request in a thread of its own, until the input ends. Public methods are ops."""
    for line in sys.stdin:
        request = json.loads(line)
        threading.Thread(target=_answer, args=(admin, request, describe_error), daemon=True).start()
    os._exit(0)  # threads may still wait for brokers that are gone


def _answer(admin: object, request: Answer, describe_error: Callable[[BaseException], str]) -> None:
    name = str(request["op"])
    operation = None if name.startswith("_") else getattr(admin, name, None)
    if operation is None:
        say({"id": request["id"], "error": f"no such request: {name}"})
        return
    try:
        say({"id": request["id"], "ok": operation(request)})
    except Exception as error:
        say({"id": request["id"], "error": describe_error(error)})
