"""The process that decodes: it reads the spools of captured packets and writes the journals of observed clients.

``python -m stream2gym.packets.decode CONFIG``. It runs at the lowest priority beside the run and is done when it has
read the end of every spool. It ends at once when its standard input is closed. Its last line on standard output is a
JSON list with an object for each observed process (``ProcessSummary``).
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from stream2gym import linux
from stream2gym.jsonable import Jsonable
from stream2gym.packets.conversation import ClientConversation, UnownedConversation
from stream2gym.packets.observed_client import ObservedClient
from stream2gym.packets.ring import packets_of
from stream2gym.packets.spool import BLOCK, LOST, OWNER, Entry, SpoolReader
from stream2gym.packets.tcp import Connections, End, parse_segment
from stream2gym.record.journal import RecordFull

_LOOK_EVERY_S = 0.25
_NICENESS = 19
RECORD_FULL = 5

Owner = tuple[str, int]  # component and instance that a process was started for


@dataclass(frozen=True)
class ObservedProcess(Jsonable):
    """One process of a component; ``kind`` is producer or consumer; ``group`` and ``start`` are the experiment's.

    Of kind engine it stands for all processes of an engine on one host, and ``instance`` counts its hosts.
    """

    component: str
    instance: int
    kind: str
    host: str
    group: str = ""
    start: str = "earliest"


@dataclass(frozen=True)
class DecodeConfig(Jsonable):
    """What the decoder is told. ``spool`` and ``raw`` are folders: of captured packets, and of journals."""

    spool: str
    raw: str
    port: int
    hosts: tuple[str, ...]
    observed: tuple[ObservedProcess, ...]
    hash_by: dict[str, str] = field(default_factory=dict)
    # Topics in which messages are recognised by a header that programs forward.
    header_topics: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProcessSummary(Jsonable):
    """What was decoded of one process.

    ``groups`` are the partitions that it read: topic, number, first offset asked for. ``problems`` are the reasons
    why messages may be missing in its record, with how often each occurred.
    """

    component: str
    instance: int
    produced: int
    fetched: int
    groups: dict[str, list[tuple[str, int, int]]]
    problems: dict[str, int]


class HostDecoder:
    """The connections of one host."""

    def __init__(
        self,
        config: DecodeConfig,
        host: str,
        clients: dict[Owner, ObservedClient],
        topics: dict[bytes, str],
    ) -> None:
        self._clients = clients
        self._topics = topics
        self._last_ns = 0
        self._owners: dict[End, Owner | None] = {}
        self._connections = Connections(config.port, self._accept)
        self.problems: Counter[str] = Counter()
        self.reader = SpoolReader(Path(config.spool), host)

    def decode(self) -> None:
        """Decode what is there by now."""
        for entry in self.reader.entries():
            self._hear(entry)
        if self.reader.is_over:
            self._connections.end()
            if self._connections.headless:
                self.problems["connections whose beginning was not captured"] += self._connections.headless

    def _hear(self, entry: Entry) -> None:
        if entry.kind == BLOCK:
            for packet in packets_of(entry.data, entry.packets):
                at_ns = packet.at_ns - entry.wall_ns + entry.copied_ns
                # Where somebody set the wall clock in between: not before the last packet, nor after the copy.
                self._last_ns = at_ns = min(max(at_ns, self._last_ns), entry.copied_ns)
                segment = parse_segment(packet.data, at_ns, verify=not packet.is_sound)
                if segment is not None:
                    self._connections.add(segment)
        elif entry.kind == OWNER:
            said = entry.said()
            address, port = said["end"]
            self._owners[bytes.fromhex(address), port] = said["owner"]
        elif entry.kind == LOST:
            self.problems["packets that were not captured in time"] += entry.said()["packets"]

    def _accept(self, end: End) -> ClientConversation | UnownedConversation | None:
        """Whoever hears a connection that begins; nobody where it is not that of an observed client."""
        owner = self._owners.pop(end, None)
        if owner is None:
            return UnownedConversation(self._tell_problem)
        client = self._clients.get((owner[0], owner[1]))
        return None if client is None else ClientConversation(client, self._topics)

    def _tell_problem(self, what: str) -> None:
        self.problems[what] += 1


class Decoder:
    """All hosts and clients of one run."""

    def __init__(self, config: DecodeConfig) -> None:
        self._config = config
        raw = Path(config.raw)
        self._clients = [
            ObservedClient(
                raw,
                one.component,
                one.instance,
                one.group,
                hash_by=config.hash_by,
                header_topics=config.header_topics,
                members_only=one.kind == "engine",
            )
            for one in config.observed
        ]
        by_host: dict[str, dict[Owner, ObservedClient]] = {host: {} for host in config.hosts}
        for one, client in zip(config.observed, self._clients, strict=True):
            # A client that nobody hears of has its journal, too: that it did nothing was observed.
            if one.kind in ("producer", "engine"):
                client.open_sent()
            if one.kind in ("consumer", "engine"):
                client.open_received(one.group)
            # On every host the processes of an engine say that they are its only instance.
            by_host[one.host][one.component, 1 if one.kind == "engine" else one.instance] = client
        topics: dict[bytes, str] = {}
        self._hosts = {host: HostDecoder(config, host, clients, topics) for host, clients in by_host.items()}

    def decode(self) -> bool:
        """Decode what is there by now; whether that was all."""
        for host in self._hosts.values():
            host.decode()
        return all(host.reader.is_over for host in self._hosts.values())

    def close(self) -> list[ProcessSummary]:
        """Close the journals and sum up."""
        found = []
        for one, client in zip(self._config.observed, self._clients, strict=True):
            client.close()
            found.append(
                ProcessSummary(
                    component=one.component,
                    instance=one.instance,
                    produced=client.produced,
                    fetched=client.fetched,
                    groups={
                        group: [(*place, offset) for place, offset in sorted(places.items())]
                        for group, places in client.began.items()
                    },
                    problems=dict(client.problems + self._hosts[one.host].problems),
                )
            )
        return found


def main(path: str) -> int:
    linux.name_process("s2g-decode")
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(_NICENESS)
    config = DecodeConfig.from_json(json.loads(Path(path).read_text("utf-8")))
    try:
        decoder = Decoder(config)
        while not decoder.decode():
            if select.select([sys.stdin], [], [], _LOOK_EVERY_S)[0]:
                return 0
    except RecordFull as error:
        print(error, file=sys.stderr)
        return RECORD_FULL
    print(json.dumps([summary.to_json() for summary in decoder.close()]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
