"""Reads links that are written on one line: ``h1 -- s1: 5 ms, 100 Mbps, 0.1 % loss, 1 ms jitter``."""

from __future__ import annotations

import re
from typing import Any

_ENDS = re.compile(r"^\s*([^\s:]+)\s*--\s*([^\s:]+)\s*(?::\s*(.*))?$")
_NAMED = ("latency", "jitter", "bandwidth", "loss", "duplicate", "reorder", "corrupt", "queue", "mtu")
_PORTS = re.compile(r"(\d{1,5}|-)\s*/\s*(\d{1,5}|-)")
_DURATION = re.compile(r"^[\d.]+\s*(ns|us|µs|μs|ms|s)$")
_BANDWIDTH = re.compile(r"^[\d.]+\s*[kKMG]?(bps|bit/s|bits/s|b/s)$")


def link_from_text(text: str) -> dict[str, Any]:
    """Split the line into the keys of a link. Values stay text; the model checks them."""
    match = _ENDS.match(text)
    if match is None:
        raise ValueError(f"not a link: {text!r}; write it like 'h1 -- s1: 5 ms, 100 Mbps, 0.1 % loss'")
    link: dict[str, Any] = {"between": (match[1], match[2])}
    for part in filter(None, (piece.strip() for piece in (match[3] or "").split(","))):
        key, value = _setting(part)
        if key in link:
            raise ValueError(f"{text!r} gives {key} twice")
        link[key] = value
    return link


def _setting(part: str) -> tuple[str, Any]:
    """The key and the value of one setting."""
    words = part.split()
    if words[0] == "ports" and (ports := _PORTS.fullmatch(" ".join(words[1:]))):
        return "ports", tuple(None if end == "-" else int(end) for end in ports.groups())
    for name in _NAMED:
        if len(words) > 1 and words[0].rstrip(":=") == name:
            return name, _number(name, " ".join(words[1:]))
        if len(words) > 1 and words[-1] == name:
            return name, _number(name, " ".join(words[:-1]))
    if _DURATION.match(part):
        return "latency", part
    if _BANDWIDTH.match(part) or part == "unlimited":
        return "bandwidth", part
    if part in ("up", "down"):
        return "up", part == "up"
    raise ValueError(
        f"cannot read {part!r}; write settings like '5 ms', '100 Mbps', '0.1 % loss', '1 ms jitter', "
        "'100 packets queue', 'mtu 9000', 'ports 1/4', 'down'"
    )


def _number(name: str, value: str) -> Any:
    return int(value) if name == "mtu" and value.isdecimal() else value
