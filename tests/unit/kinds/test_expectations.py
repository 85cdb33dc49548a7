"""The grammar of expectations and the closed list of metrics."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from stream2gym.kinds import metrics, plugins
from stream2gym.kinds.expectation_grammar import Expectation, parse_expectation, unknown_names
from stream2gym.kinds.metrics import BUILT_IN, Metric, find
from stream2gym.units import Duration


def test_the_expectations_of_the_design_are_understood() -> None:
    lost = parse_expectation("lost == 0")
    latency = parse_expectation("latency.p99 < 2 s")
    throughput = parse_expectation("throughput(topic=in) > 500/s")
    recovery = parse_expectation("recovery(fault=cut) < 10 s")

    assert (lost.metric, lost.op, lost.value) == ("lost", "==", 0)
    assert (latency.stat, latency.value) == ("p99", 2.0)
    assert (throughput.filters, throughput.stat) == ({"topic": "in"}, "mean")
    assert recovery.definition.needs == "faults"


def test_statistics_with_a_dot_and_several_filters_are_understood() -> None:
    got = parse_expectation("latency.p99.9(topic=in, consumer='a, b')<=5ms")

    assert got.stat == "p99.9"
    assert got.filters == {"topic": "in", "consumer": "a, b"}
    assert got.value == pytest.approx(0.005)
    assert got.quantity == Duration(0.005)


def test_a_link_is_named_as_people_write_it() -> None:
    got = parse_expectation("link_throughput(link=h1 -- s1, direction=forward) < 100 Mbps")

    assert got.filters == {"link": "h1 -- s1", "direction": "forward"}
    assert got.value == 100e6


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("latncy < 1 s", "did you mean 'latency'"),
        ("gobbledygook < 1 s", "known: sent, acknowledged"),
        ("latency.p98 < 1 s", "unknown statistic of latency 'p98'"),
        ("latency.p99 < 5", "has no unit"),
        ("latency.p99 < 5 MB", "latency is a duration"),
        ("lost == 0.1 %", "lost is a count"),
        ("throughput(link=h1) > 1/s", "known: topic, partition, producer, fault"),
        ("throughput(topic) > 1/s", "not a filter"),
        ("throughput(topic=a, topic=b) > 1/s", "is given twice"),
        ("throughput(topic=a > 1/s", "have no closing bracket"),
        ("lateness(topic=a) < 1 ms", "takes no filter"),
        ("lost", "has no comparison"),
        ("lost = 0", "where a comparison should stand"),
        ("", "not an expectation"),
        ("7 < lost", "not an expectation"),
    ],
)
def test_a_bad_expectation_says_what_would_be_right(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        parse_expectation(text)


def test_a_long_list_is_not_shown_beside_the_name_that_was_probably_meant() -> None:
    with pytest.raises(ValueError, match=r"^unknown metric 'latncy'; did you mean 'latency'\?$"):
        parse_expectation("latncy < 1 s")


def test_names_that_the_experiment_does_not_have_are_found() -> None:
    expectation = parse_expectation("lost(topic=inn, group=g*) == 0")

    wrong = unknown_names(expectation, {"topic": ["in", "out"], "group": ["g1"]})

    assert wrong == ["unknown topic 'inn'; did you mean 'in'? known: in, out"]


@pytest.mark.parametrize(
    ("op", "below", "equal", "above"),
    [("<", 1, 0, 0), ("<=", 1, 1, 0), ("==", 0, 1, 0), ("!=", 1, 0, 1), (">=", 0, 1, 1), (">", 0, 0, 1)],
)
def test_operators_mean_what_they_say(op: str, below: int, equal: int, above: int) -> None:
    expectation = parse_expectation(f"lost {op} 5")

    assert [expectation.holds(x) for x in (4, 5, 6)] == [bool(below), bool(equal), bool(above)]


def test_an_expectation_walks_into_json_and_back() -> None:
    expectation = parse_expectation("latency.p50(topic=in) < 1 s")

    assert Expectation.from_json(expectation.to_json()) == expectation


def test_metric_names_are_unique_and_complete() -> None:
    assert len({metric.name for metric in BUILT_IN}) == len(BUILT_IN)
    assert all(metric.noun and metric.stats for metric in BUILT_IN)
    assert find("nothing-like-it") is None


def test_a_plugged_in_metric_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Metric("mine", "things of mine", BUILT_IN[0].unit, "delivery", measure="mine:count")

    plug_in(monkeypatch, "mine", lambda: mine)

    assert find("mine") is mine
    assert parse_expectation("mine == 3").value == 3


def plug_in(monkeypatch: pytest.MonkeyPatch, name: str, load: Callable[[], object]) -> None:
    point = SimpleNamespace(name=name, value=f"{name}_package:METRIC", load=load)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point])
    monkeypatch.setattr(metrics, "_plug_ins", metrics._plug_ins.__wrapped__)


def test_a_plug_in_whose_import_fails_is_named_where_its_metric_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails() -> object:
        raise ImportError("No module named 'nowhere'")

    plug_in(monkeypatch, "mine", fails)
    for text in ("mine == 3", "other == 3"):
        with pytest.raises(ValueError, match=r"plug-in 'mine' cannot be loaded: ImportError: No module named"):
            parse_expectation(text)
    assert parse_expectation("lost == 0").metric == "lost"


def test_a_plug_in_that_is_no_metric_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, "mine", lambda: "text")
    with pytest.raises(ValueError, match="mine_package:METRIC is no Metric"):
        parse_expectation("mine == 3")


def test_reading_expectations_needs_no_heavy_import() -> None:
    program = (
        "import sys, stream2gym.kinds.expectation_grammar;"
        "print([m for m in ('pydantic','pyspark','pyarrow','numpy','rich') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert out.stdout.strip() == "[]"


def test_the_documentation_tells_every_metric_with_its_unit_and_filters() -> None:
    text = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text("utf-8")

    for metric in BUILT_IN:
        row = next((line for line in text.splitlines() if line.startswith(f"| `{metric.name}` |")), "")
        assert f"| {metric.unit.NOUN} | {metric.about} |" in row, metric.name
        assert row.endswith(f"| {', '.join(metric.filters) or '–'} |"), metric.name


def test_the_expectations_of_the_documentation_are_understood() -> None:
    text = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text("utf-8")
    examples = re.findall(r"^  - (.+)$", text, re.MULTILINE)

    assert len(examples) > 10
    assert all(parse_expectation(example).text == example for example in examples)
