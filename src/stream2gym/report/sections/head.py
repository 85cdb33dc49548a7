"""The top of the page: which run it is, the verdict and why, and a banner when messages were lost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime

from stream2gym.analysis.result_tables import Analysis
from stream2gym.analysis.run_history import find_warmup
from stream2gym.figures.markup import EMPTY, Markup, element, join
from stream2gym.figures.number_text import show
from stream2gym.findings.finding import Finding, Phrase
from stream2gym.judge.verdict import Outcome, Verdict
from stream2gym.report.blocks import join_names, paragraph
from stream2gym.report.facts import Facts

ICONS = {"pass": "✓", "fail": "✕", "unknown": "?"}
_WORDS: dict[Outcome, str] = {"fail": "failed", "unknown": "unknown", "pass": "held"}
_STATES = {
    "running": "The run is still going on.",
    "failed": "The run failed before its end.",
    "interrupted": "The run was interrupted; what is there was judged.",
    "crashed": "The run ended without a word; what is there was kept.",
}


def make_head(facts: Facts, known_ids: Collection[str] = ()) -> Markup:
    """The top of the page. Findings link to those parts of the page whose ids are known."""
    brand = element("div", "stream2gym report", class_="brand")
    title = element("h1", facts.name)
    return join(
        (
            brand,
            title,
            paragraph(_make_subtitle(facts), "soft"),
            _make_banner(facts),
            _make_loss_banner(facts.analysis),
            _make_findings(facts.findings, known_ids),
        )
    )


def _make_findings(findings: Sequence[Finding], known_ids: Collection[str]) -> Markup:
    """The findings, with a link from each number to the part of the page that proves it."""
    if not findings:
        return EMPTY
    sentences = (element("p", *(_make_phrase(one, known_ids) for one in found.phrases)) for found in findings)
    return element("div", *sentences, class_="findings", role="note", aria_label="What the run showed")


def _make_phrase(phrase: Phrase, known_ids: Collection[str]) -> Markup | str:
    if phrase.evidence not in known_ids:
        return phrase.text
    return element("a", phrase.text, href=f"#{phrase.evidence}")


def find_outcome(facts: Facts) -> Outcome:
    return facts.verdict.outcome if facts.verdict else "unknown"


def _make_subtitle(facts: Facts) -> str:
    words = [facts.folder.name]
    started = facts.info.get("t0_wall") or facts.info.get("created")
    if started:
        words.append(_format_time(str(started)))
    if facts.analysis is not None:
        words.append(f"{show(facts.analysis.load_s, 's')} of load{_describe_warmup(facts)}")
    words.append(f"seed {facts.info.get('seed', '?')}")
    return " · ".join(words)


def _describe_warmup(facts: Facts) -> str:
    """How long the warm-up before the load took, and how many messages it had; empty without one."""
    warmup = find_warmup(facts.phases)
    if facts.analysis is None or warmup is None or warmup.seconds is None:
        return ""
    messages = sum(row.warmup for row in facts.analysis.sent)
    return f" after a warm-up of {show(warmup.seconds, 's')} with {show(messages)} messages"


def _format_time(text: str) -> str:
    try:
        return f"{datetime.fromisoformat(text):%d %b %Y, %H:%M:%S %Z}".strip()
    except ValueError:
        return text


def _make_banner(facts: Facts) -> Markup:
    found = find_outcome(facts)
    lines = [*_explain_verdict(facts), *([_STATES[facts.state]] if facts.state in _STATES else [])]
    icon = element("div", ICONS[found], class_="icon", aria_hidden="true")
    words = element("div", element("strong", found.capitalize()), *map(paragraph, lines))
    return element("div", icon, words, class_=f"verdict {found}", role="status")


def _explain_verdict(facts: Facts) -> list[str]:
    """The reasons of the verdict, in sentences. The name of a component at the beginning of one stays as it is."""
    verdict = facts.verdict
    if verdict is None:
        return ["Nothing has judged this run yet."]
    names = {part.name for part in facts.plan.components} if facts.plan else set()
    return [
        _count_outcomes(verdict),
        *verdict.failures,
        *verdict.doubts,
        *(f"{one if one.split()[0] in names else capitalise(one)}." for one in verdict.remarks),
    ]


def capitalise(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _count_outcomes(verdict: Verdict) -> str:
    total = len(verdict.judgements)
    counts = Counter(judgement.outcome for judgement in verdict.judgements)
    if not total:
        quiet = not verdict.failures and not verdict.doubts
        return "Nothing was expected" + (", nothing died." if quiet else ".")
    if counts["pass"] == total:
        return "The one expectation holds." if total == 1 else f"All {total} expectations hold."
    words = [f"{counts[kind]} {word}" for kind, word in _WORDS.items() if counts[kind]]
    return f"Of {total} expectations {', '.join(words)}." if total > 1 else f"The one expectation: {words[0][2:]}."


def _make_loss_banner(analysis: Analysis | None) -> Markup:
    """A banner that counts the lost messages by topic and group, whatever was expected. Empty: none was lost."""
    if analysis is None:
        return EMPTY
    lost: dict[tuple[str, str], int] = defaultdict(int)
    expected: dict[tuple[str, str], int] = defaultdict(int)
    for row in analysis.audit:
        lost[row.topic, row.group] += row.lost
        expected[row.topic, row.group] += row.expected
    total = sum(lost.values())
    quiet = sum(row.unconfirmed_lost for row in analysis.audit)
    if not total and not quiet:
        return EMPTY
    places = [
        f"{topic} → {group}: {show(count)} of {show(expected[topic, group])} "
        f"({show(count / (expected[topic, group] or count), 'share')})"
        for (topic, group), count in sorted(lost.items(), key=lambda item: -item[1])
        if count
    ]
    lines = [join_names(places, 6)] if places else []
    if quiet:
        lines.append(
            f"{show(quiet)} messages sent with acks 0 were not received either; nobody had acknowledged them."
        )
    title = f"{show(total)} acknowledged {'message was' if total == 1 else 'messages were'} lost"
    if not total:
        title = "Messages sent with acks 0 were lost"
    link = element("a", "See the audit and its evidence", href="#delivery")
    inside = (element("strong", title), *map(paragraph, lines), element("p", link))
    return element("div", *inside, class_="loss", role="alert")
