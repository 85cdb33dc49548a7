"""A coarse pass of the published results: every run goes through, every response has a value or says why not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from stream2gym.sweep_api import sweep

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


def shapes_of(path: Path) -> dict[str, str]:
    verdict: dict[str, Any] = json.loads((path / "verdict.json").read_text())
    return {shape["text"]: shape["outcome"] for shape in verdict["shapes"]}


def run_coarse(name: str, tmp_path: Path) -> tuple[Path, list[dict[str, Any]]]:
    """A coarse pass of a published result: its folder, and the rows of its responses."""
    result = sweep(name, quick=True, keep="summaries", out=tmp_path / "out")
    rows = result.table.to_pylist()
    assert {row["verdict"] for row in rows} == {"pass"}, result.summary
    assert all(row["value"] is not None or row["reason"] for row in rows)
    return result.path, rows


def values(rows: list[dict[str, Any]], response: str, **axes: Any) -> list[float]:
    return [
        float(row["value"])
        for row in rows
        if row["response"] == response and all(str(row[name]) == str(wanted) for name, wanted in axes.items())
    ]


def test_a_cut_loses_messages_only_with_replication_and_acks_1(tmp_path: Path) -> None:
    _, rows = run_coarse("network-partition", tmp_path)

    for acks, replicas in (("all", 3), ("all", 1), (1, 1)):
        assert values(rows, "lost", acks=acks, replicas=replicas) == [0.0]
    [lost] = values(rows, "lost", acks=1, replicas=3)
    [of_the_site] = values(rows, "lost of the site that was cut off", acks=1, replicas=3)
    # The nine other desks miss what the site sent to the topic that it led.
    assert of_the_site >= 9 * 10
    assert of_the_site > lost / 2
    assert min(values(rows, "slowest message")) > 3


def test_throughput_rises_with_the_consumers_until_links_or_partitions_limit_it(tmp_path: Path) -> None:
    path, rows = run_coarse("video-analysis", tmp_path)

    assert "fail" not in shapes_of(path).values()
    links = [values(rows, "throughput", limit="links", consumers=number)[0] for number in (1, 4, 8, 16)]
    # A viewer has 4 Mbps, the broker 20 Mbps; an image of 784 bytes takes a little more on the wire.
    assert 450 < links[0] < 4e6 / 8 / 784
    assert links[1] > 3 * links[0]
    assert max(links) < 20e6 / 8 / 784


@pytest.mark.skipif(os.geteuid() != 0, reason="CPU shares of hosts need a CPU controller")
def test_a_batch_takes_longer_with_more_users_and_shorter_with_more_workers(tmp_path: Path) -> None:
    path, rows = run_coarse("traffic-users", tmp_path)

    assert "fail" not in shapes_of(path).values()
    assert values(rows, "execution time", users=100, workers=1) > values(rows, "execution time", users=20, workers=1)
    assert values(rows, "execution time", users=100, workers=1) > values(rows, "execution time", users=100, workers=3)


def test_leaders_in_turn_shrink_the_spread_of_ports(tmp_path: Path) -> None:
    _, rows = run_coarse("raptor", tmp_path)

    assert values(rows, "most leaders", placement="round-robin") == [5.0]
    assert values(rows, "fewest leaders", placement="round-robin") == [5.0]
    assert values(rows, "most leaders", placement="kafka")[0] >= 7
    spreads = [values(rows, "spread of ports", placement=name)[0] for name in ("kafka", "round-robin")]
    assert spreads[1] < 0.7 * spreads[0]
