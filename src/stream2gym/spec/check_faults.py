"""Checks of traces, faults and expectations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from stream2gym.kinds.conditions import NUMBERS, parse_condition
from stream2gym.kinds.expectations import parse_expectation, unknown_names
from stream2gym.kinds.registry import Kind
from stream2gym.kinds.targets import Target, matches_link, parse_target
from stream2gym.spec.check_fault_settings import capabilities_of, check_count, check_fault_settings, check_who
from stream2gym.spec.check_index import Index
from stream2gym.spec.check_kinds import check_settings, find_kind
from stream2gym.spec.components import Component
from stream2gym.spec.experiment import Fault
from stream2gym.spec.places import Finding, Place, brief, did_you_mean
from stream2gym.units import Share

_BY = re.compile(r"header|key|value|json:\$[.\[].+")
_AFTER = re.compile(r"\d{1,12} messages?")
_STARTS = ("at", "within", "when", "after")
# Roles that are components once resolved, and what they are.
_BROKER_ROLES = ("leader", "follower", "coordinator", "controller")


def check_traces(index: Index) -> Iterator[Finding]:
    for number, trace in enumerate(index.experiment.trace):
        path: Place = ("trace", number)
        yield from index.topic((*path, "from"), trace.from_)
        yield from index.topic((*path, "to"), trace.to)
        if not _BY.fullmatch(trace.by):
            hint = "header, key, value, or a path like json:$.id"
            yield Finding((*path, "by"), f"{brief(trace.by)} is no way to recognise a message", hint)


def check_faults(index: Index) -> Iterator[Finding]:
    faults = index.experiment.faults
    names = [str(fault.name) for fault in faults]
    for number, fault in enumerate(faults):
        path: Place = ("faults", number)
        if names.index(str(fault.name)) != number:
            yield Finding(path, f"there are two faults {brief(fault.name)}", "names are unique")
        yield from _schedule(index, fault, path, names)
        kind, unknown = find_kind("fault", fault.do, (*path, "do"))
        yield from unknown
        if kind is None:
            continue
        yield from check_settings(kind, fault.settings, path, Fault)
        if not fault.on and "nothing" not in kind.targets:
            yield Finding(path, f"{kind.name} needs a target", f"on: a {' or '.join(sorted(kind.targets))}")
        for place, text in enumerate(fault.on):
            found = list(_target(index, kind, text, (*path, "on", place)))
            yield from found or check_count(index, text, (*path, "on", place))
        yield from _loses_data(index, kind, fault, path)
        yield from check_fault_settings(index, kind, fault, path)


def _schedule(index: Index, fault: Fault, path: Place, names: list[str]) -> Iterator[Finding]:
    given = [key for key in _STARTS if getattr(fault, key) is not None]
    if not given:
        yield Finding(path, "does not say when it starts", "at: 10 s, within, when, or after")
    elif len(given) > 1:
        yield Finding(path, f"gives {' and '.join(given)}", "keep one of them")
    time = float(index.experiment.time)
    start = fault.at
    if start is not None and not isinstance(start, Share) and start >= time and not index.lost("time"):
        yield Finding((*path, "at"), f"starts at {start}, when the load of {index.experiment.time} is over")
    if fault.within is not None and fault.within[0] >= fault.within[1]:
        yield Finding((*path, "within"), "ends before it begins", "within: [5 s, 15 s]")
    elif fault.within is not None and fault.within[0] >= time and not index.lost("time"):
        yield Finding((*path, "within"), f"starts when the load of {index.experiment.time} is over")
    if fault.every is not None and not fault.every:
        yield Finding((*path, "every"), "repeats without a pause", "every: 10 s")
    if fault.every is not None and fault.for_ is not None and fault.for_ > fault.every > 0:
        yield Finding((*path, "every"), "comes again before it has ended", f"more than {fault.for_}")
    if fault.until is not None and fault.every is None:
        yield Finding((*path, "until"), "only something that repeats has an end", "every: 10 s")
    yield from _after(index, fault, path, names)
    if fault.when is not None and not _is_condition(fault.when):
        hint = f"'lag > 5000' ({', '.join(NUMBERS)}) or 'broker-h2 is controller'"
        yield Finding((*path, "when"), f"{brief(fault.when)} is not a condition", hint)
    yield from check_who(index, fault, path)


def _after(index: Index, fault: Fault, path: Place, names: list[str]) -> Iterator[Finding]:
    """Either so many messages, or other faults."""
    others = [name for name in names if name != fault.name]
    if fault.after == []:
        yield Finding((*path, "after"), "names nothing", "a fault, or '10000 messages'")
    for text in fault.after or ():
        if _AFTER.fullmatch(text):
            if len(fault.after or ()) > 1:
                hint = "either so many messages, or faults"
                yield Finding((*path, "after"), f"{brief(text)} stands beside others", hint)
            continue
        name = text.removeprefix("fault ").strip()
        if name not in others and not index.knows(name):
            hint = did_you_mean(name, others) or "a fault, or '10000 messages'"
            yield Finding((*path, "after"), f"there is no other fault {brief(name)}", hint)


def _is_condition(text: str) -> bool:
    try:
        return parse_condition(" ".join(text.split())) is not None
    except ValueError:
        return False


def _target(index: Index, kind: Kind, text: str, path: Place) -> Iterator[Finding]:
    try:
        target = parse_target(text)
    except ValueError as error:
        what, _, hint = str(error).partition("; ")
        yield Finding(path, what, hint)
        return
    yield from _fits(index, kind, target, path)


def _fits(index: Index, kind: Kind, target: Target, path: Place) -> Iterator[Finding]:
    """Whether the target is there and is something that the fault can be done to."""
    if target.form == "random" and target.among is not None:
        yield from _fits(index, kind, target.among, path)
    elif target.form in ("link", "busiest"):
        there = target.form == "busiest" or any(matches_link(target, a, b) for a, b in index.links)
        if "link" not in kind.targets:
            yield _wrong_target(kind, target, "a link", path)
        elif not there and not index.knows(target.text) and not any(map(index.knows, target.ends)):
            known = [f"{a} -- {b}" for a, b in sorted(index.links)]
            yield Finding(path, f"there is no link {brief(target.text)}", did_you_mean(target.text, known))
    elif target.form in _BROKER_ROLES:
        if target.form in ("leader", "follower"):
            yield from index.topic(path, target.subject)
        if not kind.targets & {"component", "host"}:
            yield _wrong_target(kind, target, "a broker", path)
        elif not index.experiment.brokers and not index.lost("brokers"):
            yield Finding(path, f"{target.text}: there is no broker")
    else:
        yield from _named(index, kind, target, path)


def _named(index: Index, kind: Kind, target: Target, path: Place) -> Iterator[Finding]:
    """A name or glob of a node, component or topic."""
    pools = {
        "host": index.hosts, "switch": index.switches, "component": index.components, "topic": index.topics,
    }  # fmt: skip
    hit = {noun: [n for n in names if fnmatchcase(n, target.text)] for noun, names in pools.items()}
    kind_targets = kind.targets | {"host", "switch"} if "nothing" in kind.targets else kind.targets
    if any(hit[noun] for noun in pools if noun in kind_targets):
        for name in hit["component"] if "component" in kind_targets else ():
            yield from _capable(index.components[name], kind, name, path)
        return
    other = next((noun for noun in pools if hit[noun]), None)
    if other is not None:
        yield _wrong_target(kind, target, f"a {other}", path)
    elif not index.matching(target.text, ()):
        nouns = " or ".join(noun for noun in ("link", *pools) if noun in kind_targets)
        known = [name for noun, names in pools.items() if noun in kind_targets for name in sorted(names)]
        if "link" in kind_targets:
            known += [f"{a} -- {b}" for a, b in sorted(index.links)]
        yield Finding(path, f"there is no {nouns} {brief(target.text)}", did_you_mean(target.text, known))


def _wrong_target(kind: Kind, target: Target, is_: str, path: Place) -> Finding:
    wanted = " or ".join(sorted(kind.targets - {"nothing"}))
    return Finding(path, f"{target.text} is {is_}, and {kind.name} is done to a {wanted}")


def _loses_data(index: Index, kind: Kind, fault: Fault, path: Place) -> Iterator[Finding]:
    """Only what keeps data can come back without them."""
    if "component" not in kind.targets or fault.settings.get("data") != "wipe":
        return
    for name, (group, component) in index.components.items():
        if any(fnmatchcase(name, text) for text in fault.on):
            able = capabilities_of(group, component)
            if able is not None and "data" not in able:
                yield Finding(
                    (*path, "settings", "data"), f"{name} keeps no data that could be wiped", "keep"
                )


def _capable(part: tuple[str, Component], kind: Kind, name: str, path: Place) -> Iterator[Finding]:
    """An impossible fault is refused before the run, with the reason."""
    group, component = part
    capabilities = capabilities_of(group, component)
    if kind.needs and capabilities is not None and kind.needs not in capabilities:
        yield Finding(
            path, f"{name} cannot be hit by {kind.name}: a {group} of its type is no process to {kind.needs}"
        )


def check_expectations(index: Index) -> Iterator[Finding]:
    experiment = index.experiment
    names = {
        "topic": index.topics,
        "fault": [str(fault.name) for fault in experiment.faults],
        "producer": [str(part.name) for part in experiment.producers],
        "consumer": [str(part.name) for part in experiment.consumers],
    }
    for number, text in enumerate(experiment.expect):
        path: Place = ("expect", number)
        try:
            expectation = parse_expectation(text)
        except ValueError as error:
            what, _, hint = str(error).partition("; ")
            yield Finding(path, what, hint)
            continue
        if not index.excused:
            for wrong in unknown_names(expectation, names):
                what, _, hint = wrong.partition("; ")
                yield Finding(path, what, hint)
