"""The section about running the experiment again: the commands, the versions and the machine."""

from __future__ import annotations

import shlex
from typing import Any

from stream2gym.report.blocks import code, missing, pairs, paragraph, subtitle
from stream2gym.report.facts import Facts
from stream2gym.report.page import Section


def make_reproduction_section(facts: Facts) -> Section:
    info = facts.info
    parts = [paragraph("From a copy of this run folder, the experiment runs again as it was understood:")]
    parts.append(code(f"s2g run {shlex.quote(f'{facts.folder.name}/experiment.yaml')} --seed {info.get('seed', 0)}"))
    command = info.get("command")
    if command:
        parts += [paragraph("It was started with:"), code(_join_command(command))]
    for key, title in (("versions", "Versions"), ("machine", "Machine")):
        rows = flatten(info.get(key) or {})
        parts.append(subtitle(title))
        parts.append(pairs(rows) if rows else missing(f"The run did not write down its {title.lower()}."))
    return Section("again", "Run it again", tuple(parts))


def flatten(value: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as rows of name and text."""
    if not isinstance(value, dict):
        return [(prefix or "value", ", ".join(map(str, value)) if isinstance(value, list) else str(value))]
    return [row for key, inside in value.items() for row in flatten(inside, f"{prefix} {key}".strip())]


def _join_command(command: Any) -> str:
    return shlex.join(map(str, command)) if isinstance(command, list) else str(command)
