"""Asks the REST interface of a Flink job how it is, again and again; it runs on the observer host.

    python -m stream2gym.clients.flink_watch HOST PORT EVERY_S

CONTRACT
  in    SIGTERM            ends it
  out   standard output    ``S2G {json}`` with ``event`` flink, every EVERY_S seconds: ``overview`` (slots), ``job``
                           (state, vertices with their counts), ``checkpoints``, ``offsets`` (rows: topic, partition,
                           offset read, offset committed; -1: none), ``watermarks`` by vertex, ``records`` of sources
                           and sinks, ``reads_topics``, ``fetching`` (whether all sources have fetched once),
                           ``restarts``, ``exception``; only ``error`` if nobody answers
  exit  never by itself

Paths from the observer host are never shaped and never cut, so that a job is seen during faults. It asks from
outside, so that nothing of ours runs inside the job.
"""

from __future__ import annotations

import http.client
import json
import re
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from stream2gym.clients.client_process import Status

ANSWER_S = 3.0
SHORTEST_PAUSE_S = 0.05
# How many rounds the list of the numbers of a vertex is good for.
LIST_AGAIN_AFTER = 5
# The address of a request must stay below the 4,096 bytes that Flink takes.
LONGEST_QUERY = 2_500
_OFFSET = re.compile(r"KafkaSourceReader\.topic\.(?P<topic>.+)\.partition\.(?P<number>\d+)\.(?P<what>\w+)Offset$")
_KAFKA = "KafkaSourceReader"
_FETCHES = "KafkaSourceReader.KafkaConsumer.fetch-total"
_READ = re.compile(r"^Source__[^.]*\.numRecordsIn$")
_WRITTEN = re.compile(r"Writer\.numRecordsSend$")
_WATERMARKS = ("currentInputWatermark", "currentOutputWatermark")
# What Flink says before any watermark came.
NO_WATERMARK = -(2**63)
# In these states there is nothing more to ask, and Flink would log every question as an error.
_EARLY = ("INITIALIZING", "CREATED")
_PARTS = ("id", "name", "parallelism", "status", "tasks", "metrics")

Ask = Callable[[str], Any]


class RestClient:
    """One connection to the REST interface, which is opened again when it breaks."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, path: str) -> Any:
        """The answer to a GET request. Raises OSError or ValueError if there is none."""
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection(self._host, self._port, timeout=ANSWER_S)
            self._connection.request("GET", path)
            answer = self._connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise OSError(str(error) or type(error).__name__) from error
        if answer.status != http.client.OK:
            raise ValueError(f"{path}: {answer.status}")
        return json.loads(body)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class MetricNames:
    """The names of the numbers of a vertex that are of use. There are hundreds, so they are not listed every time."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, list[str], bool]] = {}
        # The vertices whose sources have all fetched once.
        self.fetching: set[str] = set()

    def of(self, ask: Ask, place: str) -> tuple[list[str], bool | None]:
        """The names, and whether the vertex has a source of Kafka; None while that is not known."""
        left, wanted, is_source = self._known.get(place, (0, [], False))
        if left > 0:
            self._known[place] = (left - 1, wanted, is_source)
            return wanted, is_source
        names = [str(one["id"]) for one in ask(place)]
        wanted = [name for name in names if _is_wanted(name)]
        is_source = any(_KAFKA in name for name in names)
        # Partitions and operators of a source come one after the other, so that a start is looked at every time.
        has_partitions = any(_OFFSET.search(name) for name in wanted)
        self._known[place] = (
            LIST_AGAIN_AFTER if has_partitions or (names and not is_source) else 0,
            wanted,
            is_source,
        )
        return wanted, is_source if names else None


def look(ask: Ask, names: MetricNames) -> dict[str, Any]:
    """What the REST interface says now: the newest job, and how far it is."""
    overview = ask("/overview")
    told: dict[str, Any] = {"overview": {key: overview.get(key) for key in ("taskmanagers", "slots-total")}}
    jobs = ask("/jobs/overview")["jobs"]
    if not jobs:
        return told
    newest = max(jobs, key=lambda job: job.get("start-time", 0))
    base = f"/jobs/{newest['jid']}"
    details = ask(base)
    vertices = [{key: vertex.get(key) for key in _PARTS} for vertex in details.get("vertices", [])]
    told["job"] = {
        "id": newest["jid"],
        **{key: details.get(key) for key in ("name", "state", "timestamps")},
        "vertices": vertices,
    }
    if details.get("state") in _EARLY:
        return told
    found = ask(f"{base}/checkpoints")
    told["checkpoints"] = {"counts": found.get("counts"), "latest": _latest(found.get("latest") or {})}
    restarts = ask(f"{base}/metrics?get=numRestarts")
    told["restarts"] = next((float(one["value"]) for one in restarts if "value" in one), None)
    told |= _numbers(ask, names, base, vertices)
    if details.get("state") not in ("RUNNING", "FINISHED") or told["restarts"]:
        told["exception"] = _exception(ask(f"{base}/exceptions"))
    return told


def _latest(latest: dict[str, Any]) -> dict[str, Any]:
    """Of the last completed checkpoint and of the one that the job began from, what is of use."""
    wanted = ("id", "trigger_timestamp", "latest_ack_timestamp", "end_to_end_duration", "state_size", "external_path")
    return {
        which: {key: one.get(key) for key in wanted if key in one}
        for which in ("completed", "restored")
        if (one := latest.get(which))
    }


def _numbers(ask: Ask, known: MetricNames, base: str, vertices: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The numbers of all vertices: ``offsets``, ``watermarks``, ``records`` and ``reads_topics``."""
    offsets: dict[tuple[str, int], dict[str, float]] = {}
    watermarks: dict[str, float] = {}
    records = {"in": 0.0, "out": 0.0}
    reads_topics: bool | None = False
    fetching = True
    for vertex in vertices:
        place = f"{base}/vertices/{vertex['id']}/subtasks/metrics"
        names, is_source = known.of(ask, place)
        if is_source and place not in known.fetching:
            if _all_fetch(ask, f"{base}/vertices/{vertex['id']}/metrics", int(vertex["parallelism"] or 1), names):
                known.fetching.add(place)
            else:
                fetching = False
        if is_source or (is_source is None and not reads_topics):
            reads_topics = is_source
        for group in batches(names):
            for one in ask(f"{place}?agg=min,max,sum&get={','.join(quote(name) for name in group)}"):
                name = str(one["id"])
                if found := _OFFSET.search(name):
                    at = offsets.setdefault((found["topic"], int(found["number"])), {})
                    at[found["what"]] = max(at.get(found["what"], -1.0), float(one["max"]))
                elif way := _way(name):
                    records[way] += float(one["sum"])
                elif not name.endswith(_FETCHES) and float(one["min"]) > NO_WATERMARK:
                    # The watermark of a vertex is the smallest that it has passed on, or received.
                    own = str(vertex["name"])
                    watermarks[own] = min(watermarks.get(own, float("inf")), float(one["min"]))
    rows = [
        [*place, int(at.get("current", -1)), int(at.get("committed", -1))] for place, at in sorted(offsets.items())
    ]
    numbers = {"offsets": rows, "watermarks": watermarks, "records": records}
    return {**numbers, "reads_topics": reads_topics, "fetching": fetching}


def _all_fetch(ask: Ask, place: str, subtasks: int, names: Iterable[str]) -> bool:
    """Whether every source that has partitions has fetched once.

    Before that, a source that begins at the end of a topic does not know where that is: it would miss what comes.
    """
    known = list(names)
    fetches = [name for name in known if name.endswith(_FETCHES)]
    offsets = [name for name in known if _OFFSET.search(name)]
    found: dict[str, float] = {}
    for group in batches(f"{number}.{name}" for number in range(subtasks) for name in (*fetches, *offsets)):
        for one in ask(f"{place}?get={','.join(quote(name) for name in group)}"):
            found[str(one["id"])] = float(one["value"])
    return bool(fetches) and all(
        found.get(f"{number}.{fetch}", 0.0) >= 1
        for number in range(subtasks)
        for fetch in fetches
        if any(f"{number}.{offset}" in found for offset in offsets if offset.startswith(fetch.removesuffix(_FETCHES)))
    )


def _is_wanted(name: str) -> bool:
    return (
        bool(_OFFSET.search(name) or _way(name)) or name.rpartition(".")[2] in _WATERMARKS or name.endswith(_FETCHES)
    )


def _way(name: str) -> str:
    """``in`` for the records of a source, ``out`` for those of a sink, empty for all other numbers."""
    if _READ.search(name):
        return "in"
    return "out" if _WRITTEN.search(name) else ""


def batches(names: Iterable[str]) -> list[list[str]]:
    """The names in groups that fit into the address of one request."""
    groups: list[list[str]] = []
    length = LONGEST_QUERY
    for name in names:
        length += len(quote(name)) + 1
        if length > LONGEST_QUERY:
            groups.append([])
            length = len(quote(name))
        groups[-1].append(name)
    return groups


def _exception(found: dict[str, Any]) -> str:
    """The stack trace of the newest failure; empty if there was none."""
    entries = (found.get("exceptionHistory") or {}).get("entries") or []
    return str(entries[0].get("stacktrace") or "") if entries else ""


def main(argv: list[str]) -> None:
    host, port, every_s = argv[0], int(argv[1]), float(argv[2])
    status = Status()
    client = RestClient(host, port)
    names = MetricNames()
    while True:
        began = time.monotonic()
        try:
            told = look(client.ask, names)
        except (OSError, ValueError, KeyError, TypeError) as error:
            told = {"error": f"{type(error).__name__}: {error}"}
        status.say("flink", wall_ms=time.time_ns() // 1_000_000, **told)
        time.sleep(max(SHORTEST_PAUSE_S, every_s - (time.monotonic() - began)))


if __name__ == "__main__":
    main(sys.argv[1:])
