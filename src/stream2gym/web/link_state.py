"""What faults make of the links and the hosts of a plan at a moment, told from the events of the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from stream2gym.kinds.fault_settings import DegradeSettings
from stream2gym.link import LinkSettings
from stream2gym.plan.planned import PlannedLink
from stream2gym.web.run_story import FaultSpan


@dataclass(frozen=True)
class LinkState:
    """The settings of both directions of a link, and the faults that changed them."""

    forward: LinkSettings
    backward: LinkSettings
    faults: tuple[str, ...] = ()
    # Goes up and down, or changes step by step: its settings at this moment are not on record.
    is_changing: bool = False

    @property
    def is_up(self) -> bool:
        return self.forward.up and self.backward.up


def links_under_faults(links: Sequence[PlannedLink], faults: Iterable[FaultSpan]) -> dict[str, LinkState]:
    """The state of every link while these faults are in force. They are given in the order in which they began."""
    states = {link.name: LinkState(link.forward, link.backward) for link in links}
    for fault in faults:
        for link in links:
            if link.name in fault.on:
                states[link.name] = _change(states[link.name], fault)
            elif fault.do == "switch-down" and (link.a in fault.on or link.b in fault.on):
                states[link.name] = _note(_down(states[link.name], "both"), fault)
    return states


def hosts_apart(hosts: Iterable[str], faults: Iterable[FaultSpan]) -> dict[str, str]:
    """What keeps hosts from reaching others, in words, by host."""
    found: dict[str, str] = {}
    names = set(hosts)
    for fault in faults:
        if fault.do == "isolate":
            found |= dict.fromkeys((host for host in fault.on if host in names), "isolated")
        elif fault.do == "host-off":
            found |= dict.fromkeys((host for host in fault.on if host in names), "off")
        elif fault.do == "partition":
            for text in fault.on:
                for number, group in enumerate(text.split(" | "), 1):
                    found |= {host: f"side {number} of {fault.name}" for host in group.split() if host in names}
    return found


def _change(state: LinkState, fault: FaultSpan) -> LinkState:
    ways = str(fault.settings.get("ways", "both"))
    if fault.do == "down":
        return _note(_down(state, ways), fault)
    if fault.do in ("degrade", "slow"):
        try:
            change = DegradeSettings.model_validate(fault.settings)
        except ValidationError:
            return replace(_note(state, fault), is_changing=True)
        forward = state.forward if ways == "backward" else change.apply(state.forward)
        backward = state.backward if ways == "forward" else change.apply(state.backward)
        return _note(replace(state, forward=forward, backward=backward), fault)
    return replace(_note(state, fault), is_changing=True)


def _down(state: LinkState, ways: str) -> LinkState:
    forward = state.forward if ways == "backward" else replace(state.forward, up=False)
    backward = state.backward if ways == "forward" else replace(state.backward, up=False)
    return replace(state, forward=forward, backward=backward)


def _note(state: LinkState, fault: FaultSpan) -> LinkState:
    return replace(state, faults=(*state.faults, fault.name))
