"""From a path to a checked experiment: the door is chosen, the draft validated, every mistake told at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from stream2gym.errors import BadInput, Mistake
from stream2gym.spec import generators
from stream2gym.spec.bundled import bundled_examples, find_experiment
from stream2gym.spec.checks import find_problems
from stream2gym.spec.draft import Door, Draft
from stream2gym.spec.experiment import GROUPS, Experiment
from stream2gym.spec.fault_groups import has_groups, write_out
from stream2gym.spec.files import YAML_LIMIT, decode, exists, read_bytes, shown_path
from stream2gym.spec.overrides import apply_overrides
from stream2gym.spec.places import Finding, brief, did_you_mean
from stream2gym.spec.problems import findings_of
from stream2gym.spec.pruning import EVERYTHING, Pruned, prune
from stream2gym.spec.yamldoc import read_documents

YAML_SUFFIXES = (".yaml", ".yml", ".json")
GRAPHML_SUFFIXES = (".graphml", ".xml")
MOST_ROUNDS = 8
MOST_TOLD = 500

__all__ = ["Loaded", "bundled_examples", "find_experiment", "load_experiment"]


@dataclass(frozen=True)
class Loaded:
    """An experiment, and what was noticed and read on the way to it."""

    experiment: Experiment
    door: Door
    base: Path  # relative paths in the experiment stand against it
    warnings: list[Mistake] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)


def load_experiment(
    path: Path,
    *,
    cwd: Path | None = None,
    tolerant: bool = False,
    overrides: Mapping[str, str] | None = None,
    only_spark: bool = False,
) -> Loaded:
    """Read and check an experiment; BadInput holds every mistake.

    ``tolerant`` leaves out components whose files are missing and says so in the warnings; ``only_spark`` is
    the published flag: topics are not read.
    """
    cwd = (cwd or Path.cwd()).absolute()
    path = cwd / path
    draft = _read(path, cwd, tolerant=tolerant, only_spark=only_spark)
    apply_overrides(draft, overrides or {})
    experiment = _checked(draft, tolerant=tolerant)
    return Loaded(experiment, draft.door, draft.base, draft.warnings, draft.files)


def _read(path: Path, cwd: Path, *, tolerant: bool, only_spark: bool) -> Draft:
    suffix = path.suffix.lower()
    if suffix in GRAPHML_SUFFIXES:
        from stream2gym.spec.graphml import read_graphml

        return read_graphml(path, cwd, tolerant=tolerant, only_spark=only_spark)
    if suffix in YAML_SUFFIXES:
        return _read_yaml(path, shown_path(path, cwd), only_spark=only_spark)
    what = f"unknown kind of file {suffix!r}" if exists(path) else "no such file"
    raise BadInput(Mistake("", what, "an experiment is a .yaml or a .graphml file", shown_path(path, cwd)))


def _read_yaml(path: Path, shown: str, *, only_spark: bool) -> Draft:
    documents, mistakes = read_documents(decode(read_bytes(path, YAML_LIMIT, shown), shown), shown)
    draft = Draft("yaml", path.parent, files=[path], mistakes=mistakes)
    if not documents or documents[0].data is None:
        raise BadInput(Mistake("", "is empty", "begin with 's2g: 1'", file=shown))
    if len(documents) > 1:
        line = documents[1].origins.at(())[0].line
        draft.mistakes.append(Mistake("", "holds more than one document", "remove the '---'", shown, line))
    data = documents[0].data
    if not isinstance(data, dict):
        raise BadInput(
            [*mistakes, Mistake("", f"{brief(data)} is not an experiment", "begin with 's2g: 1'", shown)]
        )
    draft.data = {key: value for key, value in data.items() if value is not None}
    draft.origins = documents[0].origins
    if "s2g" not in draft.data:
        draft.mistakes.append(
            Mistake("s2g", "the format version is missing", "begin with 's2g: 1'", shown, 1)
        )
    if only_spark:
        draft.data.pop("topics", None)
    return draft


def _checked(draft: Draft, *, tolerant: bool) -> Experiment:
    """Validate, then look for problems in whatever could be validated; raise when there is any mistake."""
    _expand_topology(draft)
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
    if mistakes or experiment is None:
        raise BadInput(_in_order(mistakes))
    return experiment


def _told(finding: Finding, shape: list[Finding]) -> bool:
    """Whether something there has a mistake of shape already, which may well be the cause."""
    return any(other.path[: len(finding.path)] == finding.path for other in shape)


def _in_order(mistakes: list[Mistake]) -> list[Mistake]:
    """By file and line, each once, and no more than anybody reads."""
    told = sorted(dict.fromkeys(mistakes), key=lambda mistake: (mistake.file, mistake.line or 0))
    more = len(told) - MOST_TOLD
    return told if more <= 0 else [*told[:MOST_TOLD], Mistake("", f"... and {more} more mistakes")]


def _expand_topology(draft: Draft) -> None:
    """Write a generated topology out here, where each wrong option can be told with its line."""
    topology = draft.data.get("topology")
    if not isinstance(topology, dict) or "kind" not in topology:
        return
    kind = topology["kind"]
    model = generators.GENERATORS.get(kind) if isinstance(kind, str) else None
    found: list[Finding] = []
    if model is None:
        hint = did_you_mean(kind, generators.GENERATORS)
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


def _expand_fault_groups(draft: Draft) -> None:
    """Write groups of faults out here, where what is wrong in one can be told with its line."""
    items = draft.data.get("faults")
    if not has_groups(items):
        return
    out = write_out(list(items or ()))
    draft.mistakes += [draft.origins.mistake(finding, draft.data) for finding in out.findings]
    draft.data = draft.data | {"faults": out.faults}
    draft.origins.move(("faults",), out.places)
    if out.findings:  # what the faults lack is the group's mistake
        draft.data["faults"] = []
        draft.excused.add(EVERYTHING)


def _validated(draft: Draft) -> tuple[Experiment | None, list[Finding], list[Pruned]]:
    """The experiment, or what is left of it without the parts that do not fit, and why they do not."""
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


def _leave_out(
    experiment: Experiment, problems: list[Finding], draft: Draft
) -> tuple[Experiment, list[Finding]]:
    """Without the components whose files are missing; each is a warning instead of a mistake."""
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
