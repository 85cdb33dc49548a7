"""Names in the order people expect: h2 before h10, whatever order a file or a dictionary had."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"(\d+)")


def natural(name: str) -> tuple[tuple[tuple[int, int, str], ...], str]:
    """A sort key that reads digits as numbers; the name itself breaks what is left (h01 and h1)."""
    parts = _DIGITS.split(name)
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts if part), name
