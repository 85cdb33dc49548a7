"""Watches which broker leads each partition and which node is the active controller.

Every broker is asked by itself, in a loop, on threads and connections of its own: a broker that is cut off or paused
knows nothing new, and must not delay the others. ``stream2gym.clients.admin`` defines the lines that are written.
"""

from __future__ import annotations

import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stream2gym.clients import kafka_protocol
from stream2gym.clients.cluster_state import WatchedCluster
from stream2gym.clients.kafka_protocol import Connection
from stream2gym.clients.partition_view import PartitionView

ANSWER_TIMEOUT_S = 2.0
# Brokers are asked for the controller once in this many rounds, because each must ask the controller in turn.
CONTROLLER_EVERY = 5

WriteLine = Callable[[dict[str, Any]], None]
AskBroker = Callable[[int, Connection], None]


class BrokerWatch:
    """Combines the answers of all brokers and writes a line about each change."""

    def __init__(self, topics: Sequence[str], write_line: WriteLine) -> None:
        self._topics = topics
        self._write_line = write_line
        self._view = PartitionView()
        self._controller = -1
        self._controller_epoch = -1
        self._lock = threading.Lock()
        self._is_known = False

    def ask_topics(self, node: int, broker: Connection) -> None:
        """Ask one broker about the topics; write a line with the partitions that changed."""
        topics = kafka_protocol.ask_topics(broker, self._topics)
        at_ns = time.monotonic_ns()
        with self._lock:
            changed = self._view.update(node, topics)
            self._is_known = True
            if changed:
                states = {
                    f"{name}/{number}": [partition.leader, list(partition.replicas), list(partition.in_sync)]
                    for (name, number), partition in changed.items()
                }
                known = WatchedCluster(at_ns, self._controller, self._view.partitions())
                counts = {"under_replicated": known.under_replicated, "leaderless": known.leaderless}
                self._write_line({"watch": states, **counts, "at_ns": at_ns})

    def ask_controller(self, _node: int, broker: Connection) -> None:
        """Ask one broker for the active controller; write a line when it is another one than before."""
        epoch, controller = kafka_protocol.ask_controller(broker)
        at_ns = time.monotonic_ns()
        with self._lock:
            if epoch > self._controller_epoch and controller != self._controller:
                self._write_line({"controller": controller, "at_ns": at_ns})
                self._controller = controller
            self._controller_epoch = max(epoch, self._controller_epoch)

    def known(self) -> WatchedCluster:
        """What is known at this moment."""
        with self._lock:
            return WatchedCluster(
                time.monotonic_ns(), self._controller, self._view.partitions(), is_known=self._is_known
            )


def ask_in_loop(ask: AskBroker, node: int, broker: Connection, every_s: float) -> None:
    """Ask the broker every ``every_s`` seconds, for ever; a broker that is down or cut off is asked again.

    Whatever else goes wrong with an answer must not end the watch: its reason goes to the log.
    """
    due = time.monotonic()
    while True:
        try:
            ask(node, broker)
        except (OSError, struct.error, kafka_protocol.Refused):
            pass
        except Exception as error:
            print(f"broker {node}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        due = max(due + every_s, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))


def watch_brokers(
    brokers: Mapping[int, str], topics: Sequence[str], every_s: float, write_line: WriteLine
) -> BrokerWatch:
    """Watch from now on to the end of the process; ``brokers`` maps node ids to addresses."""
    watch = BrokerWatch(topics, write_line)
    # A question about the controller can take long, so it has a thread and a connection of its own.
    questions = ((watch.ask_topics, every_s), (watch.ask_controller, CONTROLLER_EVERY * every_s))
    for node, server in brokers.items():
        for ask, pause_s in questions:
            arguments = (ask, node, Connection(server, ANSWER_TIMEOUT_S), pause_s)
            threading.Thread(target=ask_in_loop, args=arguments, daemon=True).start()
    return watch
