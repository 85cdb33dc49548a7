"""The start-up caches of Flink's JVMs, which ``setup --flink`` makes: one for each role of a process.

The rehearsal is a real SQL job between two topics of a real broker on loopback, in a mini-cluster or on a job manager
and a task manager. Java writes the cache when the process in question is asked to end.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from stream2gym.errors import StartFailed
from stream2gym.software import child_process
from stream2gym.software.cache import Cache
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.fetch import Progress, silent
from stream2gym.software.flink_software import PROGRAM, FlinkSoftware, Role
from stream2gym.software.loopback_broker import (
    REPLY_TIMEOUT_S,
    STOP_TIMEOUT_S,
    LoopbackBroker,
    exercise,
    free_ports,
    loopback_broker,
)
from stream2gym.software.start_cache import StartCache
from stream2gym.wait import wait_until

ROLES: tuple[Role, ...] = ("mini", "jobmanager", "taskmanager")
HEAP_MB = 384
REHEARSE_S = 180.0
_RESULTS = "warm-results"
_STATEMENTS = """
CREATE TABLE words (
word STRING, ts TIMESTAMP(3) METADATA FROM 'timestamp', WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ({read}, 'scan.startup.mode' = 'earliest-offset', 'properties.group.id' = 'rehearsal', 'format' = 'raw');
CREATE TABLE copies (word STRING) WITH ({write}, 'format' = 'raw');
CREATE TABLE counts (word STRING, n BIGINT, PRIMARY KEY (word) NOT ENFORCED) WITH ('connector' = 'blackhole');
INSERT INTO copies SELECT UPPER(word) FROM words;
INSERT INTO counts SELECT word, COUNT(*) FROM TABLE(TUMBLE(TABLE words, DESCRIPTOR(ts), INTERVAL '1' SECOND))
GROUP BY word, window_start, window_end
"""


def flink_start_cache(software: FlinkSoftware, role: Role, cache: Cache | None = None) -> StartCache:
    """The start-up cache of one role. It fits jobs with packages, too: they come last on the class path."""
    without = replace(software, packages=(), start_caches=())
    folder = (cache or Cache.here()).path("flink")
    depends_on = [_STATEMENTS, *without.command(role, heap_mb=HEAP_MB)]
    return StartCache.of(f"Flink's {role}", software.java, folder, role, depends_on=depends_on, files=software.jars)


def with_start_caches(software: FlinkSoftware, cache: Cache | None = None) -> FlinkSoftware:
    """The software with the start-up caches that are there."""
    found = [(role, flink_start_cache(software, role, cache).find()) for role in ROLES]
    return replace(software, start_caches=tuple((role, file) for role, file in found if file is not None))


def make_start_caches(
    progress: Progress = silent, cache: Cache | None = None, roles: Sequence[Role] = ROLES
) -> FlinkSoftware:
    """Make the start-up caches of Flink, as far as this Java can; the software with those that are there."""
    software = FlinkSoftware.ensure(progress=progress, cache=cache)
    for role in roles:
        found = flink_start_cache(software, role, cache)
        found.forget_failure()
        found.ensure(lambda folder, flags, role=role: _rehearse(software, role, folder, flags), progress)  # type: ignore[misc]
    return with_start_caches(software, cache)


def _rehearse(software: FlinkSoftware, role: Role, scratch: Path, flags: list[str]) -> str:
    """Run a job in which one process has this role and these flags. Returns what that process printed."""
    (scratch / "broker").mkdir()
    rest, rpc, blob = free_ports(3)
    with loopback_broker(ensure_kafka(), scratch / "broker") as broker:
        exercise(broker)
        _make_topic(broker)
        statements = scratch / "statements"
        statements.write_bytes(_packed(f"127.0.0.1:{broker.port}"))
        config = _config(scratch, rest, rpc, blob)
        job = ["sql", str(statements)]
        with contextlib.ExitStack() as running:
            started: dict[Role, subprocess.Popen[bytes]] = {}
            roles: tuple[Role, ...] = ("mini",) if role == "mini" else ("jobmanager", "taskmanager")
            for one in roles:
                folder = scratch / one
                folder.mkdir()
                (folder / "config.yaml").write_text(
                    "".join(f"{key}: {json.dumps(value)}\n" for key, value in config.items())
                )
                own = [*(flags if one == role else []), *([f"-Ds2g.mini={folder}"] if one == "mini" else [])]
                own.append(f"-Djava.io.tmpdir={folder}")  # a process that is killed leaves files there
                words = software.command(one, heap_mb=HEAP_MB, flags=own)
                if one != "mini":
                    words += ["-c", str(folder)]
                if one == "jobmanager":
                    words += ["--job-classname", PROGRAM]
                started[one] = running.enter_context(
                    _process([*words, *(job if one != "taskmanager" else [])], folder)
                )
            _await_results(broker, started, scratch)
            _look_at(rest)
            rehearsed = started[role]
            rehearsed.send_signal(signal.SIGTERM)
            rehearsed.wait(STOP_TIMEOUT_S)
    return (scratch / role / "log").read_text("utf-8", errors="replace")


def _make_topic(broker: LoopbackBroker) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{broker.port}", "log_level": 0})
    for made in admin.create_topics([NewTopic(_RESULTS, 1, 1)]).values():
        made.result(REPLY_TIMEOUT_S)


@contextlib.contextmanager
def _process(command: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = child_process.start(command, folder / "log", folder)
    try:
        yield process
    finally:
        child_process.end(process)


def _packed(address: str) -> bytes:
    """The statements of the rehearsal, as the class that runs them reads them."""
    kafka = f"'connector' = 'kafka', 'properties.bootstrap.servers' = '{address}', 'topic' = "
    text = _STATEMENTS.format(read=f"{kafka}'warm'", write=f"{kafka}'{_RESULTS}'")
    return b"".join(f"1 {one.strip()}\0".encode() for one in text.split(";\n"))


def _config(scratch: Path, rest: int, rpc: int, blob: int) -> Mapping[str, str]:
    return {
        "execution.target": "local", "execution.attached": "true", "execution.checkpointing.interval": "500 ms",
        "execution.checkpointing.dir": (scratch / "checkpoints").as_uri(),
        "metrics.fetcher.update-interval": "200 ms",
        "rest.address": "127.0.0.1", "rest.bind-address": "127.0.0.1", "rest.port": str(rest),
        "rest.bind-port": str(rest), "jobmanager.rpc.address": "127.0.0.1", "jobmanager.rpc.port": str(rpc),
        "blob.server.port": str(blob), "taskmanager.host": "127.0.0.1", "taskmanager.numberOfTaskSlots": "1",
        "taskmanager.cpu.cores": "1.0", "taskmanager.memory.task.heap.size": "128m",
        "taskmanager.memory.framework.heap.size": "128m", "taskmanager.memory.framework.off-heap.size": "128m",
        "taskmanager.memory.jvm-metaspace.size": "256m", "taskmanager.memory.jvm-overhead.min": "192m",
        "taskmanager.memory.jvm-overhead.max": "192m", "taskmanager.memory.task.off-heap.size": "0m",
        "taskmanager.memory.network.min": "32m", "taskmanager.memory.network.max": "32m",
        "taskmanager.memory.managed.size": "32m",
        "cluster.registration.error-delay": "200 ms", "io.tmp.dirs": str(scratch),
        "security.delegation.tokens.enabled": "false",
    }  # fmt: skip


def _await_results(broker: LoopbackBroker, started: Mapping[Role, subprocess.Popen[bytes]], scratch: Path) -> None:
    """Wait until the job has written results. StartFailed if one of its processes ends before."""
    from confluent_kafka import Consumer

    consumer = Consumer(
        {"bootstrap.servers": f"127.0.0.1:{broker.port}", "group.id": "seen", "auto.offset.reset": "earliest",
         "log_level": 0}
    )  # fmt: skip
    consumer.subscribe([_RESULTS])

    def is_there() -> bool:
        for role, process in started.items():
            if process.poll() is not None:
                said = (scratch / role / "log").read_text("utf-8", errors="replace")[-1000:]
                raise StartFailed(f"the {role} ended with code {process.returncode}:\n{said}")
        message = consumer.poll(0.1)
        return message is not None and message.error() is None

    try:
        wait_until(is_there, timeout_s=REHEARSE_S, reason="results of the job")
    finally:
        consumer.close()


def _look_at(rest: int) -> None:
    """Ask the REST interface what a run would ask it."""
    base = f"http://127.0.0.1:{rest}"

    def ask(path: str) -> object:
        with urllib.request.urlopen(f"{base}{path}", timeout=30) as answer:
            return json.load(answer)

    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        ask("/overview")
        jobs = ask("/jobs/overview")
        job = f"/jobs/{jobs['jobs'][0]['jid']}"  # type: ignore[index]
        details = ask(job)
        for path in ("/checkpoints", "/exceptions", "/metrics?get=numRestarts"):
            ask(job + path)
        for vertex in details["vertices"]:  # type: ignore[index]
            ask(f"{job}/vertices/{vertex['id']}/subtasks/metrics")
            ask(f"{job}/vertices/{vertex['id']}/subtasks/metrics?agg=min,max,sum&get=numRecordsIn")
