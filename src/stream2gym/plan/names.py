"""Names in the order people expect: h2 before h10, whatever order a file or a dictionary had."""

from __future__ import annotations

import re
from collections.abc import Iterable

_DIGITS = re.compile(r"(\d+)")


def natural(name: str) -> tuple[tuple[tuple[int, int, str], ...], str]:
    """A sort key that reads digits as numbers; the name itself breaks what is left (h01 and h1)."""
    parts = _DIGITS.split(name)
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts if part), name


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint naming the closest known name, else what there is."""
    from difflib import get_close_matches  # slow to import, and mistakes are rare

    names = sorted(known, key=natural)
    close = get_close_matches(name, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")
    return f"there are: {shown}" if names else "there are none"
