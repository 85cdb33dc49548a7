"""Each expectation with what was measured and the evidence; then what a reader should be warned of."""

from __future__ import annotations

from typing import Any

from stream2gym.report.blocks import bullets, missing
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section

_OPEN_EVIDENCE = 3
_WORST_FIRST = ("fail", "unknown", "pass")


def expectations(facts: Facts) -> Section:
    checks = list((facts.verdict or {}).get("checks", []))
    parts: list[Part] = []
    if checks:
        ordered = sorted(checks, key=lambda check: _WORST_FIRST.index(check["outcome"]))
        parts.append(f'<ul class="checks">{"".join(map(_check, ordered))}</ul>')
    else:
        parts.append(missing("The experiment expects nothing in particular; a run passes when nothing died."))
    warnings = _warnings(facts)
    if warnings:
        parts.append(f'<div class="caution"><strong>Warnings</strong>{bullets(warnings)}</div>')
    return Section("expectations", "Expectations", tuple(parts))


def _check(check: dict[str, Any]) -> str:
    return ""


def _warnings(facts: Facts) -> list[str]:
    """Warnings of the plan, of the run and of the analysis, each once."""
    found = [*(facts.plan.warnings if facts.plan else ()), *map(str, facts.info.get("warnings") or ())]
    if facts.analysis is not None:
        found += [*facts.analysis.notes, *facts.analysis.fidelity.warnings]
    return list(dict.fromkeys(found))
