"""Whether the brokers of a plan can form a cluster: a mistake before the run saves two minutes of waiting. Pure.

Controllers elect a leader when a majority of them reach each other, and every other broker must reach a leader. A
request that takes longer than ``controller.quorum.request.timeout.ms`` fails. An election fails if its votes take
longer than twice ``controller.quorum.election.timeout.ms``, because Kafka draws a time between once and twice that.
So two nodes with a longer round trip do not reach each other. With a shorter one the cluster may still not form,
which cannot be known before. With ``startup: fast`` links have no latency at first, and only links that are down
count.
"""

from __future__ import annotations

from itertools import chain, combinations

from stream2gym.components.cluster import KafkaNode, plan_nodes
from stream2gym.errors import Mistake
from stream2gym.plan.planned import Plan
from stream2gym.plan.talking_paths import NetworkPaths
from stream2gym.spec.model import Experiment

REQUEST_TIMEOUT = "controller.quorum.request.timeout.ms"
ELECTION_TIMEOUT = "controller.quorum.election.timeout.ms"
USUAL_MS = {REQUEST_TIMEOUT: 2000.0, ELECTION_TIMEOUT: 1000.0}


def check_formation(experiment: Experiment, plan: Plan) -> list[Mistake]:
    """What keeps the cluster from forming: no majority of controllers, or brokers that reach no leader."""
    nodes = plan_nodes(experiment, plan)
    voters = [node for node in nodes if node.votes]
    if not voters:
        return []
    reach = _Reach(experiment, plan)
    majority = len(voters) // 2 + 1
    leaders = [one for one in voters if sum(reach.is_near(one, other) for other in voters) >= majority]
    if not leaders:
        names = ", ".join(voter.name for voter in voters)
        what = f"no majority of the controllers {names} reach each other at the start, so none is elected"
        far = next((one, other) for one in voters for other in voters if not reach.is_near(one, other))
        return [Mistake("brokers", f"{what}: {reach.explain(*far)}", reach.remedy)]
    return [
        Mistake(f"broker {node.name}", f"cannot join the cluster: {reach.explain(node, leaders[0])}", reach.remedy)
        for node in nodes
        if not any(reach.is_near(node, leader) for leader in leaders)
    ]


def warn_of_formation(experiment: Experiment, plan: Plan) -> list[str]:
    """A warning if controllers are so far apart that their elections may time out again and again."""
    voters = [node for node in plan_nodes(experiment, plan) if node.votes]
    reach = _Reach(experiment, plan)
    far = [(one, other) for one, other in combinations(voters, 2) if reach.is_doubtful(one, other)]
    if not far:
        return []
    one, other = far[0]
    takes_ms = reach.round_trip_ms(one, other)
    what = f"a round trip between the controllers {one.name} and {other.name} takes {takes_ms:g} ms"
    return [f"{what}: their elections may time out, and the cluster may not form ({reach.remedy})"]


class _Reach:
    """Which nodes reach each other while the cluster forms."""

    def __init__(self, experiment: Experiment, plan: Plan) -> None:
        self._paths = NetworkPaths(plan.network)
        self._is_shaped = plan.startup != "fast"
        self._configs = [experiment.kafka.config, *(broker.config for broker in experiment.brokers)]
        self._request_ms = self._longest(REQUEST_TIMEOUT)
        self._election_ms = min(self._request_ms, 2 * self._longest(ELECTION_TIMEOUT))

    def _longest(self, key: str) -> float:
        """The longest of all values of a property, because only what certainly fails is a mistake."""
        given = [_number(config[key]) for config in self._configs if key in config]
        return max(given, default=USUAL_MS[key])

    @property
    def remedy(self) -> str:
        if self._is_shaped:
            return (
                f"startup: fast forms it over unshaped links; or raise {REQUEST_TIMEOUT} and "
                f"{ELECTION_TIMEOUT} under kafka.config"
            )
        return "let the links between them be up at the start, and take them down by a fault"

    def is_near(self, one: KafkaNode, other: KafkaNode) -> bool:
        """Whether a request and its answer can pass between two nodes in time."""
        return one.host == other.host or self._obstacle(one, other) == ""

    def explain(self, one: KafkaNode, other: KafkaNode) -> str:
        """Why two nodes do not reach each other, in words."""
        return f"between {one.name} and {other.name} {self._obstacle(one, other)}"

    def is_doubtful(self, one: KafkaNode, other: KafkaNode) -> bool:
        """Whether an election between two controllers may time out before the votes have come."""
        shortest_ms = self._longest(ELECTION_TIMEOUT)
        return self._is_shaped and self.is_near(one, other) and self.round_trip_ms(one, other) >= shortest_ms

    def round_trip_ms(self, one: KafkaNode, other: KafkaNode) -> float:
        """The latency of the path between two nodes and back; 0 on one host."""
        there, back = self._paths.path(one.host, other.host) or (), self._paths.path(other.host, one.host) or ()
        return sum(link.latency_ms for link in self._paths.settings(chain(there, back)))

    def _obstacle(self, one: KafkaNode, other: KafkaNode) -> str:
        there, back = self._paths.path(one.host, other.host), self._paths.path(other.host, one.host)
        if there is None or back is None:
            return "there is no path"
        if not self._is_shaped:
            return ""
        settings = self._paths.settings(chain(there, back))
        if any(link.loss >= 1.0 for link in settings):
            return "every packet is lost"
        round_trip_ms = self.round_trip_ms(one, other)
        waits_ms = self._election_ms if one.votes and other.votes else self._request_ms
        if round_trip_ms >= waits_ms:
            return f"a round trip takes {round_trip_ms:g} ms, and Kafka waits {waits_ms:g} ms for an answer"
        return ""


def _number(value: object) -> float:
    """The value of a property; infinite if it is no number, because Kafka will refuse it."""
    try:
        return float(str(value))
    except ValueError:
        return float("inf")
