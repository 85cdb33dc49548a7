"""The proof as text: what was done, what was measured, how one sees that it hurt, and whether it holds."""

from __future__ import annotations

from collections.abc import Sequence

from tests.proof.case import Outcome

Row = tuple[str, ...]


def words(outcome: Outcome) -> str:
    """A case in a few lines."""
    case, claims = outcome.case, outcome.claims
    numbers = dict(claims.numbers) | _costs(outcome)
    lines = [
        f"{'✓' if outcome.good else '✗'} {case.name}: {case.does}",
        f"    must show   {case.shows}",
        f"    measured    {', '.join(f'{name} {_shown(value)}' for name, value in numbers.items())}",
        f"    it hurt     {'; '.join(outcome.seen.signs.values()) or 'nobody'}",
        f"    verdict     {outcome.seen.result.verdict}",
    ]
    lines += [f"    WRONG       {what}" for what in claims.wrong]
    return "\n".join(lines)


def table(outcomes: Sequence[Row]) -> str:
    """Every case in a line."""
    rows = [("", *_COLUMNS), *outcomes]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


_COLUMNS = (
    "case", "acknowledged", "lost", "doubled", "redelivered", "no acks", "no deliveries", "recovery", "it hurt",
)  # fmt: skip


def row(outcome: Outcome) -> Row:
    """What the table says of a case, without the record that it comes from."""
    numbers, costs = outcome.claims.numbers, _costs(outcome)
    lost = _shown(numbers.get("lost", "–"))
    if "unconfirmed lost" in numbers:
        lost += f" (unconfirmed {_shown(numbers['unconfirmed lost'])})"
    return (
        "✓" if outcome.good else "✗",
        outcome.case.name,
        *(_shown(numbers.get("acknowledged", "–")), lost),
        *(_shown(numbers.get(name, "–")) for name in ("doubled", "redelivered")),
        *(str(costs.get(name, "–")) for name in ("no acknowledgements", "no deliveries", "recovery")),
        "; ".join(outcome.seen.signs.values()) or "nobody",
    )


def _costs(outcome: Outcome) -> dict[str, float | str]:
    """What the faults cost, by the analysis: the longest silences, the slowest recovery from the last fault."""
    analysis = outcome.seen.result.analysis
    if analysis is None or not analysis.recovery:
        return {}
    silent = {
        side: _longest([(row.longest_s, row.longest_open) for row in analysis.outages if row.side == side])
        for side in ("acknowledged", "received")
    }
    final = {row.fault for row in analysis.faults if row.last}
    slowest = [(row.recovery_s, row.recovery_open) for row in analysis.recovery if row.fault in final]
    return {
        "no acknowledgements": silent["acknowledged"],
        "no deliveries": silent["received"],
        "recovery": _longest([(value, is_open) for value, is_open in slowest if value is not None]),
    }


def _longest(figures: Sequence[tuple[float, bool]]) -> str:
    """The longest of some figures, which is a lower bound when one of them is; a dash without any."""
    if not figures:
        return "–"
    shown = f"{max(value for value, _ in figures):.2f} s"
    return f"at least {shown}" if any(is_open for _, is_open in figures) else shown


def _shown(value: float | str) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
