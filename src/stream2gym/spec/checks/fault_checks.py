"""Checks of traces, faults and expectations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from stream2gym.kinds.conditions import NUMBERS, parse_condition
from stream2gym.kinds.expectation_grammar import parse_expectation, unknown_names
from stream2gym.kinds.registry import Kind
from stream2gym.kinds.targets import Target, matches_link, parse_target
from stream2gym.spec.checks.experiment_index import ExperimentIndex
from stream2gym.spec.checks.fault_setting_checks import capabilities_of, check_count, check_fault_settings, check_who
from stream2gym.spec.checks.type_checks import check_settings, find_kind
from stream2gym.spec.findings import DataPath, Finding, brief, did_you_mean
from stream2gym.spec.model.components import Component
from stream2gym.spec.model.experiment import Fault
from stream2gym.units import Share

_BY = re.compile(r"header|key|value|json:\$[.\[].+")
_AFTER = re.compile(r"\d{1,12} messages?")
_STARTS = ("at", "within", "when", "after")
# Roles that brokers have.
_BROKER_ROLES = ("leader", "follower", "coordinator", "controller")


def check_traces(index: ExperimentIndex) -> Iterator[Finding]:
    """Check that the topics of traces exist, and how messages are recognised."""
    for number, trace in enumerate(index.experiment.trace):
        path: DataPath = ("trace", number)
        yield from index.topic((*path, "from"), trace.from_)
        yield from index.topic((*path, "to"), trace.to)
        if not _BY.fullmatch(trace.by):
            hint = "header, key, value, or a path like json:$.id"
            yield Finding((*path, "by"), f"{brief(trace.by)} is no way to recognise a message", hint)


def check_faults(index: ExperimentIndex) -> Iterator[Finding]:
    """Check kind, targets, settings and times of every fault."""
    faults = index.experiment.faults
    names = [str(fault.name) for fault in faults]
    for number, fault in enumerate(faults):
        path: DataPath = ("faults", number)
        if names.index(str(fault.name)) != number:
            yield Finding(path, f"there are two faults {brief(fault.name)}", "names are unique")
        yield from _schedule(index, fault, path, names)
        kind, unknown = find_kind("fault", fault.do, (*path, "do"))
        yield from unknown
        if kind is None:
            continue
        yield from check_settings(kind, fault, path)
        if not fault.on and "nothing" not in kind.targets:
            yield Finding(path, f"{kind.name} needs a target", f"on: a {' or '.join(sorted(kind.targets))}")
        for position, text in enumerate(fault.on):
            found = list(_target(index, kind, text, (*path, "on", position)))
            yield from found or check_count(index, text, (*path, "on", position))
        yield from _loses_data(index, kind, fault, path)
        yield from check_fault_settings(index, kind, fault, path)


def _schedule(index: ExperimentIndex, fault: Fault, path: DataPath, names: list[str]) -> Iterator[Finding]:
    """Check that the times of a fault fit together and lie in the load."""
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
        yield Finding((*path, "every"), "repeats before it has ended", f"more than {fault.for_}")
    if fault.until is not None and fault.every is None:
        yield Finding((*path, "until"), "'until' needs 'every'", "every: 10 s")
    yield from _after(index, fault, path, names)
    if fault.when is not None and not _is_condition(fault.when):
        hint = f"'lag > 5000' ({', '.join(NUMBERS)}) or 'broker-h2 is controller'"
        yield Finding((*path, "when"), f"{brief(fault.when)} is not a condition", hint)
    yield from check_who(index, fault, path)


def _after(index: ExperimentIndex, fault: Fault, path: DataPath, names: list[str]) -> Iterator[Finding]:
    """Check ``after``: a number of messages, or names of other faults."""
    others = [name for name in names if name != fault.name]
    if fault.after == []:
        yield Finding((*path, "after"), "is empty", "a fault, or '10000 messages'")
    for text in fault.after or ():
        if _AFTER.fullmatch(text):
            if len(fault.after or ()) > 1:
                hint = "either a number of messages, or faults"
                yield Finding((*path, "after"), f"{brief(text)} is given together with others", hint)
            continue
        name = text.removeprefix("fault ").strip()
        if name not in others and not index.knows(name):
            hint = did_you_mean(name, others) or "a fault, or '10000 messages'"
            yield Finding((*path, "after"), f"there is no other fault {brief(name)}", hint)


def _is_condition(text: str) -> bool:
    try:
        return parse_condition(text) is not None
    except ValueError:
        return False


def _target(index: ExperimentIndex, kind: Kind, text: str, path: DataPath) -> Iterator[Finding]:
    """Check one target of a fault."""
    try:
        target = parse_target(text)
    except ValueError as error:
        what, _, hint = str(error).partition("; ")
        yield Finding(path, what, hint)
        return
    yield from _fits(index, kind, target, path)


def _fits(index: ExperimentIndex, kind: Kind, target: Target, path: DataPath) -> Iterator[Finding]:
    """Check that the target exists and that the kind of fault can act on it."""
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


def _named(index: ExperimentIndex, kind: Kind, target: Target, path: DataPath) -> Iterator[Finding]:
    """Check a target that is a name or glob of a node, component or topic."""
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


def _wrong_target(kind: Kind, target: Target, is_: str, path: DataPath) -> Finding:
    wanted = " or ".join(sorted(kind.targets - {"nothing"}))
    return Finding(path, f"{target.text} is {is_}, but {kind.name} acts on a {wanted}")


def _loses_data(index: ExperimentIndex, kind: Kind, fault: Fault, path: DataPath) -> Iterator[Finding]:
    """Check that components whose data are wiped keep data."""
    if "component" not in kind.targets or fault.settings.get("data") != "wipe":
        return
    for name, (group, component) in index.components.items():
        if any(fnmatchcase(name, text) for text in fault.on):
            able = capabilities_of(group, component)
            if able is not None and "data" not in able:
                yield Finding((*path, "settings", "data"), f"{name} keeps no data that could be wiped", "keep")


def _capable(part: tuple[str, Component], kind: Kind, name: str, path: DataPath) -> Iterator[Finding]:
    """Check that the component has the capability that the fault needs."""
    group, component = part
    capabilities = capabilities_of(group, component)
    if kind.needs and capabilities is not None and kind.needs not in capabilities:
        yield Finding(path, f"{kind.name} cannot act on {name}: a {group} of its type has no process to {kind.needs}")


def check_expectations(index: ExperimentIndex) -> Iterator[Finding]:
    """Check the grammar of expectations, and the names in their filters."""
    experiment = index.experiment
    observed = [str(engine.name) for engine in experiment.engines if engine.observe]
    hidden = [str(engine.name) for engine in experiment.engines if not engine.observe and engine.app is not None]
    every = {
        "topic": ("topics", index.topics),
        "fault": ("faults", [str(fault.name) for fault in experiment.faults]),
        "producer": ("producers", [*(str(part.name) for part in experiment.producers), *observed]),
        "consumer": ("consumers", [*(str(part.name) for part in experiment.consumers), *observed]),
    }
    # A name that could not be read is not reported as unknown.
    names = {
        filter_: [*known, *index.excused] for filter_, (section, known) in every.items() if not index.lost(section)
    }
    for number, text in enumerate(experiment.expect):
        path: DataPath = ("expect", number)
        try:
            expectation = parse_expectation(text)
        except ValueError as error:
            what, _, hint = str(error).partition("; ")
            yield Finding(path, what, hint)
            continue
        asked = [expectation.filters.get(side) for side in ("producer", "consumer")]
        unobserved = [name for name in hidden if name in asked]
        for name in unobserved:
            yield Finding(path, f"{name} is an engine that is not observed", "observe: wire on that engine")
        if not unobserved:
            for wrong in unknown_names(expectation, names):
                what, _, hint = wrong.partition("; ")
                yield Finding(path, what, hint)
