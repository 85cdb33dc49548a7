"""How much the userspace fabric moves, and what it costs, beside a plain veth pair in the same run.

    ./s2g bench datapath

Sender, receiver and fabric share the cores; over the veth pair sender and receiver have them for themselves. Medians
of five, ours and the peer's in turn.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from statistics import median

from benchmarks.nets import PORT, network_of, pairs, stream
from benchmarks.table import Table
from stream2gym.fabric.userspace import devices
from stream2gym.hosts.emulation import EmulatedNetwork, start_network
from stream2gym.hosts.probing import Probe
from stream2gym.plan.planned import Network

TIMES = 5
STREAM_S, SKIP_S = 2.0, 0.4
DATAGRAMS = 150_000


def main() -> int:
    table = Table("The datapath")
    hosts, switches, links = pairs(["0.05 ms, unlimited"])
    plain = network_of(hosts, links, switches)
    kinds = [*dict.fromkeys((devices.choose_device(), "veth"))]
    streams(table, plain, kinds)
    small_datagrams(table, plain, kinds)
    ten_pairs(table)
    own_cost(table)
    return table.finish()


def peer(what: str, amount: float, *options: str) -> float:
    argv = [sys.executable, "-m", "benchmarks.peer", what, f"{amount:g}", *options]
    return float(subprocess.run(argv, capture_output=True, check=True, text=True).stdout)


def ours(network: Network, kind: str, what: str, *, offload: bool = True) -> float:
    with start_network(network, device=kind, offload=offload) as net:  # type: ignore[arg-type]
        if what == "stream":
            return stream(net, "a0x1", "b0x1", seconds=STREAM_S, skip=SKIP_S)
        return flood(net)


def flood(net: EmulatedNetwork) -> float:
    """Datagrams a second that arrive of as many as a program can send."""
    with Probe(net, "b0x1", "udp-receive", "--port", PORT, "--idle-s", 0.5) as receiver:
        receiver.line()
        with Probe(net, "a0x1", "udp-send", "b0x1", "--port", PORT, "--count", DATAGRAMS) as sender:
            seen = receiver.line(60)
            sender.line(60)
    return float(seen["received"] / seen["seconds"])


def streams(table: Table, network: Network, kinds: Sequence[str]) -> None:
    """Beside veth as the machine comes, and beside veth with the congestion control of emulated hosts."""
    plain, settled, best = [], [], []
    for _ in range(TIMES):
        plain.append(peer("stream", STREAM_S))
        settled.append(peer("stream", STREAM_S, "--settled"))
        best.append(ours(network, kinds[0], "stream"))
    for says, veth in (("veth", plain), ("veth with our congestion control", settled)):
        ratio = median(best) / median(veth)
        table.add(
            f"TCP with offload ({kinds[0]}) beside {says}",
            f"{median(best) / 1e3:.2f} Gbps ({ratio:.2f} of it)",
            "0.85 of it",
            f"{median(veth) / 1e3:.2f} Gbps",
            ratio >= 0.85,
        )
    for kind in kinds[1:]:
        table.add(f"TCP with offload ({kind} and packet sockets)", f"{ours(network, kind, 'stream') / 1e3:.2f} Gbps")
    alone = median(ours(network, kinds[0], "stream", offload=False) for _ in range(3))
    table.add("TCP without offload", f"{alone / 1e3:.2f} Gbps")


def small_datagrams(table: Table, network: Network, kinds: Sequence[str]) -> None:
    veth, best = [], []
    for _ in range(TIMES):
        veth.append(peer("datagrams", DATAGRAMS))
        best.append(ours(network, kinds[0], "datagrams"))
    ratio = median(best) / median(veth)
    table.add(
        f"UDP, 64 bytes ({kinds[0]})",
        f"{median(best) / 1e3:.0f} kpps ({ratio:.2f} of veth)",
        "0.5 of veth",
        f"veth {median(veth) / 1e3:.0f} kpps",
        ratio >= 0.5,
    )
    for kind in kinds[1:]:
        table.add(f"UDP, 64 bytes ({kind} and packet sockets)", f"{ours(network, kind, 'datagrams') / 1e3:.0f} kpps")


def ten_pairs(table: Table) -> None:
    hosts, switches, links = pairs(["1 ms, 100 Mbps"] * 10)
    with start_network(network_of(hosts, links, switches)) as net:
        receivers = [Probe(net, f"b{i}x1", "tcp-receive", "--port", PORT, "--skip-s", 1) for i in range(10)]
        for receiver in receivers:
            receiver.line()
        words = ("--port", PORT, "--seconds", 4)
        senders = [Probe(net, f"a{i}x1", "tcp-send", f"b{i}x1", *words) for i in range(10)]
        total = sum(receiver.line(60)["mbps"] for receiver in receivers)
        for probe in (*receivers, *senders):
            probe.close()
    can = 10 * 100 * 1448 / 1500
    table.add(
        "ten pairs at 100 Mbps each",
        f"{total:.0f} Mbps ({total / can:.1%})",
        "95 %",
        f"{can:.0f} Mbps fit",
        total >= 0.95 * can,
    )


def own_cost(table: Table) -> None:
    hosts, switches, links = pairs(["1 ms, 100 Mbps"])
    for offload in (True, False):
        with (
            start_network(network_of(hosts, links, switches), offload=offload) as net,
            Probe(net, "b0x1", "tcp-receive", "--port", PORT, "--skip-s", 1) as receiver,
        ):
            receiver.line()
            with Probe(net, "a0x1", "tcp-send", "b0x1", "--port", PORT, "--seconds", 5) as sender:
                time.sleep(1.5)
                before = net.fabric.stats()
                time.sleep(3.0)
                after = net.fabric.stats()
                seen = receiver.line(60)["mbps"]
                sender.line(60)
        share = (after.cpu_s - before.cpu_s) / ((after.at_ns - before.at_ns) / 1e9)
        table.add(
            f"CPU of the fabric at 100 Mbps, {'with' if offload else 'without'} offload",
            f"{share:.1%} of a core",
            "20 %" if offload else "stated",
            f"{seen:.1f} Mbps moved",
            share <= 0.2 if offload else None,
        )


if __name__ == "__main__":
    sys.exit(main())
