"""Loads an experiment.

It reads the file, validates the draft and checks the experiment; all mistakes are reported at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from stream2gym.errors import BadInput, Mistake
from stream2gym.spec.checks.experiment_checks import find_problems
from stream2gym.spec.findings import Finding, brief, did_you_mean
from stream2gym.spec.model import topology_generators
from stream2gym.spec.model.copies import has_copies, write_out_copies
from stream2gym.spec.model.experiment import GROUPS, Experiment
from stream2gym.spec.model.fault_groups import flatten_groups, has_groups
from stream2gym.spec.readers.bundled_examples import bundled_examples, find_experiment
from stream2gym.spec.readers.draft import Draft, InputFormat
from stream2gym.spec.readers.overrides import apply_overrides
from stream2gym.spec.readers.pruning import EVERYTHING, Pruned, prune
from stream2gym.spec.readers.user_files import exists, is_folder, shown_path
from stream2gym.spec.readers.yaml_reader import read_yaml
from stream2gym.spec.validation_messages import findings_of

# Finds mistakes of an experiment that its files alone do not show, such as those of its plan.
Further = Callable[[Experiment], list[Mistake]]

YAML_SUFFIXES = (".yaml", ".yml", ".json")
GRAPHML_SUFFIXES = (".graphml", ".xml")
MOST_ROUNDS = 8
MOST_TOLD = 500

__all__ = ["Loaded", "bundled_examples", "check_model", "find_experiment", "load_experiment"]


def no_further_checks(_experiment: Experiment) -> list[Mistake]:
    """Find no further mistakes."""
    return []


@dataclass(frozen=True)
class Loaded:
    """A checked experiment, with the files that were read and the warnings about them."""

    experiment: Experiment
    input_format: InputFormat
    # Relative paths in the experiment are relative to it.
    base: Path
    warnings: list[Mistake] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)


def load_experiment(
    path: Path,
    *,
    cwd: Path | None = None,
    tolerant: bool = False,
    overrides: Mapping[str, Any] | None = None,
    only_spark: bool = False,
    further: Further = no_further_checks,
) -> Loaded:
    """Read and check an experiment. BadInput lists every mistake.

    ``tolerant`` leaves out components whose files are missing, with a warning for each. ``only_spark`` is the
    published flag: topics are not read. ``further`` finds mistakes that the files alone do not show.
    """
    cwd = (cwd or Path.cwd()).absolute()
    path = cwd / path
    draft = _read(path, cwd, tolerant=tolerant, only_spark=only_spark)
    apply_overrides(draft, overrides or {})
    experiment = _checked(draft, further, tolerant=tolerant)
    return Loaded(experiment, draft.input_format, draft.base, draft.warnings, draft.files)


def check_model(
    experiment: Experiment, overrides: Mapping[str, Any], base: Path, further: Further = no_further_checks
) -> Experiment:
    """An experiment built in Python, with some values changed. It is checked like one in a file."""
    draft = Draft("yaml", base, data=experiment.model_dump(by_alias=True, mode="python"))
    apply_overrides(draft, overrides)
    return _checked(draft, further, tolerant=False)


def _read(path: Path, cwd: Path, *, tolerant: bool, only_spark: bool) -> Draft:
    """Read the file with the reader for its suffix."""
    suffix = path.suffix.lower()
    if suffix in GRAPHML_SUFFIXES:
        from stream2gym.spec.readers.graphml.graph_reader import read_graphml

        return read_graphml(path, cwd, tolerant=tolerant, only_spark=only_spark)
    if suffix in YAML_SUFFIXES:
        return read_yaml(path, shown_path(path, cwd), only_spark=only_spark)
    what = f"unknown kind of file {suffix!r}" if exists(path) else "no such file"
    if is_folder(path):
        what = "this folder has no experiment.yaml and no GraphML file"
    raise BadInput(Mistake("", what, "an experiment is a .yaml or a .graphml file", shown_path(path, cwd)))


def _checked(draft: Draft, further: Further, *, tolerant: bool) -> Experiment:
    """Validate the draft and check whatever could be validated. BadInput lists the mistakes of both."""
    _expand_topology(draft)
    _expand_copies(draft)
    _expand_fault_groups(draft)
    experiment, findings, rounds = _validated(draft)
    if experiment is not None:
        excused = draft.excused.union(*(pruned.excused for pruned in rounds))
        problems = find_problems(experiment, draft.base, excused=excused)
        if tolerant and not findings:
            experiment, problems = _leave_out(experiment, problems, draft)
        for pruned in reversed(rounds):
            problems = [replace(problem, path=pruned.original(problem.path)) for problem in problems]
        findings += [problem for problem in problems if not _told(problem, findings)]
    mistakes = draft.mistakes + [draft.origins.mistake(finding, draft.data) for finding in findings]
    has_lost_parts = bool(draft.excused) or any(pruned.kept for pruned in rounds)
    if experiment is not None and not has_lost_parts and not any(map(_concerns_plan, findings)):
        file = draft.origins.at(())[0].file
        mistakes += [replace(mistake, file=mistake.file or file) for mistake in further(experiment)]
    if mistakes or experiment is None:
        raise BadInput(_in_order(mistakes))
    return experiment


def _concerns_plan(finding: Finding) -> bool:
    """Whether the finding is about something that a plan is made from: components, hosts, the network, faults.

    No plan is made then, because its mistakes would repeat the finding or follow from it.
    """
    path = finding.path
    if not path or path[0] in ("topology", "placement", "faults"):
        return True
    if path[0] == "kafka":
        return len(path) < 2 or path[1] == "voters"
    return path[0] in GROUPS and (len(path) < 3 or path[2] in ("on", "name", "controller", "type", "store"))


def _told(finding: Finding, shape: list[Finding]) -> bool:
    """Whether validation found a mistake at this place, which may be the cause of the finding."""
    return any(other.path[: len(finding.path)] == finding.path for other in shape)


def _in_order(mistakes: list[Mistake]) -> list[Mistake]:
    """The mistakes sorted by file and line, each once, at most ``MOST_TOLD`` of them."""
    told = sorted(dict.fromkeys(mistakes), key=lambda mistake: (mistake.file, mistake.line or 0))
    more = len(told) - MOST_TOLD
    return told if more <= 0 else [*told[:MOST_TOLD], Mistake("", f"... and {more} more mistakes")]


def _expand_topology(draft: Draft) -> None:
    """Replace a generated topology by its hosts, switches and links.

    Wrong options become mistakes with their lines.
    """
    topology = draft.data.get("topology")
    if not isinstance(topology, dict) or "kind" not in topology:
        return
    kind = topology["kind"]
    model = topology_generators.GENERATORS.get(kind) if isinstance(kind, str) else None
    found: list[Finding] = []
    if model is None:
        hint = did_you_mean(kind, topology_generators.GENERATORS)
        found.append(Finding(("topology", "kind"), f"unknown kind of topology {brief(kind)}", hint))
    else:
        try:
            draft.data = draft.data | {"topology": model.model_validate(topology).topology()}
            return
        except ValidationError as error:
            found = findings_of(error, model, topology, ("topology",))
    draft.mistakes += [draft.origins.mistake(finding, draft.data) for finding in found]
    draft.data = {key: value for key, value in draft.data.items() if key != "topology"}
    draft.excused.add(EVERYTHING)


def _expand_copies(draft: Draft) -> None:
    """Replace each item that has copies by these. Mistakes of a copy have the line of the item."""
    for section in (*GROUPS, "topics"):
        items = draft.data.get(section)
        if has_copies(items):
            out = write_out_copies(list(items or ()), (section,))
            draft.data = draft.data | {section: out.items}
            draft.origins.move((section,), out.paths)


def _expand_fault_groups(draft: Draft) -> None:
    """Replace groups of faults by single faults. What is wrong in a group becomes a mistake with its line."""
    items = draft.data.get("faults")
    if not has_groups(items):
        return
    out = flatten_groups(list(items or ()))
    draft.mistakes += [draft.origins.mistake(finding, draft.data) for finding in out.findings]
    draft.data = draft.data | {"faults": out.faults}
    draft.origins.move(("faults",), out.paths)
    if out.findings:  # mistakes of the single faults would only follow from those of the groups
        draft.data["faults"] = []
        draft.excused.add(EVERYTHING)


def _validated(draft: Draft) -> tuple[Experiment | None, list[Finding], list[Pruned]]:
    """Validate the draft.

    Returns the experiment without its invalid parts, the findings about these, and what was removed.
    """
    findings: list[Finding] = []
    rounds: list[Pruned] = []
    data = draft.data
    for _ in range(MOST_ROUNDS):
        try:
            return Experiment.model_validate(data), findings, rounds
        except ValidationError as error:
            found = findings_of(error, Experiment, data)
            findings = findings or found
            rounds.append(prune(data, found))
            data = rounds[-1].data
    return None, findings, rounds


def _leave_out(experiment: Experiment, problems: list[Finding], draft: Draft) -> tuple[Experiment, list[Finding]]:
    """The experiment without the components whose files are missing.

    Each of them becomes a warning instead of a mistake.
    """
    missing = [f for f in problems if f.missing_file and len(f.path) > 1 and f.path[0] in GROUPS]
    if not missing:
        return experiment, problems
    gone = {(finding.path[0], finding.path[1]) for finding in missing}
    for finding in missing:
        name = getattr(experiment, str(finding.path[0]))[finding.path[1]].name
        told = draft.origins.mistake(finding, draft.data)
        draft.warnings.append(
            Mistake(told.where, f"{told.what}; {name} is left out", told.hint, told.file, told.line)
        )
    kept = {
        group: [part for index, part in enumerate(getattr(experiment, group)) if (group, index) not in gone]
        for group in GROUPS
    }
    smaller = experiment.model_copy(update=kept)
    return smaller, [finding for finding in problems if finding not in missing]
