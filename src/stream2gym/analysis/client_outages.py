"""How long each client saw nothing of a topic because of a fault: no acknowledgements, or no deliveries. Pure.

A *silence* is a run of steps without a message for the client. It lasts until the next message. A silence without a
next message is open: it lasts at least until sending ended or the next fault began. The open silence of a consumer
does not count when its group is owed nothing at the end, because then other members of the group took over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stream2gym.analysis.debt import BEFORE_S, Counts
from stream2gym.analysis.message_steps import Client
from stream2gym.analysis.result_tables import FaultRow, OutageRow


@dataclass(frozen=True)
class Silence:
    """A run of steps without a message. ``is_open``: no message ended it."""

    steps: int
    is_open: bool = False


def find_outages(
    fault: FaultRow, clients: Mapping[Client, Counts], sending_ends: Mapping[Client, int], step_s: float
) -> list[OutageRow]:
    """The silences of every client that had messages before the fault.

    ``sending_ends`` gives for each client the step after the last one in which a message for it was due. A client
    without an entry has received all that it should.
    """
    rows = []
    first = int(fault.from_s / step_s + 1e-9)
    undisturbed_end = int(fault.undisturbed_until_s / step_s + 1e-9)
    horizon = int(fault.horizon_s / step_s + 1e-9)
    begin = undisturbed_end - round(BEFORE_S / step_s)
    for client, counts in sorted(clients.items()):
        seen = [step for step in range(begin, undisturbed_end) if counts.get(step)]
        if not seen:
            continue
        # The mean number of steps from one step with messages to the next.
        usual = (undisturbed_end - max(begin, min(counts))) / len(seen)
        start = seen[-1] + 1 if undisturbed_end == first else first
        ends = sending_ends.get(client)
        found = find_silences(counts, start, horizon if ends is None else ends, horizon)
        if ends is None:
            found = [silence for silence in found if not silence.is_open]
        long = [silence for silence in found if silence.steps > 2 * usual + 1]
        longest = max(long, key=lambda silence: silence.steps, default=Silence(0))
        rows.append(
            OutageRow(
                fault.fault,
                fault.instance,
                client.side,
                client.topic,
                client.client,
                client.group,
                longest_s=longest.steps * step_s,
                total_s=sum(silence.steps for silence in long) * step_s,
                # The open silence is the last one. It may have become the longest, however short it is so far.
                longest_open=any(silence.is_open for silence in long),
                total_open=any(silence.is_open for silence in long),
            )
        )
    return rows


def find_silences(counts: Counts, first: int, sending_ends: int, horizon: int) -> list[Silence]:
    """The silences that begin while messages are sent. The last one may end later."""
    found, run = [], 0
    for step in range(first, horizon):
        if counts.get(step):
            if run:
                found.append(Silence(run))
            run = 0
        elif run or step < sending_ends:
            run += 1
    if run:
        began = horizon - run
        found.append(Silence(min(run, sending_ends - began), is_open=True))
    return found
