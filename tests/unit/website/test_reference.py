"""The reference has everything that the models have: every key, kind, setting, metric, command and option."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator

import pytest
import yaml
from pydantic import BaseModel

from stream2gym.cli.main import COMMANDS, make_parser
from stream2gym.kinds.metrics import BUILT_IN
from stream2gym.kinds.registry import registry
from stream2gym.spec.model import Experiment
from stream2gym.spec.model.topology_generators import GENERATORS
from stream2gym.sweeps.sweep_file import SweepFile
from tests.support.manual import DOCS, ROOT
from website.reference import FAMILIES, make_pages

PAGES = make_pages()


def models_in(model: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[type[BaseModel]]:
    """The model and all models in its fields, however deep."""
    if model in seen:
        return
    seen.add(model)
    yield model
    for field in model.model_fields.values():
        waiting = [field.annotation]
        while waiting:
            one = waiting.pop()
            waiting += typing.get_args(one)
            if isinstance(one, type) and issubclass(one, BaseModel):
                yield from models_in(one, seen)


EVERY_MODEL = [*models_in(Experiment, set()), *models_in(SweepFile, set()), *GENERATORS.values()]


@pytest.mark.parametrize("model", EVERY_MODEL, ids=lambda model: model.__name__)
def test_every_key_of_every_model_is_there(model: type[BaseModel]) -> None:
    rows = set(re.findall(r"^\| `([^`]+)` \|", PAGES["keys.md"], re.MULTILINE))
    keys = {field.alias or name for name, field in model.model_fields.items()}
    assert keys <= rows, keys - rows


def test_every_key_says_what_it_means() -> None:
    empty = [line for line in PAGES["keys.md"].splitlines() if line.startswith("| `") and line.endswith("|  |")]
    assert empty == []


@pytest.mark.parametrize("family", FAMILIES)
def test_every_kind_and_each_of_its_settings_is_there(family: str) -> None:
    known = registry(family)
    for name in known.names():
        kind = known.kinds[name]
        if family == "monitor":
            assert f"| `{name}` |" in PAGES["kinds.md"]
            continue
        section = PAGES["kinds.md"].split(f"\n### {name}\n")[1].split("\n### ")[0]
        for key, field in kind.settings.model_fields.items():
            assert f"| `{field.alias or key}` |" in section, (name, key)


def test_every_metric_is_there_with_its_filters() -> None:
    for metric in BUILT_IN:
        [row] = [line for line in PAGES["metrics.md"].splitlines() if line.startswith(f"| `{metric.name}` |")]
        assert all(f"`{one}`" in row for one in metric.filters)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_there_with_its_options(command: str) -> None:
    section = PAGES["commands.md"].split(f"\n## {command}\n")[1].split("\n## ")[0]
    _, parser = make_parser(command)
    assert parser is not None
    for action in parser._actions:
        for word in action.option_strings:
            assert word in ("-h", "--help") or f"`{word}`" in section, (command, word)


def test_the_site_lists_every_page_once() -> None:
    text = re.sub(r"!!python\S*", "", (ROOT / "website" / "mkdocs.yml").read_text("utf-8"))
    settings = yaml.safe_load(text)
    listed = []
    for [(_, pages)] in (section.items() for section in settings["nav"]):
        listed += [page if isinstance(page, str) else next(iter(page.values())) for page in pages]
    own = {page.name for page in DOCS.glob("*.md")} | {f"reference/{name}" for name in PAGES}
    assert sorted(listed) == sorted(own)
    assert settings["theme"]["font"] is False
