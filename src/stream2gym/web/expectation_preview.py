"""What can be said of the expectations of a run while it goes on: holding, broken or unknown so far.

This is a preview. Only counts (of all messages or of one topic), latency and leader changes are compared; what
cannot be compared yet is unknown. The verdict comes from the audit after the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stream2gym.kinds.expectation_grammar import Expectation, parse_expectation
from stream2gym.web import message_preview as messages
from stream2gym.web.message_preview import of_topic
from stream2gym.web.run_story import RunStory

# Counts that only grow: an upper bound can be broken for good, a lower bound can be met for good.
_COUNTS = {
    "sent": messages.SENT, "acknowledged": messages.ACKNOWLEDGED, "failed": messages.FAILED,
    "received": messages.RECEIVED, "lost": messages.LOST, "duplicated": messages.DUPLICATED,
}  # fmt: skip
_TIME = re.compile(r"\bat (-?\d+(?:\.\d+)?) s\b")
_SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}


@dataclass(frozen=True)
class PresentState:
    """Whether an expectation holds so far, and what was seen."""

    word: str  # holding, broken, unknown
    shown: str = ""


def preview_expectations(
    story: RunStory, at_ns: int, t0_ns: int, verdict: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Every expectation with its state at a moment, its judgement if there is one, and the moments it is about."""
    judged = {str(one.get("text")): one for one in (verdict or {}).get("judgements", ())}
    rows = []
    for text in story.experiment.get("expect") or ():
        try:
            expectation = parse_expectation(str(text))
        except ValueError:
            continue
        state = present_state(expectation, story, at_ns)
        judgement = judged.get(expectation.text, {})
        rows.append(
            {
                "text": expectation.text,
                "now": state.word,
                "shown": state.shown,
                "verdict": judgement.get("outcome"),
                "measured": judgement.get("shown") or "",
                "reason": judgement.get("reason") or "",
                "evidence": [{"text": text, "t": find_time(text)} for text in judgement.get("evidence") or ()],
                "moments": [round((moment - t0_ns) / 1e9, 2) for moment in find_moments(expectation, story)],
            }
        )
    return rows


def find_time(text: str) -> float | None:
    """The first moment that a piece of evidence names, in seconds from t0."""
    found = _TIME.search(text)
    return None if found is None else float(found[1])


def present_state(expectation: Expectation, story: RunStory, at_ns: int) -> PresentState:
    """Whether an expectation holds at a moment, as far as the preview can tell."""
    topic = expectation.filters.get("topic")
    if story.phases.at(at_ns) is None or expectation.filters.keys() - {"topic"} or (topic and _is_pattern(topic)):
        return PresentState("unknown")
    buckets = story.buckets
    bucket = buckets.bucket(at_ns)
    name = expectation.metric
    if name in _COUNTS and expectation.stat == "total" and not (topic and name in ("lost", "duplicated")):
        key = of_topic(_COUNTS[name], topic) if topic else _COUNTS[name]
        return growing_state(expectation, max(0, round(buckets.total(key, bucket))))
    if topic:
        return PresentState("unknown")
    if name == "leader_changes":
        return growing_state(expectation, sum(1 for moment in story.elections if moment <= at_ns))
    if name == "latency" and (share := _SHARES.get(expectation.stat)):
        values = buckets.latencies_until(bucket)
        if not values:
            return PresentState("unknown")
        return compared(expectation, values[min(len(values) - 1, int(share * len(values)))])
    return PresentState("unknown")


def growing_state(expectation: Expectation, count: int) -> PresentState:
    """The state of an expectation on a count that can only grow."""
    shown = f"{count:,} so far"
    holds = expectation.holds(count)
    if expectation.op in (">", ">=", "!="):
        # A lower bound that is not reached yet may still be reached.
        return PresentState("holding" if holds else "unknown", shown)
    if expectation.op == "==" and count < expectation.value:
        return PresentState("unknown", shown)
    return PresentState("holding" if holds else "broken", shown)


def compared(expectation: Expectation, value: float) -> PresentState:
    shown = f"{expectation.definition.unit(float(f'{value:.3g}'))} so far"
    return PresentState("holding" if expectation.holds(value) else "broken", shown)


def find_moments(expectation: Expectation, story: RunStory) -> list[int]:
    """The moments that an expectation is about, at most three: its fault, the first loss, the slowest time."""
    buckets = story.buckets
    wanted = expectation.filters.get("fault")
    if wanted:
        return [one.start_ns for one in story.faults if one.name == wanted][:3]
    if expectation.metric in ("lost", "duplicated", "duplicated_in_log", "failed"):
        key = _COUNTS.get(expectation.metric, messages.DUPLICATED)
        return _starts(story, buckets.buckets_of(key)[:1])
    if expectation.metric == "leader_changes":
        return story.elections[:3]
    if expectation.metric == "latency":
        slowest = max(buckets.buckets_with_latency(), key=lambda at: buckets.latency(at, 0.99) or 0.0, default=None)
        return [] if slowest is None else _starts(story, [slowest])
    return []


def _is_pattern(name: str) -> bool:
    return any(character in name for character in "*?[")


def _starts(story: RunStory, numbers: Iterable[int]) -> list[int]:
    return [story.buckets.start_ns(number) for number in numbers]
