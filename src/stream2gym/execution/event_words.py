"""Events and the progress of a run as lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream2gym.execution.view import LoadProgress

_BROKERS = ("leader", "before")  # fields of the event ``leader``
_SHOWN = {
    "died": "{component} on {host} died: {how}: {cause}",
    "query-failed": "query {query} of {component} failed: {cause}",
    "sink-failed": "{component} on {host} cannot go on: {cause}",
    "late-commit": "{component} on {host}: a commit of an earlier connection reached {store} late, no duplicates",
    "store-lost": "{component} on {host} waits for {store}: {cause}",
    "store-found": "{component} on {host} has found {store} again",
    "source-closed": "{component} on {host}: its source {source} closed the connection",
    "audit-failed": "the stores could not be compared with their topics: {reason}",
    "check-failed": "check {check} did not come to an answer: {reason}",
    "restarted": "{component} on {host} was started again",
    "ignored-stop": "{component} on {host} ignored SIGTERM for {after_s:g} s and was killed",
    "run-failed": "{reason}",
    "warning": "warning: {what}",
    "program": "{component}: {name} {details}",
    "stop-failed": "while stopping: {reason}",
    "monitor-failed": "monitor {monitor} failed: {reason}",
    "monitor-works-again": "monitor {monitor} works again; it saw nothing for {silent_s:g} s",
    "warmed-up": "warmed up in {took_s:g} s with {sent:,} messages, which no performance figure counts",
    "clock-stepped": "the clock of the machine was set by {by_s:+g} s",
    "leader": "partition {partition} of {topic}: leader {before} -> {leader}",
    "fault-applied": "fault {fault} applied",
    "fault-healed": "fault {fault} healed",
}


def shown_event(event: dict[str, Any], nodes: Mapping[int, str] | None = None) -> str | None:
    """The event as a line for people; None for events that are not shown. ``nodes`` has the names of brokers."""
    form = _SHOWN.get(str(event.get("event")))
    if form is None:
        return None
    if event["event"] == "leader":
        event = event | {field: (nodes or {}).get(event.get(field, -1), event.get(field)) for field in _BROKERS}
    return form.format_map(_Known(event)).removesuffix(": ")


class _Known(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return ""


def shown_progress(progress: LoadProgress) -> str:
    words = [f"sent {progress.sent:,}", f"acknowledged {progress.acked:,}", f"received {progress.received:,}"]
    if progress.failed:
        words.append(f"failed {progress.failed:,}")
    if progress.lag is not None:
        words.append(f"behind {progress.lag:,}")
    return "  ".join(words)
