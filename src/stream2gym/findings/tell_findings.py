"""What a run showed, in a few sentences. Pure: from the tables of the analysis, the verdict and the events.

The sentences come in this order: how the run ended if it did not end well, what was done
by hand, what happened, what became of the
messages, what engines did, how fast messages were or what faults cost, expectations that did not pass, and who was
not observed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stream2gym.analysis.job_history import find_jobs
from stream2gym.analysis.program_observation import names_of_unobserved
from stream2gym.analysis.result_tables import Analysis
from stream2gym.analysis.run_history import is_unasked_death, time_of
from stream2gym.findings.delivery_findings import Acks, tell_delivery
from stream2gym.findings.engine_findings import tell_engines
from stream2gym.findings.fault_words import describe_faults
from stream2gym.findings.finding import (
    Finding,
    Phrase,
    Words,
    compose,
    count,
    join_words,
    make_sentence,
    moment,
    name,
)
from stream2gym.findings.finding import names as list_names
from stream2gym.findings.job_words import describe_jobs
from stream2gym.findings.time_findings import tell_times
from stream2gym.judge.measurement import Events
from stream2gym.judge.verdict import Judgement, Verdict

TIMELINE, EXPECTATIONS = "timeline", "expectations"
_MOST_DEATHS = 2
_LONGEST_REASON = 160


def tell_findings(
    analysis: Analysis | None, verdict: Verdict | None, events: Events, acks: Acks | None = None
) -> tuple[Finding, ...]:
    """The findings of a run. ``acks`` has the setting of each producer, where it is known."""
    found = [*_tell_doubts(verdict)]
    if jobs := describe_jobs(find_jobs(events)):
        found.append(make_sentence(jobs))
    if analysis is not None:
        found += _tell_course(analysis, events)
        found += tell_delivery(analysis, events, acks or {})
        found += tell_engines(analysis)
        found += tell_times(analysis)
    else:
        found += _tell_deaths(events)
    found += _tell_expectations(verdict)
    if analysis is not None:
        found += _tell_unobserved(analysis)
    return tuple(found)


def _tell_doubts(verdict: Verdict | None) -> Iterator[Finding]:
    """What makes the whole run doubtful: an interruption, a phase that failed, a fault that was skipped."""
    for doubt in verdict.doubts if verdict else ():
        words = f"the run was {doubt}" if doubt.startswith("interrupted") else doubt
        yield make_sentence((Phrase(_shorten(words), TIMELINE),))


def _tell_course(analysis: Analysis, events: Events) -> Iterator[Finding]:
    faults = describe_faults(analysis.faults)
    if faults:
        yield make_sentence(faults)
    yield from _tell_deaths(events)


def _tell_deaths(events: Events) -> Iterator[Finding]:
    deaths = [event for event in events if is_unasked_death(event)]
    told = [_describe_death(event) for event in deaths[:_MOST_DEATHS]]
    if len(deaths) > _MOST_DEATHS:
        more = count(len(deaths) - _MOST_DEATHS, TIMELINE)
        told.append(compose("{more} more died", more=more))
    if told:
        yield make_sentence(compose("{deaths}; no fault asked for that", deaths=join_words(told, ", ", " and ")))


def _describe_death(event: Mapping[str, Any]) -> Words:
    how = _shorten(str(event.get("how") or "no reason is known"))
    who = name(str(event.get("component", "a component")))
    return compose(
        "{who} died at {at} ({how})", who=who, at=moment(time_of(event), TIMELINE), how=Phrase(how, TIMELINE)
    )


def _tell_expectations(verdict: Verdict | None) -> Iterator[Finding]:
    judgements = verdict.judgements if verdict else ()
    for outcome in ("fail", "unknown"):
        found = [one for one in judgements if one.outcome == outcome]
        if found:
            yield make_sentence(_describe_judgements(found, outcome))


def _describe_judgements(found: list[Judgement], outcome: str) -> Words:
    """The first of several expectations with one outcome, and the number of the others."""
    first = found[0]
    text = Phrase(first.text, EXPECTATIONS, is_name=True)
    if outcome == "fail":
        shown = Phrase(first.shown or first.reason, EXPECTATIONS)
        words = compose("{text} does not hold: {shown}", text=text, shown=shown)
    else:
        reason = Phrase(_shorten(first.reason or "the record does not decide it"), EXPECTATIONS)
        words = compose("whether {text} holds is unknown: {reason}", text=text, reason=reason)
    if len(found) == 1:
        return words
    more = count(len(found) - 1, EXPECTATIONS)
    said = "do not hold either" if outcome == "fail" else "are unknown, too"
    if len(found) == 2:
        said = said.replace("do not", "does not").replace("are", "is")
    return (*words, *compose("; {more} more " + said, more=more))


def _tell_unobserved(analysis: Analysis) -> Iterator[Finding]:
    """Programs of the user whose messages are not on record. Engines are observed on request only."""
    engines = {client.name for client in analysis.clients if client.kind == "engine"}
    noted = [one for note in analysis.notes for one in names_of_unobserved(note)]
    hidden = [client.name for client in analysis.clients if not client.observed]
    found = [one for one in dict.fromkeys([*noted, *hidden]) if one not in engines]
    if found:
        who = list_names(found)
        yield make_sentence(compose("what {who} sent and received is not on record", who=who))


def _shorten(text: str) -> str:
    """The text, or so much of it as a sentence can bear: of a long one without what stands in brackets."""
    if len(text) > _LONGEST_REASON:
        text = re.sub(r" \([^()]*\)", "", text).partition("; ")[0]
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 4].rstrip()} ..."
