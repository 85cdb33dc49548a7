"""What every direction of every link carried, dropped and held back while load was on."""

from __future__ import annotations

from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.samples import Track, Tracks, steps
from stream2gym.analysis.tables import LinkRow, SeriesPoint

_NOTHING = Track()


def link_tables(inputs: Inputs, tracks: Tracks) -> tuple[tuple[LinkRow, ...], tuple[SeriesPoint, ...]]:
    """A row a direction, and its bits a second, drops and queue over time."""
    rows, series = [], []
    load_s = inputs.load_s
    for link in inputs.plan.network.links:
        ends = {"forward": (link.a, link.port_a, link.b, link.port_b)}
        ends["backward"] = (link.b, link.port_b, link.a, link.port_a)
        for direction, settings in (("forward", link.forward), ("backward", link.backward)):
            name = f"{link.name} {direction}"
            mine = {
                metric: track
                for (source, obj, metric), track in tracks.items()
                if obj == name and source == "fabric"
            }
            if not mine:
                continue
            carried = mine.get("delivered_bytes", _NOTHING)
            drops = {m.removeprefix("dropped."): t for m, t in mine.items() if m.startswith("dropped.")}
            queue = mine.get("queue_bytes", _NOTHING)
            rates = []
            for from_s, to_s in steps(inputs):
                rates.append(carried.growth(from_s, to_s) * 8 / (to_s - from_s))
                held = max(
                    (value for _, value in queue.between(from_s, to_s)), default=queue.last(to_s) or 0.0
                )
                lost = sum(track.growth(from_s, to_s) for track in drops.values())
                series += [
                    SeriesPoint(name, metric, from_s, round(value, 3))
                    for metric, value in (("bps", rates[-1]), ("queue_bytes", held), ("drops", lost))
                ]
            peak = mine.get("queue_bytes_max", _NOTHING).last(load_s) or 0.0
            held_max = max((value for _, value in queue.between(0.0, load_s)), default=0.0)
            source, source_port, target, target_port = ends[direction]
            rows.append(
                LinkRow(
                    link.name, direction, source, source_port, target, target_port,
                    packets=round(mine.get("delivered_packets", _NOTHING).growth(0.0, load_s)),
                    bytes=round(carried.growth(0.0, load_s)),
                    mean_bps=carried.growth(0.0, load_s) * 8 / load_s if load_s else 0.0,
                    max_bps=max(rates, default=0.0),
                    bandwidth_bps=settings.bandwidth_bps,
                    entered_packets=round(mine.get("entered_packets", _NOTHING).growth(0.0, load_s)),
                    dropped={cause: round(track.growth(0.0, load_s)) for cause, track in drops.items()},
                    queue_max_bytes=int(max(held_max, peak)),
                )
            )  # fmt: skip
    return tuple(rows), tuple(series)
