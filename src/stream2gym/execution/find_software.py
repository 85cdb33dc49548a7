"""Phase ``software``: fetch what the components of a run need, where it is not on this machine yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stream2gym.components.engine import prepare_engines
from stream2gym.components.store import prepare_stores
from stream2gym.execution.run_control import RunControl
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.fetch import Progress
from stream2gym.software.kafka_software import KafkaSoftware
from stream2gym.software.rabbitmq_software import RabbitMqSoftware, find_rabbitmq


@dataclass(frozen=True)
class RunSoftware:
    """The programs that a run starts."""

    # None in a run without brokers of Kafka.
    kafka: KafkaSoftware | None
    # What the class of each engine and store prepared, by the name of the component.
    of_components: Mapping[str, Any]
    # None in a run without brokers of RabbitMQ.
    rabbitmq: RabbitMqSoftware | None = None


def find_software(run: RunControl, when_fetched: Callable[[Progress], None]) -> RunSoftware:
    """Fetch the software of the run. ``when_fetched`` is called afterwards in a run with brokers."""
    run.recorder.phase("software")
    experiment = run.planned.experiment
    progress = _DownloadProgress(run)
    of_components = prepare_engines(experiment.engines, run.planned.base, progress.show)
    of_components |= prepare_stores(experiment.stores, progress.show)
    kafka = None
    if any(broker.type == "kafka" for broker in experiment.brokers):
        kafka = ensure_kafka(experiment.kafka.version, experiment.kafka.java, progress.show)
        run.folder.update(kafka=kafka.version, java=kafka.java.version)
        when_fetched(progress.show)
    rabbitmq = None
    if experiment.uses_rabbitmq:
        rabbitmq = find_rabbitmq()
        run.folder.update(rabbitmq=rabbitmq.version)
    return RunSoftware(kafka, of_components, rabbitmq)


class _DownloadProgress:
    """Shows how far a download is: one line for each quarter, because the log of a CI job keeps them all."""

    def __init__(self, run: RunControl) -> None:
        self._run = run
        self._shown = ("", -1)

    def show(self, what: str, done: int, total: int) -> None:
        """Show the progress if it has changed; raise what makes going on useless."""
        self._run.waiter.check_failures()
        quarter = 4 * done // total if total else 0
        if (what, quarter) != self._shown:
            self._shown = (what, quarter)
            self._run.recorder.view.note(f"{what}: {25 * quarter} % of {total / 1e6:.0f} MB" if total else what)
