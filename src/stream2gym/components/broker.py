"""A Kafka broker, a controller, or both in one process, on its host.

Its data folder is formatted without a JVM and lies on the host's own storage; its log goes to the run folder.
Ready means that the observer has seen it in the cluster, which the run waits for once for all brokers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stream2gym.components.base import ProcessComponent
from stream2gym.components.cluster import CLIENT_PORT, CONTROLLER_PORT, Node, property_texts
from stream2gym.components.stage import Stage
from stream2gym.components.unit import RestartPolicy, Unit
from stream2gym.hosts.machine import WORK
from stream2gym.hosts.process import Process
from stream2gym.software.kafka import KafkaSoftware
from stream2gym.software.kafka_config import broker_defaults, properties_text
from stream2gym.software.kafka_storage import ensure_checkpoint, new_id
from stream2gym.spec.model import Broker

ORDERLY_STOP_S = 60.0
WIPE_S = 30.0


def broker_properties(
    node: Node, nodes: Sequence[Node], folder: str, asked: Mapping[str, str | int | float | bool]
) -> dict[str, str]:
    """Defaults, then what the cluster demands, then what the user asked for."""
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
    """What all nodes share."""

    id: str
    nodes: tuple[Node, ...]
    software: KafkaSoftware


class BrokerComponent(ProcessComponent):
    """One node of the cluster."""

    def __init__(self, stage: Stage, broker: Broker, node: Node, cluster: Cluster) -> None:
        kafka = stage.experiment.kafka
        folder = f"{WORK}/{node.name}"
        properties = broker_properties(node, cluster.nodes, folder, {**kafka.config, **broker.config})
        meta = {"version": "1", "cluster.id": cluster.id, "node.id": str(node.id), "directory.id": new_id()}
        self.log = stage.folder.log_path(node.host, node.name)
        self.node = node
        self.seen = False  # set by the run when the observer has seen it in the cluster
        command = cluster.software.command(f"{folder}/broker.properties", heap_mb=int(kafka.heap) // 1024**2)
        config = {f"{folder}/broker.properties": properties_text(properties).encode()}
        storage = {
            f"{folder}/data/meta.properties": properties_text(meta).encode(),
            f"{folder}/data/bootstrap.checkpoint": ensure_checkpoint(cluster.software).read_bytes(),
        }

        self._stage, self._data, self._empty = stage, f"{folder}/data", True

        def launch(_start: int) -> Process:
            files = config | storage if self._empty else {}
            self._empty = False
            return stage.spawn(node.host, command, name=node.name, log=self.log, files=files)

        policy = RestartPolicy(broker.restart.times, float(broker.restart.delay))
        unit = Unit(node.name, node.host, launch, stage.tell, policy=policy, grace_s=ORDERLY_STOP_S)
        super().__init__(node.name, "broker", node.host, [unit])

    def wipe(self) -> None:
        """Lose everything that was stored; the next start begins with an empty, formatted folder."""
        argv = ["rm", "-rf", "--", self._data]
        self._stage.spawn(self.host, argv, name="wipe", log=self.log).wait(WIPE_S)
        self._empty = True

    def ready(self) -> bool:
        return self.seen and super().ready()
