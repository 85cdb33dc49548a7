"""Traces held against their oracle, and the oracle against the truth, on random histories with an engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis.analyse import scan_messages
from stream2gym.analysis.delivery_audit import audit
from stream2gym.analysis.histogram import Histogram, merge_histograms
from stream2gym.analysis.inputs import read_inputs
from stream2gym.analysis.latency import measure_through_engines
from stream2gym.analysis.undelivered import find_missing
from tests.oracle.engine_model import FLAWS, KINDS, TracedHistory
from tests.oracle.packing import pack
from tests.oracle.trace_audit import TraceOracle, untruths

ALL, PACKED = 300, 30
SAMPLE = range(22, 34)  # in which everything occurs
COUNTED = ("missing", "missing_more", "doubled", "doubled_more", "unconfirmed_missing", "untraceable")


def differences(session: Any, histories: list[TracedHistory], path: Path) -> list[str]:
    """Every figure in which the analysis of these traces differs from the oracle's."""
    inputs = read_inputs(pack(histories, path))
    scanned = scan_messages(session, inputs)
    delivery = audit(session, scanned.ways, scanned.received, scanned.distinct)
    traces, latencies = measure_through_engines(session, inputs, scanned.sent.rows, scanned.positions)
    missing = find_missing(session, inputs, scanned.sent.rows, delivery, traces)
    found = []
    for history, row in zip(histories, traces, strict=True):
        oracle = TraceOracle(history, round(inputs.drain_end_s * 1e9))
        counts = oracle.counts()
        if row.why_unknown:
            if any(sent["status"] in ("acked", "unconfirmed") for sent in oracle.sent):
                found.append(f"{history.name}: {row.why_unknown}")
            continue
        at_most, at_least, waited = oracle.latencies()
        mine = [one for one in latencies if one.topic == row.target]
        gone = [one for one in missing if one.topic == row.target]
        pairs = {
            **{name: (getattr(row, name), counts[name]) for name in COUNTED},
            "unread": (row.unread, oracle.unread()),
            "unpaired": (row.unpaired, counts["unpaired"] + len(waited)),
            "doubtful": (sum(one.doubtful for one in gone), counts["unpaired"]),
            "latencies": (_sum_up(one.histogram for one in mine), _describe(at_most)),
            "earliest": (_sum_up(one.least for one in mine), _describe(at_least)),
            "waits": (_sum_up(one.histogram for one in gone), _describe(waited)),
        }
        found += [
            f"{history.name} by {history.by}: {name} {got} instead of {wanted}"
            for name, (got, wanted) in pairs.items()
            if got != wanted
        ]
    return found


def _sum_up(histograms: Iterable[Histogram]) -> tuple[float, ...]:
    whole = merge_histograms(histograms)
    return (whole.count, whole.total_ns, whole.min_ns, whole.max_ns)


def _describe(values: list[int]) -> tuple[float, ...]:
    return (len(values), float(sum(values)), min(values, default=0), max(values, default=0))


def test_traces_agree_with_the_oracle_on_a_sample_of_histories(session: Any, tmp_path: Path) -> None:
    histories = [TracedHistory(number).play() for number in SAMPLE]

    assert differences(session, histories, tmp_path / "run") == []


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, ALL, PACKED))
def test_traces_agree_with_the_oracle(session: Any, tmp_path: Path, first: int) -> None:
    histories = [TracedHistory(number).play() for number in range(first, first + PACKED)]

    assert differences(session, histories, tmp_path / "run") == []


def test_the_oracle_of_traces_tells_the_truth() -> None:
    assert [text for number in SAMPLE for text in untruths(TracedHistory(number).play())] == []


@pytest.mark.long
def test_the_oracle_of_traces_tells_the_truth_about_all_histories() -> None:
    assert [text for number in range(3 * ALL) for text in untruths(TracedHistory(number).play())] == []


def test_all_kinds_of_traces_flaws_and_counts_occur_in_the_sample() -> None:
    histories = [TracedHistory(number).play() for number in SAMPLE]
    counts = sum((TraceOracle(history, 0).counts() for history in histories), Counter[str]())
    statuses = {row["status"] for history in histories for row in history.run.rows["sent"]}

    assert {history.by for history in histories} == set(KINDS)
    assert {flaw for history in histories for flaw in history.flaws} == set(FLAWS)
    assert set(counts) == {*COUNTED, "unpaired"}
    assert statuses == {"acked", "failed", "queued", "unconfirmed"}
    assert any(most != least for most, least, _ in (TraceOracle(history, 0).latencies() for history in histories))


def test_no_message_has_its_result_before_it_was_sent() -> None:
    for number in SAMPLE:
        at_most, at_least, _ = TraceOracle(TracedHistory(number).play(), 0).latencies()
        assert min([*at_most, *at_least], default=0) >= 0
