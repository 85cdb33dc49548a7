"""The expectations section: each expectation with what was measured and its evidence, and the warnings of the run."""

from __future__ import annotations

from stream2gym.figures.markup import EMPTY, Markup, element
from stream2gym.judge.verdict import Judgement
from stream2gym.report.blocks import bullets, folded, missing, paragraph
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.sections.head import ICONS

_OPEN_EVIDENCE = 3
_WORST_FIRST = ("fail", "unknown", "pass")


def make_expectations_section(facts: Facts) -> Section:
    judgements = facts.verdict.judgements if facts.verdict else ()
    parts: list[Part] = []
    if judgements:
        ordered = sorted(judgements, key=lambda judgement: _WORST_FIRST.index(judgement.outcome))
        parts.append(element("ul", *map(_make_judgement, ordered), class_="checks"))
    elif facts.verdict is None:
        parts.append(missing("The expectations of the experiment have not been judged."))
    else:
        parts.append(missing("The experiment expects nothing in particular; a run passes when nothing died unasked."))
    warnings = _collect_warnings(facts)
    if warnings:
        parts.append(element("div", element("strong", "Warnings"), bullets(warnings), class_="caution"))
    return Section("expectations", "Expectations", tuple(parts))


def _make_judgement(judgement: Judgement) -> Markup:
    kind = judgement.outcome
    lines = [f"measured: {judgement.shown}"] if judgement.shown else []
    lines += [judgement.reason] if judgement.reason else []
    badge = element("span", f"{ICONS[kind]} {kind}", class_=f"badge {kind}")
    text = element("code", judgement.text)
    return element("li", badge, element("div", text, *map(paragraph, lines), _make_evidence(judgement)))


def _make_evidence(judgement: Judgement) -> Markup:
    """The evidence of a judgement, folded. The first of a failed one is not folded."""
    shown = judgement.evidence[:_OPEN_EVIDENCE] if judgement.outcome == "fail" else ()
    rest = judgement.evidence[len(shown) :]
    start = bullets(shown, "evidence") if shown else EMPTY
    summary = f"{len(rest)} more" if shown else "evidence"
    return start + (folded(summary, bullets(rest, "evidence")) if rest else EMPTY)


def _collect_warnings(facts: Facts) -> list[str]:
    """Warnings of the plan, of the run, of the analysis and of the judge, each once."""
    found = [*(facts.plan.warnings if facts.plan else ()), *map(str, facts.info.get("warnings") or ())]
    if facts.analysis is not None:
        found += [*facts.analysis.notes, *facts.analysis.fidelity.warnings]
    if facts.verdict is not None:
        found += facts.verdict.warnings
    return list(dict.fromkeys(found))
