"""How the network grows: building and taking down 10 to 1000 hosts, in a star and in a line; all pairs of 100.

    ./s2g bench scale

Time counts from the plan to an answer of the last host, the interpreters of keeper, supervisor and fabric included;
the whole command (``s2g shell FILE h1 -- true``) stands beside it. A hundred sites (broker, producer, consumer) are
read, checked, planned and laid out as a network, without their brokers being started. For comparison, Mininet on a
machine of this kind: 100 in a star 9.1 s, in a line 44.8 s, 500 in a star 86.8 s.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.nets import PORT, exponent, network_of
from benchmarks.sites import write_sites
from benchmarks.table import Table
from stream2gym.hosts.emulation import EmulatedNetwork, start_network
from stream2gym.hosts.probing import Probe
from stream2gym.plan.planned import Network
from stream2gym.prepare import prepare_experiment

SIZES = (10, 100, 500, 1000)
GOALS_S = {100: 0.4, 1000: 3.0}
SITES_GOAL_S = 1.0
MININET = {("star", 100): "Mininet 9.1 s", ("line", 100): "Mininet 44.8 s", ("star", 500): "Mininet 86.8 s"}


def main() -> int:
    table = Table("Growth of the emulated network")
    for shape in ("star", "line"):
        ups, downs = [], []
        for size in SIZES:
            up, down = grow(table, shape, size)
            ups.append(up)
            downs.append(down)
        table.add(
            f"growth in a {shape}: time ~ hosts^k",
            f"k = {exponent(SIZES[1:], ups[1:]):.2f} up, {exponent(SIZES[1:], downs[1:]):.2f} down",
            "linear (k at most 1.15)",
            "fitted from 100 hosts on",
            exponent(SIZES[1:], ups[1:]) <= 1.15,
        )
    lay_out_sites(table)
    all_pairs(table)
    return table.finish()


def lay_out_sites(table: Table, size: int = 100) -> None:
    """Read, check and plan an experiment of many sites, and build its network."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_sites(Path(folder), size)
        started = time.monotonic()
        planned = prepare_experiment(str(path)).plan
        read = time.monotonic()
        net = start_network(planned.network)
        built = time.monotonic()
        net.close()
    table.add(
        f"{size} sites planned and laid out, without brokers",
        f"{built - started:.2f} s",
        f"{SITES_GOAL_S:g} s",
        f"read, checked and planned {read - started:.2f} s, network {built - read:.2f} s",
        built - started <= SITES_GOAL_S,
    )


def shaped(shape: str, size: int) -> tuple[list[str], list[str], list[str]]:
    hosts = [f"h{i + 1}" for i in range(size)]
    if shape == "star":
        return hosts, [f"{host} -- s1: 0.1 ms, unlimited" for host in hosts], ["s1"]
    switches = [f"s{i + 1}" for i in range(size)]
    links = [f"{host} -- {switch}: 0 ms, unlimited" for host, switch in zip(hosts, switches, strict=True)]
    links += [f"s{i} -- s{i + 1}: 0 ms, unlimited" for i in range(1, size)]
    return hosts, links, switches


def grow(table: Table, shape: str, size: int) -> tuple[float, float]:
    hosts, links, switches = shaped(shape, size)
    network = network_of(hosts, links, switches)
    before = _free_bytes()
    started = time.monotonic()
    net = start_network(network)
    built = time.monotonic()
    answered = _reach(net, hosts[-1])
    up = (answered or built) - started
    memory = (before - _free_bytes()) / size / 1e6
    closing = time.monotonic()
    net.close()
    down = time.monotonic() - closing
    goal = GOALS_S.get(size)
    table.add(
        f"{size} hosts in a {shape}",
        f"up {up:.2f} s, down {down:.2f} s, {memory:.2f} MB a host",
        f"up {goal} s, down 1 s, 1 MB a host" if goal else "down 1 s",
        "; ".join(filter(None, (f"whole command {_whole_command(network, size):.2f} s", MININET.get((shape, size))))),
        (goal is None or up <= goal) and down <= 1.0 and (size < 100 or memory < 1.0),
    )
    return up, down


def _reach(net: EmulatedNetwork, last: str) -> float | None:
    """When the last host answered a ping; None where there is no ping."""
    try:
        ping = net.spawn("h1", ["ping", "-c", "1", "-W", "5", last], cwd="/")
    except Exception:
        return None
    if ping.wait(20).code:
        raise SystemExit(f"{last} does not answer")
    return time.monotonic()


def _free_bytes() -> int:
    with open("/proc/meminfo") as info:
        return next(int(line.split()[1]) * 1024 for line in info if line.startswith("MemAvailable"))


def _whole_command(network: Network, size: int) -> float:
    """Wall time of ``s2g shell FILE h1 -- true``, reading and planning included."""
    lines = ["s2g: 1", "name: scale", "topology:", "  hosts:"]
    lines += [f"    - {host.name}" for host in network.hosts]
    lines += ["  switches:", *(f"    - {switch}" for switch in network.switches), "  links:"]
    lines += [f'    - "{link.a} -- {link.b}: {link.forward.latency_ms} ms, unlimited"' for link in network.links]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"scale-{size}.yaml")
        path.write_text("\n".join(lines) + "\n")
        started = time.monotonic()
        subprocess.run([sys.executable, "-m", "stream2gym", "shell", str(path), "h1", "--", "true"], check=True)
        return time.monotonic() - started


def all_pairs(table: Table, size: int = 100) -> None:
    hosts = [f"h{i + 1}" for i in range(size)]
    network = network_of(hosts, [f"{host} -- s1: 1 ms" for host in hosts], ["s1"])
    with start_network(network) as net:
        meshes = [Probe(net, host, "mesh", "--port", PORT, "--peers", ",".join(hosts)) for host in hosts]
        for mesh in meshes:
            mesh.line(120)
        started = time.monotonic()
        for mesh in meshes:
            mesh.process.signal(10)  # SIGUSR1: begin
        lines = [mesh.line(120) for mesh in meshes]
        seconds = time.monotonic() - started
        for mesh in meshes:
            mesh.close()
        drops = net.fabric.stats()
    got = sum(line["received"] for line in lines)
    dropped = sum(sum(link.dropped.values()) for link in drops.links)
    table.add(
        f"all {size * (size - 1)} ordered pairs of {size} hosts, a packet each",
        f"{got} arrived in {seconds:.2f} s, {dropped} dropped",
        "complete, no loss",
        f"{os.cpu_count()} cores, {size} Python programs",
        got == size * (size - 1) and dropped == 0,
    )


if __name__ == "__main__":
    sys.exit(main())
