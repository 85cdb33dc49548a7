"""The faults of a run: what they may act on, made from the gym, and the runner that lets them happen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from stream2gym.components.cluster import Node
from stream2gym.components.observer import Observer, Question
from stream2gym.errors import CannotHere, S2gError, StartFailed
from stream2gym.faults.base import CannotApply, Subject, World
from stream2gym.faults.linkbook import LinkBook
from stream2gym.faults.runner import FaultRunner
from stream2gym.gymlife.control import FaultDesk
from stream2gym.hosts import cgroups
from stream2gym.kinds.targets import parse_target
from stream2gym.plan.model import Plan

if TYPE_CHECKING:
    from stream2gym.gym import Gym

SQUEEZES = ("cpu", "memory")
ROLE_S = 2.0  # how long a condition waits for the cluster to say who has a role


def start_faults(gym: Gym) -> FaultDesk:
    """Called at t0."""
    assert gym.t0_ns is not None
    experiment, plan = gym.script.experiment, gym.script.plan
    observer: Observer | None = getattr(gym, "observer", None)
    cluster = None if observer is None else ObservedCluster(observer, gym.nodes)
    world = World(
        network=plan.network,
        links=LinkBook(plan.network, gym.network.fabric),
        components=lambda: _by_name(gym),
        experiment=experiment,
        machines=gym.network,
        cluster=cluster,
        wipe=lambda name: _wipe(gym, name),
    )
    runner = FaultRunner(
        plan.faults,
        world,
        gym.tell,
        GymSenses(gym, cluster),
        t0_ns=gym.t0_ns,
        end_ns=gym.t0_ns + round(float(experiment.time) * 1e9),
        seed=plan.seed,
    )
    return FaultDesk(runner, gym.folder.path, experiment, gym.script.base)


def squeezable_hosts(plan: Plan) -> dict[str, set[str]]:
    """Hosts whose CPU or memory a fault may limit, so that they can be limited at all; a role may be anywhere."""
    found: dict[str, set[str]] = {}
    for fault in plan.faults:
        if fault.kind in SQUEEZES:
            for host in plan.network.hosts:
                if any(not _is_name(text) or fnmatchcase(host.name, text) for text in fault.on):
                    found.setdefault(host.name, set()).add(fault.kind)
    return found


def _is_name(text: str) -> bool:
    return parse_target(text).form == "name"


def check_machine(plan: Plan) -> None:
    """Refuse faults that this machine cannot do, before anything starts."""
    wanted = sorted(set().union(*squeezable_hosts(plan).values()))
    controllers = cgroups.find_controllers() if wanted else {}
    for name in wanted:
        if not controllers[name].works:
            raise CannotHere(
                f"the fault {name} needs {name} limits: {controllers[name].problem}", controllers[name].remedy
            )


def _wipe(gym: Gym, name: str) -> None:
    part: Any = _by_name(gym).get(name)
    if not hasattr(part, "wipe"):
        raise CannotApply(f"{name} keeps no data that could be wiped")
    part.wipe()


def _by_name(gym: Gym) -> Mapping[str, Subject]:
    return {part.name: part for part in gym.components()}


class ObservedCluster:
    """The cluster through the observer's admin client."""

    def __init__(self, observer: Observer, nodes: Sequence[Node]) -> None:
        self._observer = observer
        self._names = {node.id: node.name for node in nodes}
        self._ids = {node.name: node.id for node in nodes} | {
            node.host: node.id for node in nodes if node.is_broker
        }

    def ask(self, operation: str, **request: Any) -> Question:
        return self._observer.ask(operation, **request)

    def broker(self, node: int) -> str:
        if node not in self._names:
            raise CannotApply(f"no broker has the node id {node}")
        return self._names[node]

    def node(self, name: str) -> int:
        if name not in self._ids:
            raise CannotApply(f"{name} is no broker, and no broker is on it")
        return self._ids[name]


class GymSenses:
    """What conditions ask about."""

    def __init__(self, gym: Gym, cluster: ObservedCluster | None) -> None:
        self._gym = gym
        self._cluster = cluster

    def number(self, name: str) -> float | None:
        return self._gym.lag() if name == "lag" else self._gym.counts().get(name)

    def who_is(self, role: str) -> str | None:
        if self._cluster is None:
            return None
        what, _, subject = role.partition(" of ")
        try:
            if what == "controller":
                said = self._cluster.ask("controller", timeout_s=ROLE_S).result(ROLE_S)
            elif what == "coordinator":
                said = self._cluster.ask("coordinator", group=subject, timeout_s=ROLE_S).result(ROLE_S)
            else:
                said = self._leader(subject)
            return self._cluster.broker(int(said["node"]))
        except (S2gError, CannotApply):
            return None

    def _leader(self, place: str) -> dict[str, Any]:
        """The leader of ``topic/partition``, of partition 0 where none is named."""
        assert self._cluster is not None
        topic, slash, number = place.rpartition("/")
        topic, number = (topic, number) if slash and number.isdigit() else (place, "0")
        found = self._cluster.ask("describe", topics=[topic]).result(ROLE_S)["topics"]
        if number not in found.get(topic, {}):
            raise StartFailed(f"there is no partition {place}")
        return {"node": found[topic][number][0]}
