"""Right about loss and duplicates, with real Kafka: every case of the table, held against Kafka's own offsets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.case import Case, carry_out
from tests.proof.cases import CASES
from tests.proof.table import Row, row, words


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "case",
    [pytest.param(c, id=c.name, marks=[] if c.quick else [pytest.mark.long]) for c in CASES],
)
def test_what_a_fault_does_to_messages_is_found_and_counted(tmp_path: Path, case: Case, rows: list[Row]) -> None:
    outcome = carry_out(case, tmp_path)
    rows.append(row(outcome))
    print(words(outcome))
    assert not outcome.claims.wrong
