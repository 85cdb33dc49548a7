"""The delivery matrix: what became of the messages between every producer and every group."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from stream2gym.analysis.result_tables import Analysis
from stream2gym.figures.figure import Layer, Matrix, Tone
from stream2gym.plan.natural_order import natural

_MOST = 50  # a side of the matrix
_NOTE = (
    "The number is the share of messages that arrived, in per cent. Late: more than a second after it was due. "
    "Given up: it failed or was unanswered, and did not arrive. Hatched: nothing was "
    "expected, or nobody observed it."
)


@dataclass
class DeliveryCounts:
    """Counts of what became of a producer's messages on their way to one group."""

    in_time: int = 0
    late: int = 0
    in_flight: int = 0
    given_up: int = 0
    lost: int = 0
    observed: bool = True

    @property
    def arrived(self) -> float:
        everything = self.in_time + self.late + self.in_flight + self.given_up + self.lost
        return (self.in_time + self.late) / everything if everything and self.observed else 1.0


_LAYERS: tuple[tuple[str, Tone], ...] = (
    ("in time", "neutral"), ("late", "warn"), ("in flight", "phase"), ("given up", "neutral"), ("lost", "bad"),
)  # fmt: skip

Pair = tuple[str, str]


def count_deliveries(analysis: Analysis) -> dict[Pair, DeliveryCounts]:
    """The counts, by producer and group."""
    found: dict[Pair, DeliveryCounts] = defaultdict(DeliveryCounts)
    topics: dict[tuple[str, str, str], None] = {}
    for row in analysis.audit:
        fate = found[row.producer, row.group]
        topics[row.producer, row.group, row.topic] = None
        fate.in_time += row.received - row.late
        fate.late += row.late
        fate.in_flight += row.in_flight
        fate.given_up -= row.unacknowledged_received
        fate.lost += row.lost + row.unconfirmed_lost
        fate.observed = fate.observed and not row.unknown
    refused: dict[tuple[str, str], int] = defaultdict(int)
    for sent in analysis.sent:
        refused[sent.producer, sent.topic] += sent.failed + sent.unanswered
    for producer, group, topic in topics:
        found[producer, group].given_up += refused[producer, topic]
    return found


def make_delivery_matrix(analysis: Analysis) -> list[Matrix]:
    """The matrix, or nothing for one producer and one group. Of too many rows and columns it shows the worst."""
    found = count_deliveries(analysis)
    producers = sorted({producer for producer, _ in found}, key=natural)
    groups = sorted({group for _, group in found}, key=natural)
    if len(producers) < 2 and len(groups) < 2:
        return []
    note = _NOTE
    if max(len(producers), len(groups)) > _MOST:
        note = f"The {_MOST} worst rows and columns; the tables have all. {note}"
        worst: dict[tuple[str, str], float] = defaultdict(lambda: 1.0)
        for (producer, group), fate in found.items():
            for name in (("row", producer), ("column", group)):
                worst[name] = min(worst[name], fate.arrived)
        producers = sorted(producers, key=lambda name: worst["row", name])[:_MOST]
        groups = sorted(groups, key=lambda name: worst["column", name])[:_MOST]

    def count(producer: str, group: str, name: str) -> float:
        fate = found.get((producer, group))
        return float(getattr(fate, name.replace(" ", "_"))) if fate is not None and fate.observed else 0.0

    layers = tuple(
        Layer(
            name,
            tuple(tuple(count(producer, group, name) for group in groups) for producer in producers),
            tone,
            told=name in ("in time", "late"),
        )
        for name, tone in _LAYERS
    )
    return [
        Matrix(
            "delivery-matrix", "Who got what from whom", "messages that arrived, in %", tuple(producers),
            tuple(groups), layers, "producer", "group", note, wide=len(groups) > 6,
        )
    ]  # fmt: skip
