"""Checks of Flink jobs and clusters: programs, statements of SQL, slots, checkpoints to begin from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from stream2gym.kinds.kind import Kind
from stream2gym.spec.checks.experiment_index import ExperimentIndex
from stream2gym.spec.findings import DataPath, Finding
from stream2gym.spec.model.components import Engine
from stream2gym.spec.readers.user_files import exists
from stream2gym.spec.sql_statements import SqlMistake, Statement, split_statements

FLINK_JOBS = ("flink", "flink-jobmanager")
_JOB_MANAGER, _TASK_MANAGER = "flink-jobmanager", "flink-taskmanager"
_SUFFIXES = (".sql", ".java", ".jar", ".py")
_PARALLELISM = re.compile(r"SET\s+'?parallelism\.default'?\s*=\s*'?(\d+)'?", re.I)


def check_flink(index: ExperimentIndex, kind: Kind, engine: Engine, path: DataPath) -> Iterator[Finding]:
    """Check an engine of a kind of Flink; nothing for other kinds."""
    if kind.name in FLINK_JOBS:
        statements: list[Statement] = []
        yield from _check_program(index, kind, engine, path, statements)
        yield from _check_restore(index, engine, path)
        yield from _check_slots(index, kind, engine, path, statements)
    if kind.name == _TASK_MANAGER:
        managers = [str(one.name) for one in index.experiment.engines if one.type.lower() == _JOB_MANAGER]
        name = engine.settings.get("jobmanager")
        if isinstance(name, str):
            yield from index.unknown((*path, "settings", "jobmanager"), _JOB_MANAGER, name, managers)


def _check_program(
    index: ExperimentIndex, kind: Kind, engine: Engine, path: DataPath, statements: list[Statement]
) -> Iterator[Finding]:
    """Check the program. Its statements are put into ``statements`` if it is a file of SQL."""
    if engine.app is None:
        return
    suffix = Path(engine.app).suffix.lower()
    where = (*path, "app")
    if suffix not in _SUFFIXES:
        yield Finding(where, f"{engine.app} is no program of Flink", f"a file that ends with {', '.join(_SUFFIXES)}")
    if engine.settings.get("main") is not None and suffix in (".sql", ".py"):
        yield Finding((*path, "settings", "main"), f"{engine.app} has no class to start", "leave it out")
    if suffix == ".py":
        if kind.name == _JOB_MANAGER:
            # Flink's driver of PyFlink programs fails in application mode.
            what = f"{engine.app} is a PyFlink program, which runs in a mini-cluster alone"
            yield Finding(where, what, "type: flink, or a program in SQL or Java")
        yield from _check_python(index, engine, path)
    elif engine.settings.get("python") is not None:
        yield Finding((*path, "settings", "python"), f"{engine.app} is no PyFlink program", "leave it out")
    if suffix == ".sql" and exists(index.base / engine.app):
        try:
            text = (index.base / engine.app).read_text("utf-8")
            statements += split_statements(text)
            yield from _check_statements(engine.app, statements, where)
        except SqlMistake as mistake:
            yield Finding(where, f"{engine.app}, line {mistake.line}: {mistake.what}", mistake.hint)
        except (OSError, UnicodeDecodeError) as error:
            yield Finding(where, f"{engine.app} cannot be read: {error}")


def _check_python(index: ExperimentIndex, engine: Engine, path: DataPath) -> Iterator[Finding]:
    """Check that the interpreter of a PyFlink program is there, if one is named."""
    python = engine.settings.get("python")
    if isinstance(python, str) and engine.app is not None:
        where = (*path, "settings")
        yield from (found for found in index.program(where, engine.app, python) if found.path[-1] == "python")


def _check_statements(app: str, statements: list[Statement], where: DataPath) -> Iterator[Finding]:
    for statement in statements:
        if statement.verb in ("SELECT", "WITH", "VALUES"):
            what = f"{app}, line {statement.line}: nobody would see the rows of a {statement.verb}"
            yield Finding(where, what, "INSERT INTO a table of a topic")
    if not any(statement.verb == "INSERT" for statement in statements):
        yield Finding(
            where, f"{app} has no INSERT statement, so that there would be no job", "INSERT INTO ... SELECT"
        )


def _check_restore(index: ExperimentIndex, engine: Engine, path: DataPath) -> Iterator[Finding]:
    restore = engine.settings.get("restore")
    if isinstance(restore, str) and not exists(index.base / restore / "_metadata"):
        what = f"{restore} is no checkpoint of Flink: it has no file _metadata"
        yield Finding((*path, "settings", "restore"), what, "such as runs/NAME/work/JOB/checkpoints/ID/chk-12")


def _check_slots(
    index: ExperimentIndex, kind: Kind, engine: Engine, path: DataPath, statements: list[Statement]
) -> Iterator[Finding]:
    """Check that there are as many slots as the job asks for. Flink would wait for them for minutes."""
    is_cluster = kind.name == _JOB_MANAGER
    try:
        wanted = int(engine.checked_settings.parallelism)
        own = (
            [wanted]
            if not is_cluster
            else [
                one.checked_settings.slots
                for one in index.experiment.engines
                if one.type.lower() == _TASK_MANAGER and one.settings.get("jobmanager") == str(engine.name)
            ]
        )
    except ValidationError:
        return
    if index.lost("engines"):
        return
    if not own:
        yield Finding(path, "no task manager belongs to it", f"type: {_TASK_MANAGER}, jobmanager: {engine.name}")
        return
    asked = f"parallelism {wanted}"
    for statement in statements:
        if found := _PARALLELISM.match(statement.text):
            wanted, asked = int(found[1]), f"parallelism {found[1]} (line {statement.line} of {engine.app})"
    if wanted > sum(own):
        has = "its task managers have" if is_cluster else "its mini-cluster has"
        hint = "more 'slots', or more task managers" if is_cluster else f"parallelism: {wanted}"
        yield Finding((*path, "settings", "parallelism"), f"{asked} needs {wanted} slots, and {has} {sum(own)}", hint)
