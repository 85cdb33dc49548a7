"""What topics and tables hold at the end of a run: it is dumped, and tables are compared with their topics.

What Kafka and the stores hold is written to ``work/dump`` while they still run. The tables that sinks have filled are
compared with their topics there. The checks of the experiment read the dump afterwards (``result_checks``). The last
rows of all tables are noted for people (``latest_results``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stream2gym.clients.audit import AuditConfig, StoreDump
from stream2gym.components.base_component import stop_together
from stream2gym.components.cluster import bootstrap
from stream2gym.components.run_context import RunContext, end_of_log
from stream2gym.components.sink import SinkComponent
from stream2gym.components.status_lines import status_listener
from stream2gym.components.store import StoreComponent
from stream2gym.errors import Defect
from stream2gym.execution.latest_results import note_at_end
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl
from stream2gym.execution.start_monitors import find_watched_stores
from stream2gym.execution.waiter import Waiter
from stream2gym.hosts.emulated_host import WORK
from stream2gym.own_python import own_python

AUDIT_TIMEOUT_S = 120.0


def audit_stores(run: RunControl, components: RunComponents) -> None:
    """Stop the sinks and write down what topics and stores hold, while they are still there."""
    stop_together(components.sinks)
    gone = [store for store in components.stores if store.over]
    for store in gone:
        run.recorder.tell("audit-failed", reason=f"{store.name} on {store.host} is not there any more")
    stores = [store for store in components.stores if store not in gone]
    sinks = [sink for sink in components.sinks if sink.store not in gone]
    config = audit_config(components.context, stores, sinks)
    if config is not None:
        StoreAudit(components.context).run(config, run.waiter)


def audit_config(
    context: RunContext, stores: Sequence[StoreComponent], sinks: Sequence[SinkComponent]
) -> AuditConfig | None:
    """What the audit writes down and compares; None when there is nothing."""
    experiment, nodes = context.experiment, context.nodes
    shown = tuple(find_watched_stores(stores))
    if not (experiment.checks or sinks or shown):
        return None
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
    return AuditConfig(
        bootstrap=bootstrap(nodes),
        folder=str(dump_folder(context)),
        topics=tuple(sorted(topics)),
        stores=tuple(dump for dump in dumps if dump.tables),
        sinks=tuple(resolved),
        store_of={sink.name: sink.store.name for sink in sinks},
        shown=shown,
    )


def dump_folder(context: RunContext) -> Path:
    """Where the dump of topics and tables goes."""
    return (context.folder.work / "dump").absolute()


class StoreAudit:
    """Writes topics and tables down, and compares sinks, through a client on the observer host."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._problem = ""

    def run(self, config: AuditConfig, waiter: Waiter) -> None:
        """Run the client until it has ended. What could not be written down is an event; its metrics stay unknown."""
        context, observer = self._context, self._context.plan.network.observer
        if observer is None:
            raise Defect("the plan has no observer host")
        log = context.folder.log_path(observer.name, "audit")
        path = f"{WORK}/audit.json"
        process = context.spawn(
            observer.name,
            own_python("-m", "stream2gym.clients.audit", path),
            name="audit",
            log=log,
            on_line=status_listener(log, self._on_report),
            files={path: json.dumps(config.to_json()).encode()},
        )
        waiter.wait_at_most(AUDIT_TIMEOUT_S, lambda: process.poll() is not None)
        how = process.poll()
        if how is None or how.code != 0:
            reason = self._problem or end_of_log(log, 3) or "it did not come to an end"
            context.tell("audit-failed", reason=reason)

    def _on_report(self, report: dict[str, Any]) -> None:
        match report.get("event"):
            case "audit":
                place = f"{report['store']}/{report['table']}"
                for what in ("expected", "present", "missing", "doubled"):
                    self._context.sample("store", place, f"rows_{what}", float(report[what]))
                self._context.tell("audited", **{key: report[key] for key in report if key not in ("event", "at_ns")})
            case "rows":
                note_at_end(self._context.folder, [{"store": report["store"], **table} for table in report["tables"]])
            case "error":
                self._problem = str(report.get("what", ""))
