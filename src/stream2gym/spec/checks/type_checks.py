"""Checks of engines, stores and sinks by their types, of check programs, and of ports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from stream2gym.kinds.registry import Family, Kind, registry
from stream2gym.spec.checks.client_checks import check_regular_expression
from stream2gym.spec.checks.experiment_index import ExperimentIndex
from stream2gym.spec.checks.flink_checks import FLINK_JOBS, check_flink
from stream2gym.spec.findings import DataPath, Finding, brief, did_you_mean
from stream2gym.spec.model.components import Engine, Source, Store
from stream2gym.spec.model.experiment import Fault
from stream2gym.spec.validation_messages import findings_of

_COORDINATE = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+")
EXECUTOR_BYTES = 450 * 1024**2
BROKER_PORTS = {"kafka": 9092, "rabbitmq": 5672}


def find_kind(family: Family, name: str, path: DataPath) -> tuple[Kind | None, list[Finding]]:
    """The kind of this name, or a finding that lists the known kinds."""
    known = registry(family)
    kind = known.find(name)
    if kind is not None:
        return kind, []
    if name in known.broken:
        return None, [Finding(path, f"the plug-in for {name!r} cannot be loaded: {known.broken[name]}")]
    return None, [Finding(path, f"unknown {family} type {brief(name)}", did_you_mean(name, known.names()))]


def check_settings(kind: Kind, part: Fault | Engine | Store, path: DataPath) -> Iterator[Finding]:
    """Check the settings of a kind. A misspelt common key is also found here, so the hint knows both sets of keys."""
    try:
        _ = part.checked_settings
    except ValidationError as error:
        keys = [*part.known_keys(), *getattr(kind.settings, "known_keys", list)()]
        for finding in findings_of(error, kind.settings, part.settings, (*path, "settings")):
            if finding.what.startswith("unknown key") and len(finding.path) == len(path) + 2:
                hint = did_you_mean(finding.path[-1], [key for key in keys if key != "settings"])
                yield Finding(finding.path, f"{finding.what} of {kind.family} {kind.name!r}", hint)
            else:
                yield finding


def check_engines(index: ExperimentIndex) -> Iterator[Finding]:
    """Check type, program and settings of every engine."""
    masters = [str(engine.name) for engine in index.experiment.engines if engine.type.lower() == "spark-master"]
    for number, engine in enumerate(index.experiment.engines):
        path: DataPath = ("engines", number)
        kind, unknown = find_kind("engine", engine.type, (*path, "type"))
        yield from unknown
        if engine.app is not None:
            yield from index.file((*path, "app"), engine.app)
        if kind is None:
            continue
        yield from check_settings(kind, engine, path)
        if kind.app and engine.app is None:
            hint = "app: Program.java" if kind.name == "kafka-streams" else "app: job.py"
            yield Finding(path, f"an engine of type {kind.name} needs a program", hint)
        yield from _check_observation(index, kind, engine, path)
        if kind.name in ("spark", "kafka-streams", *FLINK_JOBS):
            yield from _check_packages(engine, path)
        if kind.name == "kafka-streams":
            yield from _check_streams(index, engine, path)
        yield from check_flink(index, kind, engine, path)
        if kind.name == "spark" and engine.settings.get("mode") == "real-time":
            yield from _check_slots(index, engine, path)
        if kind.name in ("spark", "spark-worker"):
            yield from _check_room(kind, engine, path)
        master = engine.settings.get("master")
        if kind.name == "spark-worker" and isinstance(master, str):
            yield from index.unknown((*path, "settings", "master"), "spark-master", master, masters)
        if kind.name == "spark" and isinstance(master, str) and not master.startswith(("local", "spark:")):
            yield from index.unknown((*path, "settings", "master"), "spark-master", master, [*masters, "local[2]"])


def _check_observation(index: ExperimentIndex, kind: Kind, engine: Engine, path: DataPath) -> Iterator[Finding]:
    """Check that an engine is observed only in the way in which it can be."""
    path = (*path, "observe")
    if engine.observe is True:
        yield Finding(path, "there is no recorder for the inside of an engine", "observe: wire")
    elif engine.observe and not kind.app:
        what = f"an engine of type {kind.name} has no program that talks to Kafka"
        yield Finding(path, what, "observe: wire on the job, which is then observed on every host where it works")
    elif engine.observe and not index.experiment.brokers and not index.lost("brokers"):
        yield Finding(path, "there is no broker, so there are no packets to decode", "leave it out")


def _check_streams(index: ExperimentIndex, engine: Engine, path: DataPath) -> Iterator[Finding]:
    """Check that a Kafka Streams program is Java, that its application is known, and that there is a Kafka for it."""
    if engine.app is not None and not engine.app.endswith((".java", ".jar")):
        what = f"{brief(engine.app)} is no program of Kafka Streams"
        yield Finding((*path, "app"), what, "a .java file, which is compiled, or a .jar")
    if "application.id" in engine.config:
        what = "the run must know the application, to see how far it is"
        yield Finding((*path, "config", "application.id"), what, f"application: {engine.config['application.id']}")
    if not index.experiment.brokers and not index.lost("brokers"):
        yield Finding(path, "Kafka Streams needs a broker", "brokers: [{on: h1}]")


def _check_slots(index: ExperimentIndex, engine: Engine, path: DataPath) -> Iterator[Finding]:
    """Check task slots for real-time mode. Spark silently reads only partitions that have a slot of their own."""
    reads = engine.settings.get("reads") or [topic.name for topic in index.experiment.topics]
    partitions = sum(topic.partitions for topic in index.experiment.topics if topic.name in reads)
    master = str(engine.settings.get("master") or f"local[{engine.settings.get('cores', 1)}]")
    found = re.fullmatch(r"local(?:\[(\d+)(?:,\d+)?\])?", master)
    if found is not None and partitions > int(found[1] or 1):
        what = f"real-time mode needs a task slot for each of the {partitions} partitions that it reads"
        hint = f"master: local[{partitions}], or name the topics that it reads under 'reads'"
        yield Finding((*path, "settings", "mode"), what, hint)


def _check_packages(engine: Engine, path: DataPath) -> Iterator[Finding]:
    """Check that packages are coordinates of Maven."""
    packages = engine.settings.get("packages")
    for number, one in enumerate(packages if isinstance(packages, list) else []):
        if not _COORDINATE.fullmatch(str(one)):
            what = f"{brief(one)} is no coordinate of a package"
            yield Finding((*path, "settings", "packages", number), what, "group:name:version")


def _check_room(kind: Kind, engine: Engine, path: DataPath) -> Iterator[Finding]:
    """Check the memory of executors. Spark starts none with less than 450 MiB and waits for ever."""
    try:
        settings = engine.checked_settings
    except ValidationError:
        return
    for key in ("worker_memory", "memory") if kind.name == "spark" else ("memory",):
        given = getattr(settings, key)
        local = key == "memory" and kind.name == "spark" and not (settings.cluster or _on_cluster(settings.master))
        if given is not None and int(given) < EXECUTOR_BYTES and not local:
            what = f"{given} is too little for an executor of Spark, which needs 450 MiB"
            yield Finding((*path, "settings", key), what, f"{key}: 512 MiB")


def _on_cluster(master: str | None) -> bool:
    return master is not None and not master.startswith("local")


def check_stores(index: ExperimentIndex) -> Iterator[Finding]:
    """Check type and settings of every store."""
    for number, store in enumerate(index.experiment.stores):
        path: DataPath = ("stores", number)
        kind, unknown = find_kind("store", store.type, (*path, "type"))
        yield from unknown
        if kind is not None:
            yield from check_settings(kind, store, path)
            init = store.settings.get("init")
            if isinstance(init, str):
                yield from index.file((*path, "settings", "init"), init)


def check_sinks(index: ExperimentIndex) -> Iterator[Finding]:
    """Check store, topics and keys of every sink."""
    types = {str(store.name): store.type for store in index.experiment.stores}
    for number, sink in enumerate(index.experiment.sinks):
        path: DataPath = ("sinks", number)
        yield from index.unknown((*path, "store"), "store", sink.store, list(types))
        kind = registry("store").find(types.get(sink.store, ""))
        if kind is not None and kind.name == "mongodb":
            what = "no sink writes to stores of type mongodb"
            yield Finding((*path, "store"), what, "a store of type mysql or rocksdb, or a program that writes")
        for position, topic in enumerate(sink.topics):
            yield from index.topic((*path, "topics", position), topic)
        if not sink.topics and sink.pattern is None:
            yield Finding(path, "a sink needs topics or a pattern", "topics: [NAME]")
        if not sink.keys and (sink.keys_from == "key" or (sink.mode == "upsert" and sink.keys_from == "value")):
            yield Finding(path, "has no keys, so no row can replace another", "keys: [COLUMN]")
        if sink.keys_from == "place" and len(sink.keys) not in (0, 3):
            what = f"a place has three columns, {len(sink.keys)} are named"
            yield Finding((*path, "keys"), what, "keys: [topic, part, at]")
        yield from check_regular_expression((*path, "pattern"), sink.pattern)


def check_checks(index: ExperimentIndex) -> Iterator[Finding]:
    """Check that the programs exist that compare results, and the topics and stores that they name."""
    stores = [str(store.name) for store in index.experiment.stores]
    for number, check in enumerate(index.experiment.checks):
        path: DataPath = ("checks", number)
        yield from index.file((*path, "app"), check.app)
        for position, topic in enumerate(check.topics):
            yield from index.topic((*path, "topics", position), topic)
        for position, table in enumerate(check.tables):
            yield from index.unknown((*path, "tables", position), "store", table.partition(".")[0], stores)


def check_ports(index: ExperimentIndex) -> Iterator[Finding]:
    """Check that no two components of a host listen on one port."""
    taken: dict[tuple[str, int], str] = {}
    for path, kind, part in index.parts():
        port = _port(kind, part)
        if part.on is None or port is None:
            continue
        other = taken.setdefault((part.on, port), str(part.name))
        if other != part.name and kind != "broker":
            yield Finding(path, f"port {port} of {part.on} is taken by {other}", "port: another, or another host")


def _port(kind: str, part: Any) -> int | None:
    if kind == "broker":
        return BROKER_PORTS[part.type] if part.controller != "only" else None
    if isinstance(part, Source):
        return part.port
    if isinstance(part, Engine | Store):
        declared = registry("engine" if isinstance(part, Engine) else "store").find(part.type)
        given = part.settings.get("port")
        if declared is not None and declared.port is not None:
            return given if isinstance(given, int) and not isinstance(given, bool) else declared.port
    return None
