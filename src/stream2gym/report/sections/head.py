"""The top of the page: which run, the verdict and why, and any loss, too loud to be overlooked."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime

from stream2gym.analysis.tables import Analysis
from stream2gym.figures.draw import escaped
from stream2gym.figures.numbers import show
from stream2gym.judge.verdict import Outcome, Verdict
from stream2gym.report.choose import listed
from stream2gym.report.facts import Facts

ICONS = {"pass": "✓", "fail": "✕", "unknown": "?"}
_WORDS: dict[Outcome, str] = {"fail": "failed", "unknown": "unknown", "pass": "held"}
_STATES = {
    "running": "The run is still going on.",
    "failed": "The run failed before its end.",
    "interrupted": "The run was interrupted; what is there was judged.",
    "crashed": "The run ended without a word; what is there was kept.",
}


def head(facts: Facts) -> str:
    return (
        f'<div class="brand">stream2gym report</div><h1>{escaped(facts.name)}</h1>'
        f'<p class="soft">{escaped(_subtitle(facts))}</p>{_banner(facts)}{_loss(facts.analysis)}'
    )


def outcome(facts: Facts) -> Outcome:
    return facts.verdict.outcome if facts.verdict else "unknown"


def _subtitle(facts: Facts) -> str:
    words = [facts.folder.name]
    started = facts.info.get("t0_wall") or facts.info.get("created")
    if started:
        words.append(_moment(str(started)))
    if facts.analysis is not None:
        words.append(f"{show(facts.analysis.load_s, 's')} of load")
    words.append(f"seed {facts.info.get('seed', '?')}")
    return " · ".join(words)


def _moment(text: str) -> str:
    try:
        return f"{datetime.fromisoformat(text):%d %b %Y, %H:%M:%S %Z}".strip()
    except ValueError:
        return text


def _banner(facts: Facts) -> str:
    found = outcome(facts)
    lines = [*_why(facts.verdict), *([_STATES[facts.state]] if facts.state in _STATES else [])]
    inside = "".join(f"<p>{escaped(line)}</p>" for line in lines)
    return (
        f'<div class="verdict {found}" role="status"><div class="icon" aria-hidden="true">{ICONS[found]}</div>'
        f"<div><strong>{found.capitalize()}</strong>{inside}</div></div>"
    )


def _why(verdict: Verdict | None) -> list[str]:
    """The verdict in a few sentences."""
    if verdict is None:
        return ["Nothing has judged this run yet."]
    return [_tally(verdict), *verdict.failures, *verdict.doubts]


def _tally(verdict: Verdict) -> str:
    total = len(verdict.judgements)
    counts = Counter(judgement.outcome for judgement in verdict.judgements)
    if not total:
        quiet = not verdict.failures and not verdict.doubts
        return "Nothing in particular was expected" + (", and nothing died unasked." if quiet else ".")
    if counts["pass"] == total:
        return "The one expectation holds." if total == 1 else f"All {total} expectations hold."
    words = [f"{counts[kind]} {word}" for kind, word in _WORDS.items() if counts[kind]]
    return (
        f"Of {total} expectations {', '.join(words)}."
        if total > 1
        else f"The one expectation: {words[0][2:]}."
    )


def _loss(analysis: Analysis | None) -> str:
    """Every acknowledged message that did not arrive, by topic; shown whether or not anybody expected none."""
    if analysis is None:
        return ""
    lost: dict[tuple[str, str], int] = defaultdict(int)
    expected: dict[tuple[str, str], int] = defaultdict(int)
    for row in analysis.audit:
        lost[row.topic, row.group] += row.lost
        expected[row.topic, row.group] += row.expected
    total = sum(lost.values())
    quiet = sum(row.unconfirmed_lost for row in analysis.audit)
    if not total and not quiet:
        return ""
    places = [
        f"{topic} → {group}: {show(count)} of {show(expected[topic, group])} "
        f"({show(count / (expected[topic, group] or count), 'share')})"
        for (topic, group), count in sorted(lost.items(), key=lambda item: -item[1])
        if count
    ]
    lines = [listed(places, 6)] if places else []
    if quiet:
        lines.append(
            f"{show(quiet)} messages sent with acks 0 never arrived either; nobody had promised them."
        )
    title = f"{show(total)} acknowledged {'message was' if total == 1 else 'messages were'} lost"
    if not total:
        title = "Messages sent with acks 0 were lost"
    inside = "".join(f"<p>{escaped(line)}</p>" for line in lines)
    return (
        f'<div class="loss" role="alert"><strong>{escaped(title)}</strong>{inside}'
        '<p><a href="#delivery">See the audit and its evidence</a></p></div>'
    )
