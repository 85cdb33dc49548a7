"""The reference of the documentation site, written from the models themselves: keys, kinds, metrics and commands.

Each function returns one page in Markdown. Nothing here knows a key or a name by heart, so the reference has whatever
the code has.
"""

from __future__ import annotations

import argparse
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from stream2gym.cli.main import COMMANDS, make_parser
from stream2gym.kinds.metrics import BUILT_IN
from stream2gym.kinds.registry import Kind, registry
from stream2gym.spec.model import Experiment
from stream2gym.spec.model.topology_generators import GENERATORS
from stream2gym.sweeps.sweep_file import SweepFile
from stream2gym.units import Bandwidth, ByteRate, Duration, Rate, Share, Size

Schema = Mapping[str, Any]
QUANTITIES = (Bandwidth, ByteRate, Duration, Rate, Share, Size)
FAMILIES = {"engine": "Engines", "store": "Stores", "fault": "Faults", "monitor": "Monitors"}
_MANUAL = {"engine": "engines.md", "store": "stores.md", "fault": "faults.md", "monitor": "running.md"}
# As many letters fit beside the lists of contents.
_USAGE = 84
_FIELD = re.compile(r"(\w+): ")
# What a unit says about itself: its example says more.
_BARE = ("", *(f"{article} {unit.NOUN}" for unit in QUANTITIES for article in ("a", "an")))
_SHORT = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": ""}


def make_pages() -> dict[str, str]:
    """Every page of the reference, by the name of its file."""
    makers: dict[str, Callable[[], str]] = {
        "keys.md": write_keys,
        "kinds.md": write_kinds,
        "metrics.md": write_metrics,
        "commands.md": write_commands,
    }
    return {name: make() for name, make in makers.items()}


# ---- keys


def write_keys() -> str:
    """Every key of an experiment and of a sweep file."""
    parts = [
        "# Every key",
        "Written from the models that read an experiment. [The experiment format](../experiment.md) explains how the "
        "keys work together; `s2g schema` prints the same as a JSON Schema for editors.",
        "## The experiment",
        *_write_model(Experiment),
        "## Generated topologies",
        "`topology: {kind: star, hosts: 20, latency: 5 ms}` instead of hosts, switches and links:",
    ]
    for name, model in GENERATORS.items():
        parts += [f"### Topology {name}", *_write_own_keys(model)]
    parts += ["## A sweep file", *_write_model(SweepFile)]
    return "\n\n".join(parts) + "\n"


def _write_model(model: type[BaseModel]) -> Iterator[str]:
    """The keys of a model, and then those of the models in it, each once."""
    schema = model.model_json_schema(by_alias=True)
    yield _key_table(schema)
    for name, part in schema.get("$defs", {}).items():
        found = _object_in(part)
        if found is None or any(name == generator.__name__ for generator in GENERATORS.values()):
            continue
        yield f"### {name}"
        if found.get("description"):
            yield _plain(found["description"])
        yield _key_table(found)


def _write_own_keys(model: type[BaseModel]) -> Iterator[str]:
    schema = model.model_json_schema(by_alias=True)
    if schema.get("properties"):
        yield _key_table(schema, _find_comments(model), "keys.md")
    else:
        yield "No keys."


def _object_in(schema: Schema) -> Schema | None:
    """The object among the forms that a value may have; None if it is never one."""
    if "properties" in schema:
        return schema
    for option in schema.get("anyOf", ()):
        if "properties" in option:
            return dict(option)
    return None


def _find_comments(model: type[BaseModel]) -> dict[str, str]:
    """The comments above the fields of a model and of its bases, by field. They explain the settings of kinds."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not issubclass(base, BaseModel) or base is BaseModel:
            continue
        comment: list[str] = []
        for line in inspect.getsource(base).splitlines():
            text = line.strip()
            field = _FIELD.match(text)
            if text.startswith("#"):
                comment.append(text.lstrip("# "))
                continue
            if field and comment:
                found[field[1].rstrip("_")] = " ".join(comment)
            comment = []
    return found


def _key_table(schema: Schema, comments: Mapping[str, str] | None = None, page: str = "") -> str:
    """The keys of an object as a table. ``page`` is the one that has the keys of other models."""
    rows = []
    required = schema.get("required", ())
    for key, value in schema.get("properties", {}).items():
        default = "required" if key in required else _show_default(value)
        said = str(value.get("description", ""))
        meaning = _plain((comments or {}).get(key, "") if said in _BARE else said)
        rows.append((f"`{key}`", _cell(_show_type(value, page)), default, _cell(meaning)))
    head = ("key", "value", "default", "meaning")
    columns = [at for at in range(len(head)) if at < 2 or any(row[at] for row in rows)]
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line[at] for at in columns) + " |" for line in lines)


def _show_type(value: Schema, page: str = "") -> str:
    """What may stand at a key, in words; models are links to their keys."""
    if "$ref" in value:
        name = str(value["$ref"]).rpartition("/")[2]
        return f"[{name}]({page}#{name.lower()})"
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return ", ".join(f"`{one}`" for one in value["enum"])
    if "anyOf" in value or "oneOf" in value:
        options = [_show_type(one, page) for one in value.get("anyOf") or value.get("oneOf") or ()]
        shown = list(dict.fromkeys(one for one in options if one))
        if "text" in shown:  # a number is taken as a text, too
            shown = [one for one in shown if one not in ("number", "whole number")]
        return " or ".join(shown)
    if value.get("examples"):
        return f"like `{value['examples'][0]}`"
    kind = value.get("type")
    if kind == "array":
        items = _show_type(value.get("items", {}), page)
        return f"list of {items}" if items else "list"
    if kind == "object":
        return "keys and values"
    if isinstance(kind, list):
        return " or ".join(dict.fromkeys(str(_SHORT.get(one, one)) for one in kind if one != "null"))
    return _SHORT.get(str(kind), "anything" if kind is None else str(kind))


def _show_default(value: Schema) -> str:
    default = value.get("default")
    if default in (None, "", [], {}):
        return ""
    return f"`{_cell(str(default).lower() if isinstance(default, bool) else str(default))}`"


# ---- kinds


def write_kinds() -> str:
    """Every kind of engine, store, fault and monitor, with its settings."""
    parts = [
        "# Every kind",
        "What an experiment may name as an engine, a store or a fault, and what samples a run. "
        "A plug-in adds further kinds ([how](../extend.md)).",
    ]
    for family, title in FAMILIES.items():
        known = registry(family)
        parts.append(f"## {title}")
        if family in _MANUAL:
            parts.append(f"[{title} in the manual](../{_MANUAL[family]}) has what they do, with examples.")
        if family == "monitor":
            parts.append(_monitor_table([known.kinds[name] for name in known.names()]))
            continue
        for name in known.names():
            parts += [f"### {name}", *_write_kind(known.kinds[name])]
    return "\n\n".join(parts) + "\n"


def _write_kind(kind: Kind) -> Iterator[str]:
    explained = kind.settings.model_json_schema().get("description", "") if kind.settings.model_fields else ""
    later = "" if kind.runnable else " This version reads and checks it, and does not run it."
    yield (_plain(explained) if explained else _sentence(kind.summary)) + later
    facts = []
    if kind.also:
        facts.append(f"also written: {', '.join(f'`{one}`' for one in kind.also)}")
    if kind.targets:
        facts.append(f"acts on: {', '.join(sorted(kind.targets))}")
    if kind.momentary:
        facts.append("ends by itself")
    if kind.capabilities:
        facts.append(f"can suffer: {', '.join(sorted(kind.capabilities))}")
    if kind.port:
        facts.append(f"listens on port {kind.port}")
    if facts:
        yield "\n".join(f"- {fact}" for fact in facts)
    yield from _write_own_keys(kind.settings)


def _monitor_table(kinds: Iterable[Kind]) -> str:
    rows = ["| name | what it samples | looks every | may be changed |", "|---|---|---|---|"]
    rows += [
        f"| `{kind.name}` | {_cell(kind.summary)} | {kind.every_s:g} s | {'yes' if kind.adjustable else 'no'} |"
        for kind in kinds
    ]
    return "\n".join(rows)


# ---- metrics


def write_metrics() -> str:
    """Every metric that an expectation may name."""
    rows = ["| metric | what it is | unit | about | statistics | filters |", "|---|---|---|---|---|---|"]
    for metric in BUILT_IN:
        stats = "–" if metric.stats == ("total",) else " ".join(f"`{one}`" for one in metric.stats)
        filters = " ".join(f"`{one}`" for one in metric.filters) or "–"
        rows.append(
            f"| `{metric.name}` | {_cell(metric.noun)} | {metric.unit.NOUN} | {metric.about} | {stats} | {filters} |"
        )
    return (
        "\n\n".join(
            [
                "# Every metric",
                "What an expectation may name: `METRIC[.STATISTIC][(FILTER=VALUE, ...)] OPERATOR QUANTITY`, such as "
                "`latency.p99(consumer=see) < 2 s`. [Metrics and expectations](../metrics.md) explains what each "
                "rests on, and when it is unknown.",
                "\n".join(rows),
            ]
        )
        + "\n"
    )


# ---- commands


def write_commands() -> str:
    """Every command with its arguments, as its own ``--help`` has them."""
    parts = ["# Every command", "`s2g COMMAND --help` shows the same. In a clone, write `./s2g`."]
    for name, summary in COMMANDS.items():
        _, parser = make_parser(name)
        assert parser is not None, f"{name} has a parser"
        parts += [f"## {name}", _sentence(summary), *_write_command(parser)]
    return "\n\n".join(parts) + "\n"


def _write_command(parser: argparse.ArgumentParser) -> Iterator[str]:
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    wrapped = textwrap.fill(usage, _USAGE, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    yield f"```text\n{wrapped}\n```"
    rows = []
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        words = ", ".join(f"`{word}`" for word in action.option_strings) or f"`{action.metavar or action.dest}`"
        if action.option_strings and action.nargs != 0:
            words += f" `{action.metavar or action.dest.upper()}`"
        choices = f" ({', '.join(map(str, action.choices))})" if action.choices else ""
        rows.append(f"| {_cell(words)} | {_cell((action.help or '') + choices)} |")
    if rows:
        yield "\n".join(["| argument | meaning |", "|---|---|", *rows])
    examples = parser.epilog or ""
    if examples.startswith("examples:"):
        lines = [line.removeprefix("  ") for line in examples.splitlines()[1:] if line.strip()]
        yield "```text\n" + "\n".join(lines) + "\n```"


# ---- text


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _plain(text: str) -> str:
    """The text of a docstring as Markdown: one line, code in single quotes of code."""
    return " ".join(text.split()).replace("``", "`")


def _cell(text: str) -> str:
    """The text inside a table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
