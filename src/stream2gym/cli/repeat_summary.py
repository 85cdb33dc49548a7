"""The summary of several runs of one experiment: how often it passed, and how far its figures lie apart. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from stream2gym.analysis.result_tables import Analysis
from stream2gym.judge.compare import compare
from stream2gym.judge.measurement import Events
from stream2gym.judge.verdict import Verdict


@dataclass(frozen=True)
class RepeatedRun:
    """What the summary needs of one run."""

    name: str
    seed: int
    verdict: Verdict
    analysis: Analysis | None
    events: Events


def summarise(runs: Sequence[RepeatedRun]) -> list[str]:
    """Lines for people: the outcomes, each expectation that did not hold everywhere, and the figures that vary."""
    outcomes = Counter(run.verdict.outcome for run in runs)
    told = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in ("pass", "fail", "unknown") if outcomes[outcome])
    lines = [f"{len(runs)} runs: {told}"]
    lines += [f"  seed {run.seed}: {run.verdict.outcome}  {run.name}" for run in runs]
    lines += _tell_expectations(runs)
    lines += _tell_figures(runs)
    return lines


def _tell_expectations(runs: Sequence[RepeatedRun]) -> list[str]:
    """The expectations that did not hold in every run, with the number of runs in which they did."""
    held: Counter[str] = Counter()
    for run in runs:
        held.update({one.text: int(one.outcome == "pass") for one in run.verdict.judgements})
    return [f"  held in {times} of {len(runs)}: {text}" for text, times in held.items() if times < len(runs)]


def _tell_figures(runs: Sequence[RepeatedRun]) -> list[str]:
    """The lowest and the highest value of every usual metric that is not the same in all runs."""
    analysed = [(run.name, run.analysis, run.events) for run in runs if run.analysis is not None]
    if len(analysed) < 2:
        return []
    rows = []
    for row in compare(analysed).rows:
        known = [(value, shown) for value, shown in zip(row.values, row.shown, strict=True) if value is not None]
        lowest, highest = min(known), max(known)
        if lowest[0] != highest[0]:
            rows.append((row.text, lowest[1], highest[1]))
    if not rows:
        return []
    table = [("", "lowest", "highest"), *rows]
    widths = [max(len(line[column]) for line in table) for column in range(3)]
    return [
        "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    ]
