"""The page draws every chart that the report shares with it, under the same head."""

from __future__ import annotations

import re
from pathlib import Path

from stream2gym import web
from stream2gym.figures.time_charts import TIME_CHARTS, make_chart_heads
from stream2gym.plan.make_plan import make_plan
from stream2gym.spec.model import Experiment
from stream2gym.web.run_story import RunStory
from stream2gym.web.timelines import list_series


def make_story() -> RunStory:
    experiment = Experiment.model_validate(
        {"name": "x", "topology": {"kind": "star", "hosts": 1}, "brokers": [{"on": "h1"}]}
    )
    return RunStory(make_plan(experiment), {}, 0, cpus=4.0)


def test_the_page_has_series_for_every_shared_chart_and_no_other() -> None:
    assert sorted(list_series(make_story())) == sorted(chart.name for chart in TIME_CHARTS)


def test_the_script_knows_how_to_show_every_unit() -> None:
    script = (Path(str(web.__file__)).parent / "static" / "charts.js").read_text()
    [table] = re.findall(r"const SHOW = \{(.*?)\n\};", script, re.S)
    known = {word.strip('"') for word in re.findall(r'^\s*("[^"]*"|\w+):', table, re.M)}
    assert {head["unit"] for head in make_chart_heads()} <= known


def test_cpu_is_a_share_of_the_whole_machine_as_in_the_report() -> None:
    story = make_story()
    key = ("process", "broker-h1", "cpu_s")
    story.buckets.spread(key, 0, 4_000_000_000, 8.0)
    [numbers] = list_series(story)["cpu"].values()
    assert numbers(0, 7) == [0.5] * 8
