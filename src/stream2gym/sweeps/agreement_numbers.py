"""The numbers of agreement: computed from a series, held against a tolerance, and as text. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from stream2gym.judge.estimate import Estimate
from stream2gym.sweeps import series_quantities as quantities
from stream2gym.sweeps.shape_judgement import Series

AgreementOutcome = Literal["agrees", "differs", "unknown", "shown"]
NOTHING = "–"


@dataclass(frozen=True)
class Compared:
    """What both sides gave: as text, as numbers where they are one, and what follows from them."""

    outcome: AgreementOutcome
    ours: str
    published: str
    reason: str = ""
    value: Estimate | None = None
    published_value: float | None = None


def measure_quantity(what: str, series: Series) -> Estimate | None:
    match what:
        case "slope":
            return quantities.measure_slope(series)
        case "intercept":
            return quantities.measure_intercept(series)
        case "r2":
            return quantities.measure_r2(series)
        case "rise":
            return quantities.measure_rise(series.places())
        case "spread":
            return quantities.measure_spread(series.places())
        case _:
            raise ValueError(f"unknown quantity {what!r}")


def combine_errors(errors: Sequence[Estimate], *, is_mean: bool) -> Estimate:
    columns = [[getattr(one, name) for one in errors] for name in ("measured", "low", "high")]
    return Estimate(*(sum(column) / len(column) if is_mean else max(column) for column in columns))


def compare_error(error: Estimate, allowed: float) -> AgreementOutcome:
    return "agrees" if error.high <= allowed else "differs" if error.low > allowed else "unknown"


def pick_best(answers: Sequence[AgreementOutcome]) -> AgreementOutcome:
    return "agrees" if "agrees" in answers else "unknown" if "unknown" in answers else "differs"


def show_estimate(estimate: Estimate, shown: Callable[[float], str]) -> str:
    """A value with its bounds, if it has any."""
    if estimate.is_exact:
        return shown(estimate.measured)
    return f"{shown(estimate.measured)} [{shown(estimate.low)} to {shown(estimate.high)}]"


def show_number(value: float) -> str:
    return f"{value:.3g}"


def show_r2(value: float) -> str:
    return f"{value:.4f}"


def show_percent(value: float) -> str:
    return f"{100 * value:.2g} %"


def show_difference(value: float) -> str:
    return f"{100 * value:+.1f} %"
