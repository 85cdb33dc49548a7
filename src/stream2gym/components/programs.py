"""Programs of the user's own: how they are called, what they find in their environment. Pure.

The published calling convention: a CUSTOM program gets the host's name and its instance number, a program in
place of a built-in client the arguments of the one it replaces. Arguments of the experiment's own follow.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from stream2gym.errors import CannotHere, Mistake
from stream2gym.software.extras import EXTRAS, missing_modules
from stream2gym.spec.model import Consumer, Experiment, Producer

REQUEST_TIMEOUT_MS, BUFFER_BYTES, BATCH_BYTES = 30_000, 33_554_432, 16_384
FETCH_WAIT_MS, SESSION_TIMEOUT_MS = 500, 10_000


def program_command(part: Producer | Consumer, base: Path) -> list[str]:
    """The interpreter and the program, or the program alone where it runs by itself."""
    app = base / str(part.app)
    if part.python is not None:
        return [found_python(part.python, base), str(app)]
    return [sys.executable, str(app)] if app.suffix == ".py" else [str(app)]


def found_python(python: str, base: Path) -> str:
    """A name is looked up on the PATH, a path stands against the experiment's folder."""
    return str(base / python) if "/" in python else python


def check_programs(experiment: Experiment, base: Path) -> list[Mistake]:
    """Programs that are missing or that nothing would run."""
    mistakes = []
    for kind, part in experiment.components():
        if not isinstance(part, Producer | Consumer):
            continue
        where = f"{kind} {part.name}"
        if part.app is None:
            if part.type == "CUSTOM":
                mistakes.append(Mistake(where, "a CUSTOM program needs its 'app'"))
            continue
        app = base / part.app
        if not app.is_file():
            mistakes.append(Mistake(where, f"its program {part.app} does not exist"))
        elif part.python is None and app.suffix != ".py" and not os.access(app, os.X_OK):
            hint = f"chmod +x {part.app}, or name its interpreter under 'python'"
            mistakes.append(Mistake(where, f"its program {part.app} is not executable", hint))
        if part.python is not None and "/" in part.python:
            python = base / part.python
            if not (python.is_file() and os.access(python, os.X_OK)):
                mistakes.append(Mistake(where, f"its Python {part.python} is no program that can be run"))
    return mistakes


def check_modules(experiment: Experiment, base: Path) -> None:
    """Refuse programs that import, as they start, what an extra of ours would bring and nobody installed."""
    missing: dict[str, list[str]] = {}
    for kind, part in experiment.components():
        app = getattr(part, "app", None)
        own_python = getattr(part, "python", None) or getattr(part, "settings", {}).get("python")
        if app is not None and app.endswith(".py") and own_python is None:
            for module in missing_modules(base / app):
                missing.setdefault(module, []).append(f"{kind} {part.name} ({app})")
    if missing:
        what = [
            f"{', '.join(users)} imports {module}, which is not installed"
            for module, users in missing.items()
        ]
        extras = ",".join(sorted({EXTRAS[module] for module in missing}))
        raise CannotHere("\n".join(what), f"pip install 'stream2gym[{extras}]'")


def producer_arguments(part: Producer, host: str, instance: int, topics: int, via: str) -> list[str]:
    """What a program finds in argv[1..]; ``via`` is the number of the host whose broker was asked."""
    if part.type == "CUSTOM":
        return [host, str(instance), *part.args]
    names = part.topic_names()
    stock = [
        host,
        instance,
        (part.passes if part.type == "ELTT" else part.messages) or 0,
        None if part.rate is None else f"{float(part.rate):g}",
        topics,
        2 if part.acks == "all" else part.acks,
        None if part.compression == "none" else part.compression,
        BATCH_BYTES if part.batch is None else int(part.batch),
        0 if part.linger is None else round(part.linger.in_ms),
        REQUEST_TIMEOUT_MS if part.request_timeout is None else round(part.request_timeout.in_ms),
        BUFFER_BYTES if part.buffer is None else int(part.buffer),
        via,
        part.file,
        names[0] if names else None,
        part.type,
    ]
    return [*map(str, stock), *part.args]


def consumer_arguments(part: Consumer, host: str, instance: int, via: str) -> list[str]:
    if part.type == "CUSTOM":
        return [host, str(instance), *part.args]
    stock = [
        host,
        part.topics[0] if part.topics else part.pattern or "",
        via,
        instance,
        1 if part.fetch_min is None else int(part.fetch_min),
        FETCH_WAIT_MS if part.fetch_wait is None else round(part.fetch_wait.in_ms),
        SESSION_TIMEOUT_MS if part.session_timeout is None else round(part.session_timeout.in_ms),
    ]
    return [*map(str, stock), *part.args]


def program_environment(
    part: Producer | Consumer, instance: int, *, bootstrap: str, topics: Sequence[str], run: Path, **more: str
) -> dict[str, str]:
    """The S2G_* variables of a program, then the ones that the experiment sets."""
    own: Mapping[str, str] = {
        "S2G_COMPONENT": str(part.name),
        "S2G_INSTANCE": str(instance),
        "S2G_BOOTSTRAP": bootstrap,
        "S2G_TOPICS": ",".join(topics),
        "S2G_RUN": str(run),
        "PYTHONUNBUFFERED": "1",
    }
    return {**own, **more, **part.env}
