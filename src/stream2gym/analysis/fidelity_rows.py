"""How well the machine kept up with a run, and its suspect time."""

from __future__ import annotations

from dataclasses import dataclass, field

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.sampled_rows import SeriesPoint
from stream2gym.jsonable import Jsonable


@dataclass(frozen=True)
class SuspectSpan(Jsonable):
    """A time in which the machine may have shaped what was measured, and the reasons to think so."""

    from_s: float
    to_s: float
    reasons: tuple[str, ...]
    # Packets left a little late, and nothing else happened. That lateness can be subtracted from latencies.
    mild: bool = False


@dataclass(frozen=True)
class Fidelity(Jsonable):
    """Whether the machine kept up. ``good`` is None when nobody measured it."""

    good: bool | None
    reason: str
    limit_s: float = 0.001
    seconds: int = 0
    bad_seconds: int = 0  # seconds of load that overlap suspect time
    p99_s: float | None = None
    max_s: float | None = None
    histogram: Histogram = field(default_factory=Histogram)
    unasked_drops: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    # The suspect time from the first sample to the end of the drain. None: the record does not tell; ``lacks`` says
    # why.
    suspect: tuple[SuspectSpan, ...] | None = None
    lacks: str = "it was analysed by a version that did not look for suspect time"
    # Outside severely suspect time no packet was later than this, except the share below.
    lateness_s: float = 0.0
    late_share: float = 0.0
    remedy: str = ""
    # The share of load in which some program of the machine waited for a CPU. None: the kernel does not tell.
    cpu_pressure: float | None = None
    # Shares by half second: late packets, waits of the component that waited most, CPU pressure.
    series: tuple[SeriesPoint, ...] = ()
