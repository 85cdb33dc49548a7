"""The verdict on a sweep: the shapes that were expected, and what every run says of itself. Pure.

It fails if a shape or the verdict of a run failed. It is unknown if one of these is, if a run did not go through, or
if a response has no value at any point. Agreement with published values stands beside it and does not change it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stream2gym.jsonable import Jsonable
from stream2gym.judge.verdict import EXIT_CODES, Outcome, count_nouns, pick_worst
from stream2gym.sweeps.agreement import AgreementJudgement, count_agreement, judge_agreement
from stream2gym.sweeps.agreement_sides import AgreementInput, add_missing_runs
from stream2gym.sweeps.axis_values import FIGURE_UNITS
from stream2gym.sweeps.published_values import PublishedTable
from stream2gym.sweeps.response_table import ResponseRow, fill_missing_items, make_rows
from stream2gym.sweeps.shape_judgement import ShapeJudgement, judge_shape
from stream2gym.sweeps.sweep_file import Response, SweepFile
from stream2gym.sweeps.sweep_folder import Attempt
from stream2gym.sweeps.sweep_plan import SweepPlan


@dataclass(frozen=True)
class SweepVerdict(Jsonable):
    """The verdict with its reasons. ``counts`` are runs by what they say of themselves: pass, fail, unknown, failed
    (did not go through) and missing (did not run yet)."""

    outcome: Outcome
    shapes: tuple[ShapeJudgement, ...] = ()
    counts: dict[str, int] | None = None
    # Values of responses that shapes cannot use, by what they are: wide, unknown, failed.
    left_out: dict[str, int] | None = None
    # Agreement with published values. It does not change the outcome: others measured with other software.
    agreement: tuple[AgreementJudgement, ...] = ()

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]

    @property
    def words(self) -> str:
        """The outcome in one sentence."""
        held = sum(one.outcome == "pass" for one in self.shapes)
        told = (
            [f"{held} of {count_nouns(len(self.shapes), 'shape')} held"] if self.shapes else ["no shape was expected"]
        )
        if self.agreement:
            told.append(count_agreement(self.agreement))
        told.append(describe_counts(self.counts or {}))
        return f"{self.outcome}: {'; '.join(told)}"


_COUNT_WORDS = {
    "pass": "passed",
    "fail": "failed their expectations",
    "unknown": "are unknown",
    "failed": "did not go through",
    "missing": "did not run",
}


def describe_counts(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    told = ", ".join(f"{counts[kind]} {word}" for kind, word in _COUNT_WORDS.items() if counts.get(kind))
    return f"of {count_nouns(total, 'run')} {told}" if told else "nothing ran"


def collect_rows(file: SweepFile, plan: SweepPlan, ended: Mapping[str, Attempt]) -> list[ResponseRow]:
    """The table of responses, in the order of points and repeats. Runs that did not end have no rows."""
    rows: list[ResponseRow] = []
    for run in sorted(plan.runs, key=lambda run: (run.point, run.repeat)):
        attempt = ended.get(run.name)
        if attempt is not None:
            folder = f"points/{attempt.folder}"
            rows += make_rows(run, folder, attempt.result, file.response_names(), float(file.interval))
    return fill_missing_items(rows)


def find_unit(response: Response) -> str:
    """The unit of a response, as figures call it."""
    return FIGURE_UNITS.get(response.quantity, "")


@dataclass(frozen=True)
class JudgedSweep:
    """A sweep as far as it ran: its runs that ended, the table of its responses, and the verdict."""

    file: SweepFile
    plan: SweepPlan
    ended: Mapping[str, Attempt]
    rows: Sequence[ResponseRow]
    verdict: SweepVerdict
    published: PublishedTable = field(default_factory=PublishedTable)


def judge_sweep(
    file: SweepFile, plan: SweepPlan, ended: Mapping[str, Attempt], published: PublishedTable | None = None
) -> JudgedSweep:
    """Judge a sweep by its responses and by the runs that ended, and compare it with published values."""
    rows = collect_rows(file, plan, ended)
    units = {response.label: find_unit(response) for response in file.responses}
    shapes = tuple(
        judge_shape(shape, rows, units[shape.response], file.moving_with(shape.axis)) for shape in file.shapes()
    )
    counts = Counter(
        "missing" if (attempt := ended.get(run.name)) is None
        else "failed" if attempt.result.state != "done" else attempt.result.verdict
        for run in plan.runs
    )  # fmt: skip
    outcomes: list[Outcome] = [shape.outcome for shape in shapes]
    outcomes += ["fail"] * bool(counts["fail"])
    outcomes += ["unknown"] * bool(counts["unknown"] + counts["failed"] + counts["missing"])
    measured = {row.response for row in rows if row.value is not None}
    outcomes += ["unknown"] * (measured != set(file.response_names()))
    left_out = Counter(row.state for row in rows if not row.is_usable)
    table = published or PublishedTable()
    agreement = _judge_agreement(file, plan, rows, table)
    verdict = SweepVerdict(pick_worst(outcomes), shapes, dict(counts), dict(left_out), agreement)
    return JudgedSweep(file, plan, ended, rows, verdict, table)


def _judge_agreement(
    file: SweepFile, plan: SweepPlan, rows: Sequence[ResponseRow], published: PublishedTable
) -> tuple[AgreementJudgement, ...]:
    planned = [(run.point, run.repeat, run.values) for run in plan.runs]
    given = AgreementInput(
        fill_missing_items(add_missing_runs(rows, planned)),
        published,
        {response.label: response.quantity for response in file.responses},
        list(file.axes),
        plan.repeats,
        file.moving_with,
    )
    return tuple(judge_agreement(line, given) for line in file.agreement)
