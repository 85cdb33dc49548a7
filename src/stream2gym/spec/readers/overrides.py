"""``--set key=value``: changes one value of an experiment, which a dotted path names.

Items of lists are called by name (``producers.gen.rate``) or index, links also by their ends in either order
(``topology.links.h1 -- s1.latency``). Names and properties may contain dots: the longest name that fits is taken, and
below ``config``, ``client`` and ``env`` the rest of the path is one key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream2gym.errors import BadInput, Mistake
from stream2gym.kinds.settings import Model
from stream2gym.spec.findings import DataPath, Origin, did_you_mean, item_name
from stream2gym.spec.model import topology_generators
from stream2gym.spec.model.default_names import component_stem, fill_names
from stream2gym.spec.model.experiment import GROUPS, Experiment
from stream2gym.spec.model.link_lines import link_from_text
from stream2gym.spec.readers.draft import Draft
from stream2gym.spec.readers.yaml_documents import read_value
from stream2gym.spec.validation_messages import model_at

_FREE = frozenset(("config", "client", "env", "settings", "paths"))
_SHORT_FORMS = {"hosts": "name", "switches": "name", "topics": "name"}


class NoSuchPath(ValueError):
    """The path names nothing. ``hint`` says what would be right."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.hint = hint


def apply_overrides(draft: Draft, overrides: Mapping[str, Any]) -> None:
    """Change the data of the draft in place. Text is read as YAML. A path that names nothing becomes a mistake."""
    for key, said in overrides.items():
        try:
            path = _set(draft.data, key.strip(), read_value(said) if isinstance(said, str) else said)
        except NoSuchPath as error:
            draft.mistakes.append(Mistake(key, str(error), error.hint, file="--set"))
        else:
            known = draft.origins.known
            for below in [one for one in known if one[: len(path)] == path]:
                del known[below]
            known[path] = Origin("--set", None, key)


def _set(data: dict[str, Any], path: str, value: Any) -> DataPath:
    """Set the value at a path. Returns the path as keys and indexes."""
    if path.startswith("topology.") and path.count(".") > 1 and "kind" in (data.get("topology") or {}):
        try:
            data["topology"] = topology_generators.expand(data["topology"])
        except ValueError as error:
            raise NoSuchPath(f"the topology cannot be made: {error}") from None
    here: Any = data
    walked: list[str | int] = []
    rest = path
    while True:
        step, rest, here = _step(here, rest, tuple(walked))
        walked.append(step)
        if not rest:
            here[step] = value
            return tuple(walked)
        child = here.get(step) if isinstance(here, dict) else here[step]
        if child is None:
            if step not in _FREE and model_at(Experiment, tuple(walked)) is None:
                raise NoSuchPath(f"{'.'.join(map(str, walked))} is one value and has no keys")
            child = [] if step in (*GROUPS, "topics", "faults", "trace", "hosts", "links", "switches") else {}
        if not isinstance(child, dict | list):
            child = _widened(child, tuple(walked))
        here[step] = child
        here = child


def _step(here: Any, rest: str, walked: DataPath) -> tuple[str | int, str, Any]:
    """The next key or index, the rest of the path, and the collection that the key belongs to."""
    if isinstance(here, list):
        names = _names(here, walked)
        fits = [name for name in names if _begins(rest, name)]
        if fits:
            name = max(fits, key=len)
            return names[name], rest[_length(rest, name) :].lstrip()[1:], here
        head, _, tail = rest.partition(".")
        if head.isdecimal() and int(head) < len(here):
            return int(head), tail, here
        shown = [name for name in names if name]
        raise NoSuchPath(f"nothing in {'.'.join(map(str, walked))} is called {head!r}", did_you_mean(head, shown))
    if walked and walked[-1] in _FREE:
        return rest, "", here
    head, _, tail = rest.partition(".")
    generator = topology_generators.GENERATORS.get(str(here.get("kind"))) if walked == ("topology",) else None
    model = generator or model_at(Experiment, walked)
    known = model.known_keys() if model is not None and issubclass(model, Model) else []
    inline = bool(getattr(model, "INLINE", False))
    if known and head not in known and not inline and head not in here:
        raise NoSuchPath(f"there is no {head!r} here", did_you_mean(head, known))
    return head, tail, here


def _names(items: list[Any], walked: DataPath) -> dict[str, int]:
    """The index of each item by its names, with default names and both directions of links."""
    given = [item_name(item) for item in items]
    kind = GROUPS.get(str(walked[-1])) if len(walked) == 1 else None
    if kind is not None or walked == ("faults",):
        raw = [item if isinstance(item, dict) else {} for item in items]
        stems = [component_stem(kind, r.get("on"), r.get("controller")) if kind else str(r.get("do")) for r in raw]
        given = list(fill_names(given, stems))
    names: dict[str, int] = {}
    for index, name in enumerate(given):
        if name:
            names.setdefault(name, index)
            a, dashes, b = (part.strip() for part in name.partition("--"))
            if dashes:
                names.setdefault(f"{a} -- {b}", index)
                names.setdefault(f"{b} -- {a}", index)
    return names


def _begins(rest: str, name: str) -> bool:
    """Whether the path continues with this name. Blanks around ``--`` may be missing."""
    return _length(rest, name) > 0


def _length(rest: str, name: str) -> int:
    """How many characters of the path the name takes; 0 if the path does not continue with it."""
    if rest == name or rest.startswith(f"{name}."):
        return len(name)
    tight = name.replace(" -- ", "--")
    if tight != name and (rest == tight or rest.startswith(f"{tight}.")):
        return len(tight)
    return 0


def _widened(value: Any, walked: DataPath) -> Any:
    """A short form as a mapping of keys, so that another key can be set."""
    if isinstance(value, str) and len(walked) > 1:
        group = walked[-2]
        if group in _SHORT_FORMS:
            return {_SHORT_FORMS[str(group)]: value}
        if group == "links":
            try:
                return link_from_text(value)
            except ValueError as error:
                raise NoSuchPath(str(error)) from None
    raise NoSuchPath(f"{'.'.join(map(str, walked))} is one value and has no keys")


def pairs(words: list[str], example: str = "time=30s") -> dict[str, str]:
    """``["time=30 s"]`` from a command line as a mapping. ``example`` stands in the message about a wrong word."""
    wrong = [word for word in words if not word.partition("=")[0].strip() or "=" not in word]
    if wrong:
        hint = f"write it like --set {example}"
        raise BadInput([Mistake(word, "is not KEY=VALUE", hint, file="--set") for word in wrong])
    split = (word.partition("=") for word in words)
    return {key.strip(): value for key, _, value in split}
