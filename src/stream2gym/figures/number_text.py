"""Numbers as text: with the right prefix and three significant digits; counts are exact."""

from __future__ import annotations

import math

NOTHING = "–"
MOMENT = "moment"  # the unit of a column of times: always seconds, so that they can be compared at a glance

PREFIXES: dict[str, tuple[tuple[float, str], ...]] = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "B/s": ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")),
    "bps": ((1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1.0, "bps")),
    "share": ((0.01, "%"),),
    "/s": ((1.0, "/s"),),
    "": ((1.0, ""),),
}


def pick_prefix(biggest: float, unit: str) -> tuple[float, str]:
    """The factor and the name of the unit that suits a value of this size."""
    choices = PREFIXES.get(unit, ((1.0, unit),))
    for factor, name in choices:
        if abs(biggest) >= factor * 0.9995:
            return factor, name
    plain = next((choice for choice in choices if choice[0] == 1.0), choices[0])
    return plain if biggest == 0 else choices[-1]


def show(value: float | None, unit: str = "") -> str:
    """A value with its unit: ``5.12 ms``, ``12,034``, ``99.98 %``."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if unit == MOMENT:
        return f"{value:.3f} s".replace("-", "−")
    factor, name = pick_prefix(value, unit)
    number = format_share(value / factor) if unit == "share" else format_digits(value / factor, exact=unit == "")
    if name == "/s":
        return f"{number}/s"
    return f"{number} {name}" if name else number


def format_share(percent: float) -> str:
    """Per cent with enough digits: only 0 is shown as 0, and only 100 as 100."""
    for places in range(1, 6):
        rounded = round(percent, places)
        if rounded not in (0.0, 100.0) or rounded == percent:
            return f"{percent:.{places}f}".rstrip("0").rstrip(".")
    return f"{percent:.10g}"


def format_digits(value: float, *, exact: bool = False) -> str:
    """Three significant digits, or all of them for whole numbers that are counts."""
    if exact and value == int(value):
        return f"{int(value):,}"
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def format_tick(value: float, step: float) -> str:
    """The number of a tick, with as many decimals as its step needs."""
    if value == 0:
        return "0"
    places = max(0, -math.floor(math.log10(abs(step)) + 1e-9)) if step else 0
    text = f"{value:,.{min(places, 9)}f}"
    return text.replace("-", "−")
