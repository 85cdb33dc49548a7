"""What ``s2g job RUN list`` shows: every component of a run, where it is, how it is and where it listens."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from stream2gym.components.base_component import BaseComponent
from stream2gym.components.run_context import RunContext


def describe_jobs(
    parts: Sequence[BaseComponent], context: RunContext, submitted: Collection[str]
) -> list[dict[str, Any]]:
    """Every component as plain data. ``submitted`` are the names of those that joined by hand."""
    handles = [process.handle for part in parts for process in part.processes if process.handle is not None]
    listening = context.network.listening([one for one in handles if one.poll() is None])
    types = {part.name: part.type for part in context.plan.components}
    found = []
    for part in parts:
        address = context.address_of(part.host)
        numbers = [process.handle.number for process in part.processes if process.handle is not None]
        found.append(
            {
                "name": part.name,
                "kind": part.kind,
                "type": types.get(part.name, part.kind),
                "host": part.host,
                "address": address,
                "state": describe_state(part),
                "processes": sum(process.running for process in part.processes),
                "starts": sum(process.starts for process in part.processes),
                "listens": [name_place(place, address) for one in numbers for place in listening.get(one, ())],
                "submitted": part.name in submitted,
            }
        )
    return found


def name_place(place: str, address: str) -> str:
    """Where others reach it: a program that listens on every address of its host is reached at the host's."""
    for everywhere in ("0.0.0.0:", "[::]:"):
        if place.startswith(everywhere):
            return f"{address}:{place.removeprefix(everywhere)}"
    return place


def describe_state(part: BaseComponent) -> str:
    """How a component is, in a word or two."""
    if part.is_retired:
        return "stopped by hand"
    states = [process.state for process in part.processes]
    for bad in ("died", "waiting"):
        if bad in states:
            return "died" if bad == "died" else "starts again soon"
    if all(state == "running" for state in states):
        return "ready" if part.ready() else "starting"
    return states[0] if len(set(states)) == 1 else ", ".join(dict.fromkeys(states))
