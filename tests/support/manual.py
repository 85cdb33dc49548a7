"""The pages of the documentation in tests: their snippets, and whether each is valid.

A snippet of YAML is a whole experiment, a sweep, or a part of either, which is completed before it is checked.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream2gym.cli.main import COMMANDS, make_parser, split_tail
from stream2gym.kinds.expectation_grammar import parse_expectation
from stream2gym.kinds.registry import registry
from stream2gym.spec.model import Experiment
from stream2gym.spec.readers.yaml_documents import read_documents
from stream2gym.sweeps.sweep_file import SweepFile

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# What ./s2g adds to the command in a clone.
OF_CLONE = ("test", "bench", "docs")
# Kinds of the package on the page about plug-ins, which a test of its own runs.
OF_PLUG_INS = {"hiccup"}
_FENCE = re.compile(r"^ *```(\w+)[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_SCENE: dict[str, Any] = {
    "topology": {
        "hosts": ["h1", "h2", "h3", "h4", "h5"],
        "switches": ["s1", "s2"],
        "links": [*(f"h{number} -- s1" for number in range(1, 6)), "s1 -- s2"],
    },
    "brokers": [{"on": "h1"}, {"on": "h2"}, {"on": "h3"}],
}
_SWEEP = {"sweep": 1, "name": "sweep", "experiment": "hello", "axes": {"time": ["1 s", "2 s"]}, "responses": ["lost"]}


@dataclass(frozen=True)
class Snippet:
    """A fenced block of a page."""

    page: str
    language: str
    number: int
    text: str

    @property
    def id(self) -> str:
        return f"{self.page}-{self.number}"


def read_snippets(*languages: str) -> list[Snippet]:
    """Every fenced block of these languages, of every page."""
    return [
        Snippet(page.stem, language, number, text)
        for page in sorted(DOCS.glob("*.md"))
        for number, (language, text) in enumerate(_FENCE.findall(page.read_text("utf-8")), 1)
        if language in languages
    ]


def check_yaml(text: str) -> str:
    """Validate a snippet. Returns what it was taken for; raises what is wrong with it."""
    documents, mistakes = read_documents(text, "snippet")
    assert not mistakes, mistakes
    data = documents[0].data
    if isinstance(data, list):
        if all(isinstance(one, str) for one in data):
            for one in data:
                parse_expectation(one)
            return "expectations"
        data = {"faults": data}
    assert isinstance(data, dict), "a snippet is a mapping or a list"
    keys = set(data)
    if keys <= set(SweepFile.known_keys()) and (
        keys & {"sweep", "axes", "zip", "responses", "published", "agreement", "figures"}
    ):
        SweepFile.model_validate(_SWEEP | data)
        return "sweep"
    if keys == {"scrape_configs"}:  # of Prometheus, which a test of its own reads
        return "prometheus"
    unknown = keys - set(Experiment.known_keys())
    assert not unknown, f"these are no keys of an experiment: {unknown}"
    experiment = Experiment.model_validate(_SCENE | data)
    for fault in experiment.faults:
        kind = registry("fault").find(fault.do)
        assert kind is not None or fault.do in OF_PLUG_INS, f"there is no fault {fault.do}"
        if kind is not None:
            kind.settings.model_validate(fault.settings)
    for expectation in data.get("expect") or ():
        parse_expectation(str(expectation))
    return "experiment"


def find_commands(text: str) -> list[list[str]]:
    """The calls of ``s2g`` in a snippet of shell, each as its words."""
    found = []
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0] in ("s2g", "./s2g"):
            stop = next((at for at, word in enumerate(words) if word in ("|", ">", "&&", "&")), len(words))
            found.append(words[1:stop])
    return found


def check_command(words: list[str]) -> None:
    """Parse a call of the command as the command itself does. SystemExit or AssertionError if it is wrong."""
    name = next((word for word in words if not word.startswith("-")), "")
    if name in OF_CLONE or not name:
        return
    assert name in COMMANDS, f"there is no command {name!r}"
    from importlib import import_module

    parser, _ = make_parser(name)
    own, _ = split_tail(words)
    arrange = getattr(import_module(f"stream2gym.cli.{name}"), "arrange", list)
    parser.parse_args([name, *arrange(own[1:])] if own[0] == name else own)
