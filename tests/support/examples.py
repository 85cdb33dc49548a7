"""The bundled examples in tests: copied, broken on purpose, run; and their checks fed with data made by hand.

run = run_copy("word-count", tmp_path, {"rank.py": {'total("count")': '(total("count") + 1)'}})
assert verdict_of(run).mismatches > 0

said = feed_check("word-count", tmp_path, topics={"files": [...], "top": [...]})
assert said.mismatches == 0
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream2gym.components.status_lines import parse_status_line
from tests.support.play import Played, play

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Changes = Mapping[str, Mapping[str, str]]  # file: {old text: new text}


@dataclass(frozen=True)
class Checked:
    """What a check said; no mismatches at all (None) means that it could not tell."""

    mismatches: int | None
    compared: int
    output: str = ""


def copy_example(name: str, folder: Path, changes: Changes | None = None) -> Path:
    """A copy of the example in ``folder/NAME`` with every old text, which must be there, replaced."""
    copy = folder / name
    shutil.copytree(EXAMPLES / name, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for file, replacements in (changes or {}).items():
        path = copy / file
        text = path.read_text("utf-8")
        for old, new in replacements.items():
            assert old in text, f"{name}/{file} has no {old!r} to replace"
            text = text.replace(old, new)
        path.write_text(text, "utf-8")
    return copy


def run_copy(name: str, folder: Path, changes: Changes | None = None, experiment: str = "experiment.yaml") -> Played:
    """Run a copy of the example for real; the record is in ``folder/run``."""
    return play(copy_example(name, folder, changes) / experiment, folder)


def verdict_of(run: Played, check: str | None = None) -> Checked:
    """What the check (the only one, unless named) of a run that is over said."""
    failed = run.events("check-failed", **({} if check is None else {"check": check}))
    assert not failed, failed
    (said,) = run.events("checked", **({} if check is None else {"check": check}))
    return Checked(said["mismatches"], said["compared"])


def feed_check(
    name: str,
    folder: Path,
    *,
    topics: Mapping[str, Sequence[Any]] | None = None,
    tables: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    app: str = "check.py",
    args: Sequence[str] = (),
) -> Checked:
    """Run the example's check over data made by hand, without any run.

    A message is its value (an object is written as JSON), or ``{"message": {...}}`` with ``value`` and any of
    ``time_ms``, ``key``, ``partition``. Tables are named ``STORE.TABLE``.
    """
    dump = folder / "dump"
    for kind in ("topics", "tables"):
        shutil.rmtree(dump / kind, ignore_errors=True)
        (dump / kind).mkdir(parents=True)
    for topic, messages in (topics or {}).items():
        rows = [_message(offset, message) for offset, message in enumerate(messages)]
        _write(dump / "topics" / f"{topic}.jsonl", rows)
    for table, contents in (tables or {}).items():
        _write(dump / "tables" / f"{table}.jsonl", contents)
    environment = os.environ | {"S2G_RUN": str(folder), "S2G_DUMP": str(dump), "S2G_SEED": "1"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name / app), *args],
        env=environment, cwd=EXAMPLES / name, capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    said: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        said |= parse_status_line(line) or {}
    return Checked(said.get("mismatches"), said.get("compared", 0), done.stdout.decode())


def _message(offset: int, message: Any) -> dict[str, Any]:
    row = {"partition": 0, "offset": offset, "time_ms": offset, "key": None}
    if isinstance(message, Mapping) and set(message) == {"message"}:
        return row | dict(message["message"])
    return row | {"value": message if isinstance(message, str) else json.dumps(message)}


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
