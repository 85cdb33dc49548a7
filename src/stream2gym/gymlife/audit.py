"""The end of a run seen through its data: topics and tables written down, sinks audited, results compared.

What Kafka and the stores hold is written to ``work/dump`` while they still run. Then the experiment's checks,
programs of the user's that know the right answer on their own, read it; what they say becomes samples, so that the
judge finds them in the record like everything else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stream2gym.clients.audit import AuditConfig, StoreDump
from stream2gym.components.cluster import Node, bootstrap
from stream2gym.components.sink import SinkComponent
from stream2gym.components.stage import Stage, end_of_log
from stream2gym.components.store import StoreComponent
from stream2gym.components.words import parse_word, samples_in, word_listener
from stream2gym.errors import Defect
from stream2gym.gymlife.patience import Patience
from stream2gym.hosts.machine import WORK
from stream2gym.spec.model import Check

AUDIT_TIMEOUT_S = 120.0
CHECK_TIMEOUT_S = 300.0


def audit_config(
    stage: Stage, nodes: tuple[Node, ...], stores: Sequence[StoreComponent], sinks: Sequence[SinkComponent]
) -> AuditConfig | None:
    """What is to be written down and compared; None when nobody asks for anything."""
    experiment = stage.experiment
    every = [topic.name for topic in experiment.topics] if nodes else []
    checked = {topic for check in experiment.checks for topic in check.topics or every}
    resolved = [replace(sink.config, topics=tuple(sink.topics(every))) for sink in sinks]
    topics = checked | {topic for sink in resolved for topic in sink.topics}
    wanted = sorted({table for check in experiment.checks for table in check.tables})
    dumps = [
        StoreDump(
            store.name,
            store.connection(),
            tuple(table.partition(".")[2] for table in wanted if table.partition(".")[0] == store.name),
        )
        for store in stores
    ]
    if not (experiment.checks or sinks):
        return None
    return AuditConfig(
        bootstrap=bootstrap(nodes),
        folder=str(dump_folder(stage)),
        topics=tuple(sorted(topics)),
        stores=tuple(dump for dump in dumps if dump.tables),
        sinks=tuple(resolved),
        store_of={sink.name: sink.store.name for sink in sinks},
    )


def dump_folder(stage: Stage) -> Path:
    return (stage.folder.work / "dump").absolute()


class Audit:
    """Writes topics and tables down through a client on the observer host."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._problem = ""

    def run(self, config: AuditConfig, patience: Patience) -> None:
        """Until everything is written down; what could not be is an event, and leaves its metrics unknown."""
        stage, observer = self._stage, self._stage.plan.network.observer
        if observer is None:
            raise Defect("the plan has no observer host")
        log = stage.folder.logs / f"{observer.name}.audit.log"
        path = f"{WORK}/audit.json"
        process = stage.spawn(
            observer.name,
            [sys.executable, "-m", "stream2gym.clients.audit", path],
            name="audit",
            log=log,
            on_line=word_listener(log, self._hear),
            files={path: json.dumps(config.to_json()).encode()},
        )
        patience.up_to(lambda: process.poll() is not None, AUDIT_TIMEOUT_S)
        how = process.poll()
        if how is None or how.code != 0:
            reason = self._problem or end_of_log(log, 3) or "it did not come to an end"
            stage.tell("audit-failed", reason=reason)

    def _hear(self, said: dict[str, Any]) -> None:
        match said.get("event"):
            case "audit":
                place = f"{said['store']}/{said['table']}"
                for what in ("expected", "present", "missing", "doubled"):
                    self._stage.sample("store", place, f"rows_{what}", float(said[what]))
                self._stage.tell(
                    "audited", **{key: said[key] for key in said if key not in ("event", "at_ns")}
                )
            case "error":
                self._problem = str(said.get("what", ""))


def run_check(stage: Stage, check: Check, base: Path) -> None:
    """Run one check outside the emulated network; its numbers become samples, its failure an event."""
    log = stage.folder.logs / f"check.{check.name}.log"
    environment = os.environ | {
        "S2G_RUN": str(stage.folder.path.absolute()),
        "S2G_DUMP": str(dump_folder(stage)),
        "S2G_SEED": str(stage.plan.seed),
        "PYTHONUNBUFFERED": "1",
    }
    argv = [sys.executable, str(base.absolute() / check.app), *check.args]
    with log.open("wb") as errors:
        try:
            done = subprocess.run(
                argv, env=environment, cwd=base, stdout=subprocess.PIPE, stderr=errors, timeout=CHECK_TIMEOUT_S,
                check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            stage.tell("check-failed", check=check.name, reason=str(error))
            return
        said: dict[str, Any] = {}
        for line in done.stdout.splitlines():
            said |= parse_word(line) or {}
            errors.write(line + b"\n")
    if done.returncode != 0 or not isinstance(said.get("mismatches"), int | float):
        stage.tell(
            "check-failed", check=check.name, reason=end_of_log(log) or "it said nothing about mismatches"
        )
        return
    for metric, value in samples_in(said):
        stage.sample("check", check.name, metric, value)
    stage.tell("checked", check=check.name, **said)
