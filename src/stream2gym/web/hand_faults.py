"""Faults by hand from the page: the same requests at the socket of the run as ``s2g fault``, with the same events."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stream2gym.errors import BadInput, Mistake
from stream2gym.execution.fault_server import send_request

_ALLOWED = frozenset(("name", "do", "on", "for", "settings"))


def hand_fault_name(kind: str, clock_ns: int) -> str:
    """The name of a fault that a person asked for without naming it."""
    return f"{kind}-by-hand-{clock_ns // 1_000_000 % 1_000_000}"


def check_fault_request(body: Any) -> dict[str, Any]:
    """The request to the run; BadInput says what is wrong with its form. The run itself checks the fault."""
    if not isinstance(body, Mapping):
        raise BadInput(Mistake("request", "is no JSON object", '{"do": "apply", "fault": {...}}'))
    match body.get("do"):
        case "list":
            return {"do": "list"}
        case "heal":
            if not isinstance(body.get("name"), str):
                raise BadInput(Mistake("heal", "does not say which fault", '{"do": "heal", "name": NAME}'))
            return {"do": "heal", "name": body["name"]}
        case "apply":
            return {"do": "apply", "fault": _check_fault(body.get("fault"))}
    raise BadInput(Mistake("do", f"{body.get('do')!r} is no request", "apply, heal or list"))


def send_fault_request(folder: Path, body: Any) -> Any:
    """Check a request of the page and send it to the run. Returns the run's answer."""
    return send_request(folder, check_fault_request(body))


def _check_fault(fault: Any) -> dict[str, Any]:
    if not isinstance(fault, Mapping) or not isinstance(fault.get("do"), str):
        raise BadInput(Mistake("fault", "has no kind", '{"do": "down", "on": ["h1 -- s1"]}'))
    unknown = sorted(set(map(str, fault)) - _ALLOWED)
    if unknown:
        raise BadInput(Mistake("fault", f"unknown keys: {', '.join(unknown)}", ", ".join(sorted(_ALLOWED))))
    on = fault.get("on", [])
    if not isinstance(on, list) or not all(isinstance(target, str) for target in on):
        raise BadInput(Mistake("fault", "'on' is no list of names", '["h1 -- s1"]'))
    settings = fault.get("settings", {})
    if not isinstance(settings, Mapping):
        raise BadInput(Mistake("fault", "'settings' is no object", '{"latency": "50 ms"}'))
    checked = {"do": fault["do"], "on": on, "settings": dict(settings)}
    if fault.get("for"):
        checked["for"] = str(fault["for"])
    checked["name"] = str(fault.get("name") or hand_fault_name(fault["do"], time.monotonic_ns()))
    return checked
