"""A Kafka broker, a controller, or both in one process, on its host.

Its data folder is formatted without a JVM and is on the host's own storage. Its log is in the run folder. It is ready
when the observer has seen it in the cluster; the run waits once for all brokers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stream2gym.components.base_component import BaseComponent
from stream2gym.components.cluster import CLIENT_PORT, CONTROLLER_PORT, KafkaNode, property_texts
from stream2gym.components.component_process import ComponentProcess, RestartPolicy
from stream2gym.components.run_context import RunContext
from stream2gym.hosts.emulated_host import WORK
from stream2gym.hosts.process import Process
from stream2gym.software.kafka_config import broker_defaults, properties_text
from stream2gym.software.kafka_software import KafkaSoftware
from stream2gym.software.kafka_storage import ensure_checkpoint, new_id
from stream2gym.spec.model import Broker

ORDERLY_STOP_S = 60.0
WIPE_S = 30.0


def broker_properties(
    node: KafkaNode, nodes: Sequence[KafkaNode], folder: str, asked: Mapping[str, str | int | float | bool]
) -> dict[str, str]:
    """The properties of a node: our defaults, overridden by what the cluster demands, overridden by the user's."""
    brokers = sum(one.is_broker for one in nodes)
    listeners, advertised = [], []
    if node.is_broker:
        listeners.append(f"PLAINTEXT://:{CLIENT_PORT}")
        advertised.append(f"PLAINTEXT://{node.address}:{CLIENT_PORT}")
    if node.votes:
        listeners.append(f"CONTROLLER://:{CONTROLLER_PORT}")
        advertised.append(f"CONTROLLER://{node.address}:{CONTROLLER_PORT}")
    return (
        broker_defaults(brokers)
        | {
            "process.roles": ",".join(node.roles),
            "node.id": str(node.id),
            "controller.quorum.voters": ",".join(
                f"{one.id}@{one.address}:{CONTROLLER_PORT}" for one in nodes if one.votes
            ),
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "listeners": ",".join(listeners),
            "advertised.listeners": ",".join(advertised),
            "log.dirs": f"{folder}/data",
        }
        | property_texts(asked)
    )


@dataclass(frozen=True)
class Cluster:
    """What all nodes of a cluster share."""

    id: str
    nodes: tuple[KafkaNode, ...]
    software: KafkaSoftware


class BrokerComponent(BaseComponent):
    """One node of the Kafka cluster on its host."""

    def __init__(self, context: RunContext, broker: Broker, node: KafkaNode, cluster: Cluster) -> None:
        kafka = context.experiment.kafka
        folder = f"{WORK}/{node.name}"
        properties = broker_properties(node, cluster.nodes, folder, {**kafka.config, **broker.config})
        meta = {"version": "1", "cluster.id": cluster.id, "node.id": str(node.id), "directory.id": new_id()}
        self.log = context.folder.log_path(node.host, node.name)
        self.node = node
        # The run sets this when the observer has seen the node in the cluster.
        self.seen = False
        command = cluster.software.command(f"{folder}/broker.properties", heap_mb=int(kafka.heap) // 1024**2)
        config = {f"{folder}/broker.properties": properties_text(properties).encode()}
        storage = {
            f"{folder}/data/meta.properties": properties_text(meta).encode(),
            f"{folder}/data/bootstrap.checkpoint": ensure_checkpoint(cluster.software).read_bytes(),
        }

        self._context = context
        self._data = f"{folder}/data"
        # Whether the next start has to write the configuration and a formatted data folder.
        self._empty = True

        def launch(_start: int) -> Process:
            files = config | storage if self._empty else {}
            self._empty = False
            return context.spawn(node.host, command, name=node.name, log=self.log, files=files)

        policy = RestartPolicy.of(broker.restart)
        process = ComponentProcess(node.name, node.host, launch, context.tell, policy=policy, grace_s=ORDERLY_STOP_S)
        super().__init__(node.name, "broker", node.host, [process])

    def wipe(self) -> None:
        """Remove everything that was stored. The next start begins with an empty, formatted folder."""
        argv = ["rm", "-rf", "--", self._data]
        self._context.spawn(self.host, argv, name="wipe", log=self.log).wait(WIPE_S)
        self._empty = True

    def ready(self) -> bool:
        return self.seen and super().ready()
