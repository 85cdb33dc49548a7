"""Follows a run in a thread of its own, and hands out snapshots to as many pages as ask.

Pages never wait for each other: each has its own place in the story and takes what is new since then. A page that
reads slowly gets fewer and newer snapshots, and of the events the latest ones.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from typing import Any

from stream2gym.errors import BadInput
from stream2gym.execution.fault_server import SOCKET
from stream2gym.plan.planned import Plan
from stream2gym.record.folder import RunFolder
from stream2gym.web.expectation_preview import preview_expectations
from stream2gym.web.plain_json import encode
from stream2gym.web.record_tail import RecordTail
from stream2gym.web.results import latest_rows, latest_values, list_results
from stream2gym.web.run_picture import draw_picture, draw_pipeline
from stream2gym.web.run_story import RunStory, read_plan, read_story
from stream2gym.web.snapshot import snapshot_at
from stream2gym.web.timelines import moments_of_run, object_series, timelines_from

LOOK_S = 0.5
EVENTS_A_FRAME = 300
# Buckets at the end of the time lines that later looks may still change.
OPEN_BUCKETS = 4
# The event of a job that has joined the run, and with it the plan and the experiment in the run folder.
JOINED = "job-submitted"


class RunWatch:
    """Handle of the thread that follows a run. ``when_new`` is called after every look, in that thread."""

    def __init__(
        self, folder: RunFolder, when_new: Callable[[], None] = lambda: None, look_s: float = LOOK_S
    ) -> None:
        self.folder = folder
        self._when_new = when_new
        self._look_s = look_s
        self._info = folder.info
        self.is_live = folder.is_running()
        self._story: RunStory = read_story(folder)
        self._tail = RecordTail(folder)
        self._telling = threading.Lock()
        self._stopping = threading.Event()
        self._verdict: dict[str, Any] | None = None
        # How many looks there were: pages wait for the next one.
        self.looks = 0
        # The latest snapshot as JSON, and the look that it is of.
        self._trouble = ""
        self._newest: tuple[int, bytes] | None = None
        self._look_once()
        self._thread = threading.Thread(target=self._follow, name="s2g-watch", daemon=True)
        self._thread.start()

    def stop_following(self) -> None:
        """End the thread after one more look, so that the last state of the run is known."""
        if not self._stopping.is_set():
            self._stopping.set()
            self._thread.join(10.0)
            if self.is_live:
                self._look_once()
                self.looks += 1

    def close(self) -> None:
        """End the thread and close the record."""
        self.stop_following()
        self._tail.close()

    # ---- what pages ask for

    @property
    def t0_ns(self) -> int:
        """The start of the load; before it, the start of the run."""
        t0_ns = self._info.get("t0_ns")
        return int(self._info["created_ns"] if t0_ns is None else t0_ns)

    @property
    def state(self) -> str:
        """The state of the run; one that nobody owns any more and that did not end has crashed."""
        state = str(self._info["state"])
        return "crashed" if state == "running" and not self.is_live else state

    def picture(self, t_s: float | None = None) -> dict[str, Any]:
        """The run, its topology, its pipeline, its experiment. They change only when a job joins or is moved.

        ``picture`` is the number of the picture, which a snapshot of the same moment has, too.
        """
        with self._telling:
            story = self._story
            at_ns = self._moment(t_s)
            plan = story.jobs.plan_at(story.plan, at_ns)
            number = story.jobs.picture_at(at_ns)
            experiment = story.experiment
        info = self._info
        return {
            "run": info["id"], "name": info["name"], "seed": info.get("seed"), "created": info.get("created"),
            "load_s": plan.load_s, "picture": number, "topology": draw_picture(plan),
            "pipeline": draw_pipeline(plan, experiment), "planned_faults": [one.to_json() for one in plan.faults],
        }  # fmt: skip

    def times(self) -> dict[str, Any]:
        """The first and the last moment that a replay can show, and whether t0 is known."""
        with self._telling:
            # What is fetched before there is a network is no part of the replay.
            phases = zip(self._story.phases.times, self._story.phases.values, strict=True)
            begin_ns = next((at_ns for at_ns, name in phases if name == "network"), self._story.created_ns)
            first = (begin_ns - self.t0_ns) / 1e9
            last = (self._story.newest_ns - self.t0_ns) / 1e9
        return {"first": round(first, 3), "last": round(last, 3), "has_load": self._info.get("t0_ns") is not None}

    def snapshot(self, t_s: float | None = None) -> dict[str, Any]:
        """The run at a moment; without one, now."""
        with self._telling:
            return self._snapshot(t_s)

    def timelines(self, first: int = 0) -> dict[str, Any]:
        """The time lines from a bucket on, and the moments that they mark."""
        with self._telling:
            return self._timelines(first)

    def events(self, number: int, most: int) -> dict[str, Any]:
        """The events from a number on, at most the latest so many."""
        with self._telling:
            return self._events(number, most)

    def series_of(self, names: set[str]) -> dict[str, Any]:
        """Every series about these objects."""
        with self._telling:
            origin_s = (self._story.created_ns - self.t0_ns) / 1e9
            width_s = self._story.buckets.width_ns / 1e9
            return {"origin": origin_s, "width_s": width_s, "series": object_series(self._story, names)}

    def frame(self, event: int, bucket: int, **facts: bool) -> tuple[bytes, int, int]:
        """What is new for a page as JSON, and its next places in the events and in the time lines.

        The snapshot is made once for all pages. ``facts`` are told beside it.
        """
        times = self.times()
        with self._telling:
            events = self._events(event, EVENTS_A_FRAME)
            lines = self._timelines(bucket)
            if self._newest is None or self._newest[0] != self.looks:
                self._newest = (self.looks, encode(self._snapshot(None)))
            snapshot = self._newest[1]
            next_bucket = max(0, lines["first"] + len(lines["charts"]["throughput"]["sent"]) - OPEN_BUCKETS)
            next_event = self._story.event_count
        rest = encode({"events": events, "timelines": lines, "times": times, **facts})
        return b'{"snapshot":' + snapshot + b"," + rest[1:], next_event, next_bucket

    @property
    def elections(self) -> int:
        with self._telling:
            return len(self._story.elections)

    def _moment(self, t_s: float | None) -> int:
        return self._story.newest_ns if t_s is None else self.t0_ns + round(t_s * 1e9)

    def _snapshot(self, t_s: float | None) -> dict[str, Any]:
        story, t0_ns = self._story, self.t0_ns
        at_ns = self._moment(t_s)
        found = snapshot_at(story, at_ns, t0_ns)
        if t_s is None:
            # Nothing is recorded any more while the run is analysed, but the run goes on.
            found["phase"] = self._info["phase"]
        found["state"] = self.state
        found["live"] = self.is_live
        found["trouble"] = self._trouble
        found["takes_faults"] = self.is_live and (self.folder.path / SOCKET).exists()
        found["expectations"] = preview_expectations(story, at_ns, t0_ns, self._verdict)
        found["verdict"] = None if self._verdict is None else _verdict_words(self._verdict)
        found["results"] = list_results(story, at_ns)
        found["values"] = latest_values(story, at_ns)
        found["tables"] = latest_rows(story, at_ns)
        return found

    def _timelines(self, first: int) -> dict[str, Any]:
        story = self._story
        last = story.buckets.bucket(story.newest_ns)
        lines = timelines_from(story, min(first, last), last)
        lines["origin"] = round((story.created_ns - self.t0_ns) / 1e9, 3)
        return lines | moments_of_run(story, self.t0_ns)

    def _events(self, number: int, most: int) -> dict[str, Any]:
        found, left_out = self._story.events_since(number, most)
        rows = [{**event, "t": round((event["at_ns"] - self.t0_ns) / 1e9, 3)} for event in found]
        return {"rows": rows, "left_out": left_out, "next": self._story.event_count}

    # ---- the thread

    def _follow(self) -> None:
        has_more = False
        while (self.is_live or has_more) and not self._stopping.is_set():
            began = time.monotonic()
            try:
                has_more = self._look_once()
                self._trouble = ""
            except Exception as error:  # a record that cannot be read in some way is told, and read again
                has_more = False
                self._trouble = f"{type(error).__name__}: {error}"
                self.is_live = self.folder.is_running()
            self.looks += 1
            self._when_new()
            # A look that took long is followed by a rest of the same length: at most half of one CPU is ever used.
            took = time.monotonic() - began
            self._stopping.wait(took if has_more else max(self._look_s - took, took))

    def _look_once(self) -> bool:
        """Read what is new. Returns whether there is more to read already."""
        was_live = self.is_live
        is_live = self.folder.is_running()
        with contextlib.suppress(BadInput):
            self._info = self.folder.info
        found = self._tail.look()
        with contextlib.suppress(OSError, ValueError):
            self._verdict = json.loads((self.folder.path / "verdict.json").read_text("utf-8"))
        has_joined = any(event.get("event") == JOINED for event in found.events)
        joined = self._read_plan() if was_live and has_joined else None
        with self._telling:
            if joined is not None:
                self._story.join(*joined)
            if was_live:
                self._story.take(found, self._now_ns())
            else:
                self._story.take_whole_record(found)
            self.is_live = is_live
        return found.has_more

    def _read_plan(self) -> tuple[Plan, dict[str, Any]] | None:
        """The plan and the experiment with the job that has just joined; None if they cannot be read."""
        with contextlib.suppress(BadInput):
            return read_plan(self.folder)
        return None

    def _now_ns(self) -> int:
        """The clock while the run is recorded; once it is sealed, the moments of the analysis say nothing new."""
        sealing = [at for at, name in zip(self._story.phases.times, self._story.phases.values, strict=True)
                   if name == "seal"]  # fmt: skip
        return sealing[0] if sealing else time.monotonic_ns()


def _verdict_words(verdict: dict[str, Any]) -> dict[str, Any]:
    keys = ("outcome", "failures", "doubts", "warnings", "remarks")
    return {key: verdict.get(key) for key in keys}
