"""The targets of a fault as text: a name, a link, a glob, or a role that is resolved when the fault is due.

h1   broker-h2   h1 -- s1   broker-*   * -- s1
leader of TOPIC[/PARTITION]   follower of TOPIC[/PARTITION]   controller   coordinator of GROUP
busiest [N] links   random [N] of GLOB
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

FORMS = (
    "a name, 'h1 -- s1', a glob, 'leader of TOPIC', 'follower of TOPIC', 'controller', 'coordinator of GROUP', "
    "'busiest 3 links' or 'random 2 of broker-*'"
)
_LINK = re.compile(r"(\S+)\s+--\s+(\S+)")
_ROLE = re.compile(r"(leader|follower|coordinator)\s+of\s+(\S+?)(?:/(\d+))?")
_BUSIEST = re.compile(r"busiest(?:\s+(\d{1,6}))?\s+links?")
_RANDOM = re.compile(r"random(?:\s+(\d{1,6}))?\s+of\s+(.+)")


@dataclass(frozen=True)
class Target:
    """A parsed target. ``form`` is name (also a glob), link, random, busiest, or one of the roles."""

    form: str
    text: str
    ends: tuple[str, str] = ("", "")
    # The topic or the consumer group of a role.
    subject: str = ""
    partition: int | None = None
    count: int = 1
    among: Target | None = None


def parse_target(text: str) -> Target:
    """Read one target. A ValueError says what would be right."""
    words = " ".join(text.split())
    if found := _RANDOM.fullmatch(words):
        return Target("random", words, count=int(found[1] or 1), among=parse_target(found[2]))
    if found := _BUSIEST.fullmatch(words):
        return Target("busiest", words, count=int(found[1] or 1))
    if found := _ROLE.fullmatch(words):
        part = int(found[3]) if found[3] else None
        return Target(found[1], words, subject=found[2], partition=part)
    if words in ("controller", "active controller"):
        return Target("controller", words)
    if found := _LINK.fullmatch(words):
        return Target("link", words, ends=(found[1], found[2]))
    if not words or " " in words:
        raise ValueError(f"not a target: {text!r}; write {FORMS}")
    return Target("name", words)


def matches_link(target: Target, a: str, b: str) -> bool:
    """Whether a target of form link matches this link. The order of the ends does not matter."""
    x, y = target.ends
    return (fnmatchcase(a, x) and fnmatchcase(b, y)) or (fnmatchcase(a, y) and fnmatchcase(b, x))
