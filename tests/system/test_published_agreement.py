"""Agreement with published values is computed from real runs: round-trip times in the default suite, the rest as a
coarse pass with its page."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import pytest

from stream2gym.packets.round_trips import read_round_trips
from stream2gym.sweep_api import sweep
from stream2gym.sweep_group import find_group, load_group
from stream2gym.sweep_group_page import write_page
from stream2gym.sweeps.sweep_results import SweepResult

LONG_S = 1200


def outcomes(result: SweepResult) -> dict[str, str]:
    return {line.name: line.outcome for line in result.judged.agreement}


@pytest.mark.timeout(240)
def test_round_trips_over_a_delayed_link_agree_with_twice_the_latencies_and_with_the_testbed(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"name": name, "what": what, "of": "RTT of the producer over delay where link=broker", "published": theirs,
         "within": within}
        for name, what, theirs, within in (
            ("promise", "worst error", "twice the latencies, link on the path", ["1 %", "1.5 ms"]),
            ("slope", "slope", "testbed, RTT of the producer, broker", ["2 %"]),
            ("testbed", "worst error", "testbed, RTT of the producer, broker", ["5 %", "1.5 ms"]),
            ("half", "slope", "testbed, RTT of the consumer, spark", ["10 %"]),
        )
    ]  # fmt: skip
    delays = {"set": "topology.links.{link} -- s1.latency", "values": ["10 ms", "50 ms", "100 ms"]}
    result = sweep(
        "accuracy",
        axes={"link": {"set": [], "values": ["broker"]}, "delay": delays},
        repeats=1,
        set={"time": "2 s", "capture": ["producer -- s1"]},
        expect=[],
        agreement=lines,
        out=tmp_path / "out",
    )
    found = outcomes(result)
    rows = [row for row in result.rows if row.response == "RTT of the producer"]
    for row, delay_s in zip(rows, (0.01, 0.05, 0.1), strict=True):
        assert row.value is not None
        # Never below what the links take, whatever the machine does.
        assert row.value >= 2 * (delay_s + 0.001)
        # The packets of the producer's link tell the same.
        trips = read_round_trips(result.path / row.run / "captures" / "producer--s1.pcap", 0.001)
        opened = median((trip.end_ns - trip.begin_ns) / 1e9 for trip in trips if trip.kind == "connect")
        assert 2 * (delay_s + 0.001) <= opened <= row.value
    if all(row.is_usable for row in rows):
        assert found == {"promise": "agrees", "slope": "agrees", "testbed": "agrees", "half": "differs"}
    else:
        # A machine that could not keep up decides nothing.
        assert set(found.values()) == {"unknown"}
    page = (result.path / "report.html").read_text("utf-8")
    assert "Agreement with published values" in page


@pytest.mark.long
@pytest.mark.timeout(3 * LONG_S)
def test_a_coarse_pass_measures_every_point_and_its_page_says_what_was_not_run(tmp_path: Path) -> None:
    for name in ("accuracy", "resource-use", "link-delay"):
        result = sweep(name, quick=True, keep="summaries", out=tmp_path / "sweeps" / name)
        assert result.state == "done"
        assert result.judged.counts is not None
        assert set(result.judged.counts) <= {"pass", "unknown"}, result.summary
        assert {row.response for row in result.rows if row.value is not None} == set(result.file.response_names())
    group = find_group("published")
    assert group is not None
    loaded = load_group(group, [tmp_path / "sweeps"])
    page = tmp_path / "results.md"
    write_page(loaded, page, "s2g sweep published --quick")
    text = page.read_text("utf-8")
    assert text.count("Not run: ") == len(group.files) - 3
    assert text.count("this was a coarse pass") == 3
    assert len(list((tmp_path / "results").glob("*.svg"))) >= 4
