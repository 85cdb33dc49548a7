"""A node of RabbitMQ on its host.

Its data folder is on the host's own storage and outlives a kill. Its log is in the run folder. Erlang starts a name
service (epmd) beside the node, which outlives it: a node that starts again registers there anew, and it ends with the
host. The node is ready when the observer has spoken AMQP with it and found what another node was told.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from stream2gym.components.base_component import BaseComponent
from stream2gym.components.component_process import ComponentProcess, RestartPolicy
from stream2gym.components.rabbitmq_cluster import (
    GroupQueue,
    RabbitMqNode,
    has_mirrors,
    make_definitions,
    node_environment,
    node_settings,
    settings_text,
)
from stream2gym.components.run_context import RunContext
from stream2gym.errors import CannotHere
from stream2gym.hosts.emulated_host import WORK
from stream2gym.hosts.environment import clean_environment
from stream2gym.hosts.process import Process
from stream2gym.software.rabbitmq_software import RabbitMqSoftware
from stream2gym.spec.model import Broker

ORDERLY_STOP_S = 30.0
WIPE_S = 30.0
NO_MIRRORS_FROM = 4


class RabbitMqBroker(BaseComponent):
    """One node of the RabbitMQ cluster on its host."""

    def __init__(
        self,
        context: RunContext,
        broker: Broker,
        node: RabbitMqNode,
        queues: Sequence[GroupQueue],
        software: RabbitMqSoftware,
    ) -> None:
        folder = f"{WORK}/{node.name}"
        nodes = [one for one in context.nodes if isinstance(one, RabbitMqNode)]
        settings = node_settings(nodes, folder, broker.partition_handling, broker.config)
        files = {
            f"{folder}/rabbitmq.conf": settings_text(settings).encode(),
            f"{folder}/definitions.json": make_definitions(context.experiment, queues).encode(),
            f"{folder}/plugins": b"[].\n",
            f"{folder}/log/.made": b"",
        }
        environment = node_environment(node, folder)
        environment |= software.environment(clean_environment(os.environ))
        self.log = context.folder.log_path(node.host, node.name)
        self.node = node
        # The run sets this when the observer has seen the node in the cluster.
        self.seen = False
        self._context = context
        self._data = f"{folder}/data"

        def launch(_start: int) -> Process:
            return context.spawn(
                node.host, software.command, name=node.name, log=self.log, files=files, env=environment
            )

        policy = RestartPolicy.of(broker.restart)
        process = ComponentProcess(node.name, node.host, launch, context.tell, policy=policy, grace_s=ORDERLY_STOP_S)
        super().__init__(node.name, "broker", node.host, [process])

    def wipe(self) -> None:
        """Remove everything that was stored. The next start begins with an empty folder."""
        argv = ["rm", "-rf", "--", self._data]
        self._context.spawn(self.host, argv, name="wipe", log=self.log).wait(WIPE_S)

    def ready(self) -> bool:
        return self.seen and super().ready()


def check_version(context: RunContext, software: RabbitMqSoftware) -> None:
    """CannotHere if the experiment wants what this version of RabbitMQ does not offer."""
    major = software.version.partition(".")[0]
    if has_mirrors(context.experiment) and major.isdigit() and int(major) >= NO_MIRRORS_FROM:
        what = f"RabbitMQ {software.version} has no classic queues with copies on several nodes"
        raise CannotHere(what, "queue: quorum, or replicas: 1")
