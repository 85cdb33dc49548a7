"""Each expectation with what was measured and the evidence; then what a reader should be warned of."""

from __future__ import annotations

from stream2gym.figures.draw import escaped
from stream2gym.judge.verdict import Judgement
from stream2gym.report.blocks import bullets, folded, missing
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.sections.head import ICONS

_OPEN_EVIDENCE = 3
_WORST_FIRST = ("fail", "unknown", "pass")


def expectations(facts: Facts) -> Section:
    judgements = facts.verdict.judgements if facts.verdict else ()
    parts: list[Part] = []
    if judgements:
        ordered = sorted(judgements, key=lambda judgement: _WORST_FIRST.index(judgement.outcome))
        parts.append(f'<ul class="checks">{"".join(map(_judgement, ordered))}</ul>')
    elif facts.verdict is None:
        parts.append(missing("The expectations of the experiment have not been judged."))
    else:
        parts.append(
            missing("The experiment expects nothing in particular; a run passes when nothing died unasked.")
        )
    warnings = _warnings(facts)
    if warnings:
        parts.append(f'<div class="caution"><strong>Warnings</strong>{bullets(warnings)}</div>')
    return Section("expectations", "Expectations", tuple(parts))


def _judgement(judgement: Judgement) -> str:
    kind = judgement.outcome
    lines = [f"measured: {judgement.shown}"] if judgement.shown else []
    lines += [judgement.reason] if judgement.reason else []
    return (
        f'<li><span class="badge {kind}">{ICONS[kind]} {kind}</span><div><code>{escaped(judgement.text)}</code>'
        + "".join(f"<p>{escaped(line)}</p>" for line in lines)
        + _evidence(judgement)
        + "</div></li>"
    )


def _evidence(judgement: Judgement) -> str:
    """The first of it stands open where something failed."""
    shown = judgement.evidence[:_OPEN_EVIDENCE] if judgement.outcome == "fail" else ()
    rest = judgement.evidence[len(shown) :]
    start = bullets(shown, "evidence") if shown else ""
    return start + (
        folded(f"{len(rest)} more" if shown else "evidence", bullets(rest, "evidence")) if rest else ""
    )


def _warnings(facts: Facts) -> list[str]:
    """Warnings of the plan, of the run, of the analysis and of the judge, each once."""
    found = [*(facts.plan.warnings if facts.plan else ()), *map(str, facts.info.get("warnings") or ())]
    if facts.analysis is not None:
        found += [*facts.analysis.notes, *facts.analysis.fidelity.warnings]
    if facts.verdict is not None:
        found += facts.verdict.warnings
    return list(dict.fromkeys(found))
