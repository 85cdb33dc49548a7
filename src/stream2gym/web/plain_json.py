"""JSON for the page: as short as possible, and without the infinities that JSON has no word for."""

from __future__ import annotations

import json
import math
from typing import Any


def encode(value: Any) -> bytes:
    """The value as JSON. Numbers that are not finite become null."""
    try:
        return _dump(value)
    except ValueError:
        return _dump(_finite(value))


def _dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), default=str, allow_nan=False).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
