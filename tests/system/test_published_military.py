"""The published military scenario in its published format: who lost what, found without a change to its programs."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from stream2gym.api import run
from tests.support.military import GRAPHS, LEADERS, QUICK_ELECTION, read_logs
from tests.support.published import copy_of, tree_of


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("graph", "sites", "time"),
    [
        pytest.param("three-sites", 3, "45 s", id="three", marks=pytest.mark.long),
        pytest.param("ten-sites", 10, "90 s", id="ten", marks=pytest.mark.long),
    ],
)
def test_losses_are_found_by_site_as_the_programs_logged_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, graph: str, sites: int, time: str
) -> None:
    root = copy_of("published-military", tmp_path)
    before = tree_of(root)
    monkeypatch.chdir(root)
    # Later than published, so that programs that start slowly on a busy machine have found their brokers before.
    overrides = {**LEADERS, **QUICK_ELECTION, "faults.down-1.at": "15 s", "drain": "120 s"}
    result = run(GRAPHS / graph / "input.graphml", time=time, overrides=overrides, out=tmp_path / "run")
    assert result.error is None
    assert result.analysis is not None
    logs = read_logs(result.path)
    assert logs.sites == list(range(1, sites + 1))

    lost: Counter[tuple[str, str]] = Counter()
    expected: Counter[tuple[str, str]] = Counter()
    for row in result.analysis.audit:
        assert (row.unknown, row.in_flight) == (0, 0), row
        lost[row.producer, row.group] += row.lost
        expected[row.producer, row.group] += row.expected
    pairs = [(sender, receiver) for sender in logs.sites for receiver in logs.sites]
    names = {(a, b): (f"producer-h{a}-1", f"group-{b}-instance1") for a, b in pairs}
    assert set(expected) == set(names.values())
    assert {pair: lost[names[pair]] for pair in pairs} == {pair: len(logs.missing(*pair)) for pair in pairs}
    assert min(expected.values()) > 50
    by_site = {site: sum(lost[names[site, other]] for other in logs.sites) for site in logs.sites}
    # The broker of site 1 went on to acknowledge what the others never got; after the cut it did so for other sites,
    # too, until it heard of the new leader.
    assert by_site[1] > 20 * sites

    with (result.path / "figures" / "delivery-matrix.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sites * sites
    assert tree_of(root) == before
