"""The check of the pipeline that ``s2g new`` makes knows right from wrong: it is fed with what programs wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.examples import feed_check

ORDERS = [{"id": 1, "cents": 100}, {"id": 2, "cents": 999}, {"id": 3, "cents": 50}]
BILLS = [{"id": 1, "total": 119}, {"id": 2, "total": 1188}, {"id": 3, "total": 59}]


def mismatches(folder: Path, bills: list[dict[str, int]], orders: list[dict[str, int]] | None = None) -> int | None:
    written = folder / "work" / "logs" / "output"
    written.mkdir(parents=True)
    for name, rows in (("orders", ORDERS if orders is None else orders), ("bills", bills)):
        (written / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return feed_check("own-pipeline", folder).mismatches


def test_one_right_bill_for_each_order_is_right_in_any_order(tmp_path: Path) -> None:
    assert mismatches(tmp_path, BILLS[::-1]) == 0


@pytest.mark.parametrize(
    "bills",
    [BILLS[1:], [*BILLS, BILLS[0]], [*BILLS[:2], {"id": 3, "total": 60}], [*BILLS, {"id": 4, "total": 1}]],
    ids=["missing", "duplicated", "wrong", "nobody's"],
)
def test_a_bill_that_is_not_right_is_found(tmp_path: Path, bills: list[dict[str, int]]) -> None:
    assert mismatches(tmp_path, bills) == 1


def test_a_shop_without_orders_proves_nothing(tmp_path: Path) -> None:
    assert mismatches(tmp_path, [], []) is None
