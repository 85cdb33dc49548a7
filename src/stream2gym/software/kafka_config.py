"""Broker properties: the defaults that make many brokers fit on one machine, and the file they are read from."""

from __future__ import annotations

from collections.abc import Mapping


def broker_defaults(brokers: int) -> dict[str, str]:
    """Default properties of each of this many brokers; those of the user take precedence.

    Few threads and a small cleaner buffer save a third of a broker's memory; no rebalance delay saves each
    consumer group three seconds; internal topics cannot have more replicas than there are brokers.
    """
    replicas = str(min(3, brokers))
    in_sync = "2" if brokers >= 3 else "1"
    return {
        "num.network.threads": "1",
        "num.io.threads": "2",
        "num.recovery.threads.per.data.dir": "1",
        "log.cleaner.dedupe.buffer.size": str(16 * 1024**2),
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": "10",
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "transaction.state.log.num.partitions": "5",
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
        "share.coordinator.state.topic.num.partitions": "5",
        "auto.create.topics.enable": "false",
        "controlled.shutdown.enable": "true",
    }


def properties_text(properties: Mapping[str, str]) -> str:
    """The properties as a file that Java reads back exactly."""
    return "".join(f"{_escaped(key, key=True)}={_escaped(value)}\n" for key, value in properties.items())


def _escaped(text: str, *, key: bool = False) -> str:
    out = []
    for place, char in enumerate(text):
        if char in "\\" or (char in "=:#!" and key) or (char == " " and (key or place == 0)):
            out.append("\\" + char)
        elif char in "\n\r\t":
            out.append({"\n": "\\n", "\r": "\\r", "\t": "\\t"}[char])
        elif " " <= char <= "~":
            out.append(char)
        else:
            units = char.encode("utf-16-be")
            out += [f"\\u{units[n] << 8 | units[n + 1]:04x}" for n in range(0, len(units), 2)]
    return "".join(out)
