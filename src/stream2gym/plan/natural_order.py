"""Sorts names as people expect: h2 before h10."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"(\d+)")


def natural(name: str) -> tuple[tuple[tuple[int, int, str], ...], str]:
    """A sort key that reads digits as numbers. Names that are still equal (h01 and h1) are compared as text."""
    parts = _DIGITS.split(name)
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts if part), name
