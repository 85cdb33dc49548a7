"""The faults of a run: what they act on, what their conditions ask about, and the thread that applies them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stream2gym.components.cluster import ServingNode
from stream2gym.components.observer import Observer, Question
from stream2gym.errors import S2gError, StartFailed
from stream2gym.execution.drive_load import Load
from stream2gym.execution.fault_server import FaultServer
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl
from stream2gym.faults.action import CannotApply, FaultContext, TargetComponent
from stream2gym.faults.fault_runner import FaultRunner
from stream2gym.faults.link_changes import ActiveLinkChanges

# How long a condition waits for the cluster to say who has a role.
ROLE_S = 2.0


def start_faults(run: RunControl, load: Load) -> FaultServer:
    """Start the faults of the plan and take faults by hand. Called when t0 is known and no message has been sent."""
    components = load.components
    context = components.context
    experiment, plan = context.experiment, context.plan
    observer = components.observer
    cluster = None if observer is None else ObservedCluster(observer, context.nodes)
    fault_context = FaultContext(
        network=plan.network,
        links=ActiveLinkChanges(plan.network, context.network.fabric),
        components=lambda: _by_name(components),
        experiment=experiment,
        hosts=context.network,
        cluster=cluster,
        wipe=lambda name: _wipe(components, name),
    )
    runner = FaultRunner(
        plan.faults,
        fault_context,
        context.tell,
        LoadState(load, cluster),
        t0_ns=load.t0_ns,
        end_ns=load.t0_ns + round(float(experiment.time) * 1e9),
        seed=plan.seed,
    )
    server = FaultServer(runner, context.folder.path, lambda: context.experiment, context.base)
    run.undo.callback(server.close)
    return server


def _wipe(components: RunComponents, name: str) -> None:
    """Remove what a component has stored; CannotApply if it stores nothing."""
    part: Any = _by_name(components).get(name)
    if not hasattr(part, "wipe"):
        raise CannotApply(f"{name} keeps no data that could be wiped")
    part.wipe()


def _by_name(components: RunComponents) -> Mapping[str, TargetComponent]:
    return {part.name: part for part in components.all()}


class ObservedCluster:
    """The cluster as faults ask it, through the observer's admin client."""

    def __init__(self, observer: Observer, nodes: Sequence[ServingNode]) -> None:
        self._observer = observer
        self._names = {node.id: node.name for node in nodes}
        self._ids = {node.name: node.id for node in nodes} | {node.host: node.id for node in nodes if node.is_broker}

    def ask(self, operation: str, **request: Any) -> Question:
        """Send a request to the cluster; the answer comes to the question."""
        return self._observer.ask(operation, **request)

    def broker(self, node: int) -> str:
        """The name of the broker with this node id."""
        if node not in self._names:
            raise CannotApply(f"no broker has the node id {node}")
        return self._names[node]

    def node(self, name: str) -> int:
        """The node id of a broker, given its name or its host."""
        if name not in self._ids:
            raise CannotApply(f"{name} is no broker, and no broker is on it")
        return self._ids[name]


class LoadState:
    """What the conditions of faults ask about: counts and lag of the load, and who has a role in the cluster."""

    def __init__(self, load: Load, cluster: ObservedCluster | None) -> None:
        self._load = load
        self._cluster = cluster

    def number(self, name: str) -> float | None:
        """The lag or a count of the clients; None while it is unknown."""
        return self._load.lag() if name == "lag" else self._load.counts().get(name)

    def who_is(self, role: str) -> str | None:
        """The broker that has the role (controller, coordinator of GROUP, leader of TOPIC/N); None if unknown."""
        if self._cluster is None:
            return None
        what, _, subject = role.partition(" of ")
        try:
            if what == "controller":
                answer = self._cluster.ask("controller", timeout_s=ROLE_S).result(ROLE_S)
            elif what == "coordinator":
                answer = self._cluster.ask("coordinator", group=subject, timeout_s=ROLE_S).result(ROLE_S)
            else:
                answer = {"node": _find_leader(self._cluster, subject)}
            return self._cluster.broker(int(answer["node"]))
        except (S2gError, CannotApply):
            return None


def _find_leader(cluster: ObservedCluster, place: str) -> int:
    """The node that leads ``TOPIC/N``, or partition 0 where no number is given."""
    topic, slash, number = place.rpartition("/")
    topic, number = (topic, number) if slash and number.isdigit() else (place, "0")
    found = cluster.ask("describe", topics=[topic]).result(ROLE_S)["topics"]
    if number not in found.get(topic, {}):
        raise StartFailed(f"there is no partition {place}")
    return int(found[topic][number][0])
