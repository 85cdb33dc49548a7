"""Why a component died: the error that its log names, its remedy, and the end of the log."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from stream2gym.components.run_context import end_of_log
from stream2gym.software.python_extras import install_hint

_PYTHON_ERROR = re.compile(r"\w+(Error|Exception|Interrupt)\b(:|$)")
_ANY_ERROR = re.compile(r"[\w.$]+(Error|Exception|Interrupt)\b(:|$)")
# The class of an exception may have any name.
_QUALIFIED_NAME = re.compile(r"[a-z][\w$]*(\.[\w$]+)+: ")
_FRAME = "at "
_NO_ERROR = re.compile(r"\b(DEBUG|INFO|NOTE|Note|WARN|WARNING|Warning)\b")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
SEARCHED_LINES = 60
LONGEST_CAUSE = 500


def first_cause(trace: str) -> str:
    """The innermost cause of a Java stack trace, or its Python error, in one line."""
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    python = [line for line in lines if _PYTHON_ERROR.match(line)]
    errors = [line for line in lines if _ANY_ERROR.match(line)]
    named = [line for line in lines if _QUALIFIED_NAME.match(line)]
    last = [line for line in lines[-1:] if not (_NO_ERROR.search(line) or line.startswith(_FRAME))]
    chosen = (python or causes or errors or named or last or [""])[-1]
    return chosen[:LONGEST_CAUSE]


def with_remedy(cause: str) -> str:
    """The cause, with what to install if it is a missing module that an extra of ours installs."""
    missing = _NO_MODULE.search(cause)
    hint = install_hint(missing[1].partition(".")[0]) if missing else ""
    return f"{cause} ({hint})" if hint else cause


def cause_in(log: Path) -> str:
    """The last error that a log names."""
    return with_remedy(first_cause(end_of_log(log, SEARCHED_LINES)))


def death(log: Path, cause: str = "") -> dict[str, Any]:
    """The details of a ``died`` event about the cause: the cause, the name of the log and its end."""
    return {
        "cause": cause or cause_in(log) or "its log names no error",
        "log": log.name,
        "end_of_log": end_of_log(log),
    }
