"""The published military scenario of the tests, and what its programs wrote into their own logs."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

GRAPHS = Path("use-cases") / "military-coordination"
# Each site leads a topic in turn: where Kafka chooses, nobody knows whom a cut hits.
LEADERS = {"topics.topic-0.leader": "h1", "topics.topic-1.leader": "h2"}
# A silent broker is replaced after three seconds instead of nine.
QUICK_ELECTION = {"kafka.config": "{broker.session.timeout.ms: 3000, broker.heartbeat.interval.ms: 500}"}


@dataclass
class Logs:
    """Numbers of messages as the programs logged them, by site."""

    acknowledged: dict[int, set[str]] = field(default_factory=dict)
    # By the site that sent and the site that received.
    received: dict[tuple[int, int], set[str]] = field(default_factory=lambda: defaultdict(set))

    @property
    def sites(self) -> list[int]:
        return sorted(self.acknowledged)

    def missing(self, sender: int, receiver: int) -> set[str]:
        """What the sender's broker acknowledged and the receiver never logged."""
        return self.acknowledged[sender] - self.received[sender, receiver]


def read_logs(run: Path) -> Logs:
    """Read the logs that the programs of a run wrote under ``logs/output``."""
    found = Logs()
    for log in (run / "work" / "logs" / "output").glob("prod/prod-node*.log"):
        found.acknowledged[_site(log)] = set(re.findall(r"Produced message ID: (\d+)", log.read_text()))
    for log in (run / "work" / "logs" / "output").glob("cons/cons-node*.log"):
        for sender, number in re.findall(r"Prod ID: (\d+); Message ID: (\d+)", log.read_text()):
            found.received[int(sender), _site(log)].add(number)
    return found


def _site(log: Path) -> int:
    found = re.search(r"node(\d+)-", log.name)
    assert found is not None
    return int(found[1])
