"""What faults did, in words: a verb for each kind, and one for its undo. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from stream2gym.analysis.result_tables import FaultRow
from stream2gym.findings.finding import Words, compose, count, join_words, moment, name, names

_MOST_TOLD = 2
EVIDENCE = "table-faults-table"


@dataclass(frozen=True)
class _Verbs:
    """What happened to a target, and what happened when the fault was undone (empty: its end is told as a time)."""

    did: str
    undone: str = ""
    # What the target is called in front of its name.
    noun: str = ""
    # What is said of a fault that was not undone.
    stayed: str = ""


_VERBS = {
    "down": _Verbs("{was} cut", "carried packets again", "link", "stayed so"),
    "flap": _Verbs("went down and up in turn", noun="link"),
    "degrade": _Verbs("{was} degraded", noun="link"),
    "ramp": _Verbs("changed gradually", noun="link"),
    "isolate": _Verbs("{was} cut off", "{was} reachable again", stayed="stayed so"),
    "switch-down": _Verbs("forwarded nothing", noun="switch"),
    "move": _Verbs("moved to another switch", "moved back"),
    "kill": _Verbs("{was} killed", "started again", stayed="not started again"),
    "stop": _Verbs("{was} stopped", "started again", stayed="not started again"),
    "pause": _Verbs("{was} paused", "went on", stayed="did not go on"),
    "restart": _Verbs("{was} restarted"),
    "crash-loop": _Verbs("{was} killed and started again and again"),
    "host-off": _Verbs("lost power", "came back", stayed="did not come back"),
    "cpu": _Verbs("had less CPU"),
    "memory": _Verbs("had less memory"),
    "disk-full": _Verbs("had no storage left"),
    "move-leader": _Verbs("got another leader", noun="topic"),
    "reassign": _Verbs("got other replicas", noun="topic"),
    "delete-records": _Verbs("lost its oldest records to a deletion", noun="topic"),
    "delete-topic": _Verbs("{was} deleted", noun="topic"),
}
_MOMENTARY = ("restart", "move-leader", "reassign", "delete-records", "delete-topic")


def describe_faults(faults: Sequence[FaultRow]) -> Words:
    """What all faults of a run did, as one part of a sentence. Empty: there were none."""
    if not faults:
        return ()
    told = sorted(faults, key=lambda row: row.from_s)
    if len(told) <= _MOST_TOLD:
        return join_words([describe_fault(row) for row in told], ", and then ", ", and then ")
    ends = [row.from_s if row.to_s is None else row.to_s for row in told]
    kinds = Counter(row.kind for row in told)
    return compose(
        "{number} faults were injected between {first} and {last}: {kinds}",
        number=count(len(told), EVIDENCE),
        first=moment(told[0].from_s, EVIDENCE),
        last=moment(max(ends), EVIDENCE),
        kinds=join_words([_describe_number(kind, number) for kind, number in kinds.items()], ", ", " and "),
    )


def _describe_number(kind: str, number: int) -> Words:
    if number == 1:
        return compose("one {kind}", kind=name(kind))
    return compose("{number} times {kind}", number=count(number, EVIDENCE), kind=name(kind))


def describe_fault(row: FaultRow) -> Words:
    """What one occurrence of a fault did, and when it was undone."""
    verbs = _VERBS.get(row.kind)
    if row.kind == "partition":
        return _describe_time(row, _Verbs("the network was partitioned", "it was whole again", stayed="it stayed so"))
    if verbs is None:
        subject = compose("fault {fault} ({kind})", fault=name(row.fault), kind=name(row.kind))
        return (*subject, *_describe_time(row, _Verbs(" was in force")))
    subject = _describe_target(row.on, verbs.noun)
    return (*subject, *_describe_time(row, _Verbs(f" {verbs.did}", verbs.undone, stayed=verbs.stayed)))


def _describe_target(on: Sequence[str], noun: str) -> Words:
    if not on:
        return compose("nothing" if not noun else f"no {noun}")
    if not noun:
        return (names(on),)
    nouns = noun if len(on) == 1 else f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return compose(f"the {nouns} {{on}}", on=names(on))


def _describe_time(row: FaultRow, verbs: _Verbs) -> Words:
    was = "was" if len(row.on) == 1 else "were"
    did, undone, stayed = (text.replace("{was}", was) for text in (verbs.did, verbs.undone, verbs.stayed))
    first = moment(row.from_s, EVIDENCE)
    if row.to_s is not None and row.kind not in _MOMENTARY:
        last = moment(row.to_s, EVIDENCE)
        if undone:
            return compose(f"{did} at {{first}} and {undone} at {{last}}", first=first, last=last)
        return compose(f"{did} from {{first}} to {{last}}", first=first, last=last)
    if row.kind in _MOMENTARY:
        return compose(f"{did} at {{first}}", first=first)
    if stayed:
        return compose(f"{did} at {{first}} and {stayed}", first=first)
    return compose(f"{did} from {{first}} on", first=first)
