"""The command lines and environments of the user's programs. Pure.

The published convention: a CUSTOM program gets the name of its host and its instance number; with RabbitMQ only the
name of its host. A program in place of a built-in client gets the arguments of the client that it replaces. The
arguments that the experiment gives follow.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from stream2gym.errors import CannotHere
from stream2gym.instrument.settings import RECORDER_PATH, VARIABLE, Settings
from stream2gym.software.python_extras import EXTRAS, missing_modules
from stream2gym.spec.model import Consumer, Engine, Experiment, Producer

# Defaults of the published programs.
REQUEST_TIMEOUT_MS = 30_000
BUFFER_BYTES = 33_554_432
BATCH_BYTES = 16_384
FETCH_WAIT_MS = 500
SESSION_TIMEOUT_MS = 10_000


def program_command(part: Producer | Consumer, base: Path) -> list[str]:
    """The interpreter and the program; the program alone if it is no Python file and no interpreter is given."""
    app = base / str(part.app)
    if part.python is not None:
        return [resolve_python(part.python, base), str(app)]
    return [sys.executable, str(app)] if app.suffix == ".py" else [str(app)]


def resolve_python(python: str, base: Path) -> str:
    """An interpreter: a path is resolved against the experiment's folder; a name stays, for a lookup on the PATH."""
    return str(base / python) if "/" in python else python


def missing_modules_of(experiment: Experiment, base: Path) -> list[CannotHere]:
    """An error that lists modules which programs import, which are not installed, and which an extra installs."""
    missing: dict[str, list[str]] = {}
    for kind, part in experiment.components():
        app = getattr(part, "app", None)
        own_python = getattr(part, "python", None) or getattr(part, "settings", {}).get("python")
        # PyFlink programs run in an environment of their own.
        is_flink = isinstance(part, Engine) and part.type.lower().startswith("flink")
        if app is not None and app.endswith(".py") and own_python is None and not is_flink:
            for module in missing_modules(base / app):
                missing.setdefault(module, []).append(f"{kind} {part.name} ({app})")
    if not missing:
        return []
    what = [f"{', '.join(users)} imports {module}, which is not installed" for module, users in missing.items()]
    extras = ",".join(sorted({EXTRAS[module] for module in missing}))
    return [CannotHere("\n".join(what), f"pip install 'stream2gym[{extras}]'")]


def custom_arguments(part: Producer | Consumer, host: str, instance: int, experiment: Experiment) -> list[str]:
    """The arguments of a CUSTOM program: the name of its host and, with Kafka, the number of its instance."""
    return [host, *([] if experiment.uses_rabbitmq else [str(instance)]), *part.args]


def producer_arguments(part: Producer, host: str, instance: int, topics: int, via: str) -> list[str]:
    """The arguments of a program in place of a producer; ``via`` is the number of the host of its broker."""
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
    """The arguments of a program in place of a consumer; ``via`` is the number of the host of its broker."""
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
    """The ``S2G_*`` variables of a program, and the variables that the experiment sets."""
    own: Mapping[str, str] = {
        "S2G_COMPONENT": str(part.name),
        "S2G_INSTANCE": str(instance),
        "S2G_BOOTSTRAP": bootstrap,
        "S2G_TOPICS": ",".join(topics),
        "S2G_RUN": str(run),
        "PYTHONUNBUFFERED": "1",
    }
    return {**own, **more, **part.env}


def can_be_observed(part: Producer | Consumer | Engine) -> bool:
    """Whether a program can be put on record: from its packets, or by the recorder inside."""
    is_on_wire = part.app is not None and part.observe == "wire"
    return is_on_wire or (not isinstance(part, Engine) and gets_recorder(part))


def gets_recorder(part: Producer | Consumer) -> bool:
    """Whether the recorder is put into a program: it runs in Python, and the experiment says nothing else."""
    is_python = part.app is not None and (part.app.endswith(".py") or part.python is not None)
    return is_python and part.observe is True


def recorder_environment(
    settings: Settings, environment: Mapping[str, str], inherited: Mapping[str, str]
) -> dict[str, str]:
    """The environment of a program with what brings the recorder into its interpreter.

    ``inherited`` is what the program gets besides: a PYTHONPATH in it would be replaced otherwise.
    """
    paths = [str(RECORDER_PATH), environment.get("PYTHONPATH", inherited.get("PYTHONPATH", ""))]
    return {
        **environment,
        VARIABLE: settings.to_text(),
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
