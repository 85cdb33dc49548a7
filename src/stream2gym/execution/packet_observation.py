"""Programs that are observed from their packets (``observe: wire``): captured on their hosts, decoded into journals.

Two processes of ours do the work, both outside the hosts. One copies what packet sockets on the hosts show it to
files and never waits for anything. The other decodes these files at the lowest priority, beside the run, and has the
time after the load for the rest; the record is sealed when it is done.

Packet sockets on the hosts are taken, and not captures of the fabric's links, for three reasons. They show what
reached a host and not what entered a link that may lose it. They also show what a program says to a broker on its own
host, which never enters the fabric. And they cost the fabric nothing, which must be on time.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stream2gym.components.cluster import CLIENT_PORT
from stream2gym.components.engine_hosts import hosts_of_engine
from stream2gym.components.program_command import can_be_observed
from stream2gym.components.run_context import RunContext
from stream2gym.components.topics import groups_of, hashes_of, header_topics_of
from stream2gym.errors import Defect
from stream2gym.execution.waiter import Waiter
from stream2gym.own_python import own_python
from stream2gym.packets.decode import DecodeConfig, ObservedProcess, ProcessSummary
from stream2gym.plan.planned import Plan
from stream2gym.spec.model import Consumer, Experiment, Producer

START_TIMEOUT_S = 30.0
DECODE_TIMEOUT_S, AFTER_INTERRUPT_S = 300.0, 30.0
LOG = "observe.wire.log"


def observed_processes(experiment: Experiment, plan: Plan) -> list[ObservedProcess]:
    """Every process of every program that is to be observed from its packets, and every host of such an engine."""
    hosts = {part.name: part.host for part in plan.components}
    groups = groups_of(experiment, plan)
    parts: Sequence[Producer | Consumer] = [*experiment.producers, *experiment.consumers]
    found = [
        ObservedProcess(str(engine.name), number, "engine", host)
        for engine in experiment.engines
        if can_be_observed(engine)
        for number, host in enumerate(hosts_of_engine(engine, experiment, plan), 1)
    ]
    for part in parts:
        if part.app is None or part.observe != "wire":
            continue
        name = str(part.name)
        kind = "producer" if isinstance(part, Producer) else "consumer"
        for instance in range(1, part.instances + 1):
            group = groups[name][instance - 1] if name in groups else ""
            start = part.from_ if isinstance(part, Consumer) else "earliest"
            found.append(ObservedProcess(name, instance, kind, hosts[name], group, start))
    return found


class PacketObservation:
    """The two processes of one run, from before the first program starts until the record is sealed."""

    def __init__(self, context: RunContext, observed: Sequence[ObservedProcess]) -> None:
        network, folder = context.network, context.folder
        self._tell = context.tell
        self._observed = observed
        spool = folder.raw.absolute() / "wire"
        spool.mkdir()
        self._log = (folder.logs / LOG).open("ab")
        hosts = sorted({one.host for one in observed})
        taps = {host: network.tap(host, CLIENT_PORT) for host in hosts}
        sockets = [fd for tap in taps.values() for fd in (tap.traffic, tap.openings)]
        capture = {
            "spool": str(spool),
            "hosts": {
                host: {"traffic": tap.traffic, "openings": tap.openings, "net": tap.net} for host, tap in taps.items()
            },
        }
        decode = DecodeConfig(
            spool=str(spool),
            raw=str(folder.raw.absolute()),
            port=CLIENT_PORT,
            hosts=tuple(hosts),
            observed=tuple(observed),
            hash_by=hashes_of(context.experiment),
            header_topics=header_topics_of(context.experiment),
        )
        try:
            self._capture = self._start("capture", spool, capture, sockets)
        finally:
            for fd in sockets:
                os.close(fd)
        self._decode = self._start("decode", spool, decode.to_json(), [])
        self._await_capture()

    def stop_capture(self) -> None:
        """End the capture; what has passed until now will be decoded."""
        if self._capture.stdin is not None and not self._capture.stdin.closed:
            self._capture.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._capture.wait(START_TIMEOUT_S)

    def finish(self, waiter: Waiter) -> None:
        """Wait until everything is decoded; what may be missing in the record of a program becomes an event."""
        self.stop_capture()
        timeout_s = DECODE_TIMEOUT_S if waiter.interrupted_at is None else AFTER_INTERRUPT_S
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._decode.wait(timeout_s)
        found: list[ProcessSummary] | None = None
        why = f"it took more than {timeout_s:g} s to decode its packets"
        if self._decode.poll() is None:
            self._decode.kill()
        elif self._capture.returncode != 0:
            why = f"the capture of its packets ended: {self._capture.returncode}"
        else:
            assert self._decode.stdout is not None
            with contextlib.suppress(ValueError):
                found = [ProcessSummary.from_json(one) for one in json.loads(self._decode.stdout.read())]
            why = f"the decoder of its packets ended: {self._decode.returncode}"
        self.close()
        if found is None:
            for one in self._observed:
                self._tell("unobserved", component=one.component, instance=one.instance, what="", why=why, remedy="")
            return
        for one, summary in zip(self._observed, found, strict=True):
            self._tell_summary(one, summary)

    def _tell_summary(self, one: ObservedProcess, summary: ProcessSummary) -> None:
        """Tell the same as the recorder of a Python program does, so that both are judged alike."""
        who = {"component": one.component, "instance": one.instance}
        self._tell("recorder-loaded", **who, how="wire")
        counts = {"sent": summary.produced, "fetched": summary.fetched}
        if one.kind == "engine":
            # It assigns partitions to itself, outside of any group.
            read = [place for places in summary.groups.values() for place in places]
            self._tell("observed", **who, library="wire", role="engine", host=one.host, read=read, **counts)
        if one.kind == "producer" or (one.kind == "consumer" and summary.produced):
            self._tell("observed", **who, library="wire", role="producer", **counts)
        if one.kind == "consumer" or (one.kind == "producer" and summary.groups):
            for group in summary.groups or {one.group: []}:
                self._tell("observed", **who, library="wire", role="consumer", group=group, start=one.start, **counts)
                self._tell("assigned", **who, group=group, partitions=summary.groups.get(group, []), how="wire")
        for why, times in summary.problems.items():
            self._tell("unobserved", **who, what="", why=why, remedy="", times=times)

    def close(self) -> None:
        """End both processes."""
        self.stop_capture()
        for process in (self._capture, self._decode):
            if process.stdin is not None and not process.stdin.closed:
                process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(START_TIMEOUT_S)
            if process.stdout is not None:
                process.stdout.close()
        self._log.close()

    def _start(self, module: str, spool: Path, config: dict[str, Any], fds: list[int]) -> subprocess.Popen[bytes]:
        path = spool / f"{module}.json"
        path.write_text(json.dumps(config), "utf-8")
        return subprocess.Popen(
            own_python("-m", f"stream2gym.packets.{module}", str(path)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            pass_fds=fds,
            cwd="/",
            start_new_session=True,
        )

    def _await_capture(self) -> None:
        """Wait until every packet is captured from now on."""
        assert self._capture.stdout is not None
        if not self._capture.stdout.readline():
            self.close()
            raise Defect(f"the capture of packets did not start; see {LOG}")


def start_observation(context: RunContext) -> PacketObservation | None:
    """Observe the programs that ask for it; None where there is none."""
    observed = observed_processes(context.experiment, context.plan)
    if not observed or not context.nodes:
        return None
    return PacketObservation(context, observed)
