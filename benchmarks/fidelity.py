"""How true the emulated links are: latency, bandwidth, loss, sharing, live changes.

    ./s2g bench fidelity

Beside each figure stands the setting, or the same echo between the same programs over a link without latency: what
the programs and the kernel cost by themselves.
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import replace
from typing import cast

from benchmarks.nets import PORT, binomial_99, datagrams, echo, jain, network_of, pairs, stream, streams
from benchmarks.table import Table
from stream2gym.hosts.emulation import EmulatedNetwork, start_network
from stream2gym.hosts.probing import Probe
from stream2gym.link import JitterShape

LATENCIES_MS = (0.1, 1, 5, 10, 50, 100, 200)


def main() -> int:
    table = Table("Fidelity of emulated links")
    round_trips(table)
    under_load(table)
    goodput(table)
    chances(table)
    jitter(table)
    sharing(table)
    live_change(table)
    return table.finish()


def round_trips(table: Table) -> None:
    settings = [f"{latency} ms, unlimited" for latency in LATENCIES_MS]
    near, far = pairs(settings, 1), pairs(settings, 3)
    hosts = [*near[0], *far[0], "za", "zb"]
    links = [*near[2], *far[2], "za -- zb: 0 ms, unlimited"]
    with start_network(network_of(hosts, links, far[1])) as net:
        base = echo(net, "za", "zb")
        table.add("echo without latency", f"{base['mean']:.3f} ms mean, {base['p99']:.3f} p99")
        for hops in (1, 3):
            for number, latency in enumerate(LATENCIES_MS):
                asked = 2 * hops * latency
                rtt = echo(net, f"a{number}x{hops}", f"b{number}x{hops}")
                off, tail = rtt["mean"] - asked, rtt["p99"] - asked
                table.add(
                    f"round trip, {hops} x {latency:g} ms each way",
                    f"{rtt['mean']:.3f} mean ({off:+.3f}), p99 {tail:+.3f}",
                    "mean 0.3 ms or 1 %, p99 1 ms",
                    f"{asked:g} ms asked; {off - base['mean']:+.3f} over the echo without latency",
                    abs(off) <= max(0.3, 0.01 * asked) and abs(tail) <= max(1.0, 0.01 * asked),
                )


def under_load(table: Table) -> None:
    """Four busy programs of the run's own; once as hosts start programs, once without giving way."""
    hosts, _, links = pairs(["10 ms, unlimited"])
    with start_network(network_of([*hosts, "h9"], [*links, "h9 -- a0x1: 1 ms"])) as net:
        quiet = echo(net, "a0x1", "b0x1")["mean"]
        for says, niceness in (("as started on hosts", None), ("that do not give way", 0)):
            busy = [Probe(net, "h9", "busy", "--seconds", 6, niceness=niceness) for _ in range(4)]
            seen = echo(net, "a0x1", "b0x1", count=600)
            for probe in busy:
                probe.close()
            table.add(
                f"round trip of 20 ms, four busy programs {says}",
                f"{seen['mean'] - 20:+.3f} ms mean, p99 {seen['p99'] - 20:+.3f}",
                "mean within 1 ms" if niceness is None else "stated",
                f"idle {quiet - 20:+.3f}",
                abs(seen["mean"] - 20) <= 1.0 if niceness is None else None,
            )


def goodput(table: Table) -> None:
    asked = [(mbps, latency) for mbps in (1, 10, 100, 1000) for latency in (1, 5)]
    hosts, switches, links = pairs([f"{latency} ms, {mbps} Mbps" for mbps, latency in asked])
    with start_network(network_of(hosts, links, switches)) as net:
        for number, (mbps, latency) in enumerate(asked):
            seconds = 8.0 if mbps == 1 else 4.0
            seen = stream(net, f"a{number}x1", f"b{number}x1", seconds=seconds, skip=seconds / 3)
            can = mbps * 1448 / 1500
            table.add(
                f"TCP goodput, {mbps} Mbps, {latency} ms",
                f"{seen:.2f} Mbps ({seen / can - 1:+.2%})",
                "within 2 %",
                f"{can:.2f} Mbps fit",
                abs(seen / can - 1) <= 0.02,
            )


def chances(table: Table) -> None:
    cases = [("loss", share) for share in (0.1, 1, 10)] + [("duplicate", 1), ("reorder", 1), ("corrupt", 1)]
    hosts, switches, links = pairs([f"2 ms, unlimited, {share} % {what}" for what, share in cases])
    count, seed = 20_000, random.randrange(10**6)  # another draw each time: one in a hundred lies outside
    with start_network(network_of(hosts, links, switches, seed=seed)) as net:
        for number, (what, percent) in enumerate(cases):
            seen = datagrams(net, f"a{number}x1", f"b{number}x1", count=count, rate=5000)
            if what in ("loss", "corrupt"):
                share = (count - seen["distinct"]) / count
            else:
                share = (seen["duplicates"] if what == "duplicate" else _sent_ahead(seen["delays_ms"])) / count
            low, high = binomial_99(percent / 100, count)
            table.add(
                f"{what} of {percent:g} % over {count} datagrams",
                f"{share:.3%}",
                f"{low:.3%} to {high:.3%}",
                f"seed {seed}" + (", corrupt ones fail their checksum" if what == "corrupt" else ""),
                low <= share <= high,
            )


def _sent_ahead(delays_ms: list[float]) -> int:
    """Datagrams that skipped the 2 ms."""
    return sum(delay < 1.0 for delay in delays_ms)


def jitter(table: Table) -> None:
    """Many pairs at a low rate, so that packets have delays that are independent of each other.

    Judged by the distance of the quartiles, which the few packets that a program was late for do not move; what it is
    without jitter stands beside it.
    """
    noise = _quartiles(_jittered("normal", 0.0))
    for shape, expected in (("normal", 1.349), ("uniform", 1.0), ("pareto", None)):
        delays = _jittered(shape, 1.0)
        seen = _quartiles(delays)
        table.add(
            f"jitter of 1 ms, {shape}, {len(delays)} datagrams",
            f"median 20 {sorted(delays)[len(delays) // 2] - 20:+.3f} ms, quartiles {seen:.3f} ms apart",
            f"{expected:.3f} ms ± 5 %" if expected else "stated",
            f"without jitter {noise:.3f} ms",
            abs(seen - expected) <= 0.05 * expected if expected else None,
        )


def _jittered(shape: str, amount_ms: float) -> list[float]:
    hosts = [f"{end}{i}" for i in range(20) for end in ("a", "b")]
    network = network_of(hosts, [f"a{i} -- b{i}: 20 ms, unlimited" for i in range(20)])
    links = tuple(
        replace(link, forward=replace(link.forward, jitter_ms=amount_ms, jitter_shape=cast(JitterShape, shape)))
        for link in network.links
    )
    with start_network(replace(network, links=links)) as net:
        return _many_delays(net, 20, count=1000, rate=100)


def _quartiles(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[3 * len(ordered) // 4] - ordered[len(ordered) // 4]


def _many_delays(net: EmulatedNetwork, pairs_: int, *, count: int, rate: float) -> list[float]:
    receivers = [Probe(net, f"b{i}", "udp-receive", "--port", PORT, "--idle-s", 2, "--list") for i in range(pairs_)]
    for receiver in receivers:
        receiver.line()
    words = ("--port", PORT, "--count", count, "--rate", rate)
    senders = [Probe(net, f"a{i}", "udp-send", f"b{i}", *words) for i in range(pairs_)]
    delays: list[float] = []
    for receiver in receivers:
        delays += receiver.line(count / rate + 60)["delays_ms"]
        receiver.close()
    for sender in senders:
        sender.close()
    return delays


def sharing(table: Table) -> None:
    for flows in (2, 4, 8):
        sources = [f"h{i + 1}" for i in range(flows)]
        links = [f"{source} -- s1: 1 ms, 1 Gbps" for source in sources] + ["s1 -- s2: 2 ms, 100 Mbps"]
        network = network_of([*sources, "sink"], [*links, "s2 -- sink: 1 ms, 1 Gbps"], ["s1", "s2"])
        with start_network(network) as net:
            rates = streams(net, sources, "sink", seconds=20, skip=5)
        can = 100 * 1448 / 1500
        table.add(
            f"{flows} TCP flows over one link of 100 Mbps",
            f"{sum(rates):.1f} Mbps ({sum(rates) / can - 1:+.2%}), Jain {jain(rates):.3f}",
            "sum within 3 %, Jain over 0.95",
            f"{can:.1f} Mbps fit",
            abs(sum(rates) / can - 1) <= 0.03 and jain(rates) > 0.95,
        )


def live_change(table: Table) -> None:
    hosts, _, links = pairs(["5 ms, unlimited"])
    network = network_of(hosts, links)
    count, rate = 4000, 2000.0
    receive = ("udp-receive", "--port", PORT, "--idle-s", 1, "--list")
    with start_network(network) as net, Probe(net, "b0x1", *receive) as receiver:
        receiver.line()
        words = ("udp-send", "b0x1", "--port", PORT, "--count", count, "--rate", rate)
        with Probe(net, "a0x1", *words) as sender:
            time.sleep(0.8)
            asked = time.monotonic()
            net.fabric.set_link(network.links[0].name, forward=replace(network.links[0].forward, latency_ms=25))
            answered = time.monotonic()
            sender.line(60)
        seen = receiver.line(60)
    sent = [at - delay / 1e3 for at, delay in zip(seen["arrivals_s"], seen["delays_ms"], strict=True)]
    late = [at for at, delay in zip(sent, seen["delays_ms"], strict=True) if delay > 15]
    in_force = (min(late) - asked) * 1e3
    table.add(
        "a change of latency while 2,000 packets/s flow",
        f"in force after {in_force:.2f} ms, {count - seen['distinct']} lost",
        "5 ms, none lost",
        f"call answered after {(answered - asked) * 1e3:.2f} ms",
        in_force <= 5.0 and seen["distinct"] == count and seen["overtaken"] == 0,
    )


if __name__ == "__main__":
    sys.exit(main())
