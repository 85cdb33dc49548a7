"""The names of metrics are the same in the text for Prometheus, in the docs and in the dashboard."""

from __future__ import annotations

import json
import re
from pathlib import Path

from stream2gym.web.prometheus_text import METRICS, prometheus_text
from stream2gym.web.snapshot import snapshot_at
from tests.unit.web.web_runs import fake_folder, read_whole

DOCS = Path(__file__).resolve().parents[3] / "docs"
NAME = re.compile(r"s2g_[a-z_]+")


def test_the_docs_name_every_metric() -> None:
    assert set(NAME.findall((DOCS / "live.md").read_text("utf-8"))) == set(METRICS)


def test_the_dashboard_asks_for_metrics_that_exist() -> None:
    dashboard = json.loads((DOCS / "grafana-dashboard.json").read_text("utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(asked) >= 12
    assert {name for text in asked for name in NAME.findall(text)} <= set(METRICS)


def test_what_files_say_is_escaped_in_labels(tmp_path: Path) -> None:
    story = read_whole(fake_folder(tmp_path / "run"))
    snapshot = snapshot_at(story, story.newest_ns, story.created_ns)
    snapshot["lag"] = {'a"}\n evil 1 \\': 5}
    text = prometheus_text("run", "done", snapshot, 0)
    assert 's2g_group_lag{group="a\\"}\\n evil 1 \\\\"} 5' in text
