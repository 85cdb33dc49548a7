"""The audit in Spark held against the oracle, and the oracle against the truth, on random histories of Kafka."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis.analyse import scan_messages
from stream2gym.analysis.delivery_anomalies import find_anomalies
from stream2gym.analysis.delivery_audit import audit
from stream2gym.analysis.inputs import read_inputs
from stream2gym.analysis.result_tables import Analysis, AuditRow
from tests.oracle.audit import Oracle, Way
from tests.oracle.kafka_model import TROUBLES, History
from tests.oracle.packing import pack
from tests.oracle.truth import untruths

ALL, SAMPLE, PACKED = 1000, 50, 100
TELLING = 0  # the number of the first history of the sample
NOT_COUNTED = ("partition", "late")  # lateness belongs to the latencies


def differences(session: Any, histories: list[History], path: Path, *, warmup_s: float = 0.0) -> list[str]:
    """Every count in which the audit of these histories differs from the oracle's."""
    inputs = read_inputs(pack(histories, path, warmup_s=warmup_s))
    scanned = scan_messages(session, inputs)
    found = audit(session, scanned.ways, scanned.received, scanned.distinct).audit
    counted = {(row.topic, row.partition, row.producer, row.group): _counts(row) for row in found}
    wanted: dict[Way, Counter[str]] = {}
    gaps: dict[tuple[str, int, str], int] = {}
    for history in histories:
        oracle = Oracle(history.run)
        wanted |= oracle.counts()
        gaps |= oracle.gaps()
    differ = [
        f"{way}: {dict(counted.get(way, {}))} instead of {dict(wanted.get(way, {}))}"
        for way in sorted(counted.keys() | wanted.keys())
        if counted.get(way, Counter()) != wanted.get(way, Counter())
    ]
    for row in scanned.positions:
        if row.gaps != gaps.get((row.topic, row.partition, row.group), 0):
            differ.append(f"{row}: {gaps.get((row.topic, row.partition, row.group), 0)} gaps")
    return differ + _other_losses(session, found, scanned.sent.rows)


def _counts(row: AuditRow) -> Counter[str]:
    names = (name for name in AuditRow.__dataclass_fields__ if isinstance(getattr(row, name), int))
    return +Counter({name: getattr(row, name) for name in names if name not in NOT_COUNTED})


def _other_losses(session: Any, found: tuple[AuditRow, ...], sent: Any) -> list[str]:
    """Topics of which the times of loss, copies or disorder count other messages than the audit."""
    by_kind: dict[str, Counter[str]] = {kind: Counter() for kind in ("lost", "doubled", "out_of_order")}
    for trouble in find_anomalies(session, Analysis("", 1.0, 1.0, sent=sent, audit=found), 0.05):
        if trouble.kind != "failed":
            by_kind["lost" if trouble.kind == "left out" else trouble.kind][trouble.topic] += trouble.messages
    audited = {
        "lost": sum((Counter({row.topic: row.lost}) for row in found), Counter()),
        "doubled": sum((Counter({row.topic: row.duplicated}) for row in found), Counter()),
        "out_of_order": sum((Counter({row.topic: row.out_of_order}) for row in found), Counter()),
    }
    return [f"times of {kind}: {by_kind[kind] - audited[kind]} too many, {audited[kind] - by_kind[kind]} too few"
            for kind in by_kind if by_kind[kind] != audited[kind]]  # fmt: skip


def test_the_audit_agrees_with_the_oracle_on_a_sample_of_histories(session: Any, tmp_path: Path) -> None:
    histories = [History(number).play() for number in range(TELLING, TELLING + SAMPLE)]

    assert {trouble for history in histories for trouble in history.has} == set(TROUBLES)
    assert differences(session, histories, tmp_path / "run") == []


def test_the_audit_counts_a_warm_up_like_any_other_time(session: Any, tmp_path: Path) -> None:
    histories = [History(number).play() for number in range(TELLING, TELLING + SAMPLE)]
    last_s = max(row["due_ns"] for history in histories for row in history.run.rows["sent"]) / 1e9

    assert differences(session, histories, tmp_path / "run", warmup_s=last_s / 2) == []


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, ALL, PACKED))
def test_the_audit_agrees_with_the_oracle(session: Any, tmp_path: Path, first: int) -> None:
    histories = [History(number).play() for number in range(first, first + PACKED)]

    assert differences(session, histories, tmp_path / "run") == []


def test_the_oracle_accuses_nobody_wrongly_and_leaves_nothing_out() -> None:
    assert [text for number in range(SAMPLE) for text in untruths(History(number).play())] == []


@pytest.mark.long
def test_the_oracle_tells_the_truth_about_all_histories() -> None:
    assert [text for number in range(3 * ALL) for text in untruths(History(number).play())] == []


def test_every_fate_occurs_in_the_sample() -> None:
    fates = Counter(fate for number in range(SAMPLE) for fate in Oracle(History(number).play().run).fates().values())

    assert set(fates) == {
        "received", "before", "failed", "queued", "lost", "expired", "in flight", "deleted", "compacted", "unknown",
    }  # fmt: skip
