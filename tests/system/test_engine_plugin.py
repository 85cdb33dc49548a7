"""An engine and monitors from another package: classes and entry points, and they run like the built-in ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stream2gym.errors import BadInput
from tests.support.packages import installed_package
from tests.support.play import play, star

PLUGIN = """
import sys
from stream2gym.components.engine import EngineComponent
from stream2gym.kinds.settings import Model
from stream2gym.kinds.registry import Kind

class Settings(Model):
    words: str = "hello"

class Parrot(EngineComponent):
    KIND = Kind("engine", "parrot", "says what it is told", Settings, runnable=True, app=True)

    def command(self, start):
        return [sys.executable, str(self.setting.base / self.setting.part.app), self.setting.settings.words]
"""
MONITORS = """
import threading
from stream2gym.kinds.registry import Kind
from stream2gym.monitors.monitor import Monitor

class Hosts(Monitor):
    KIND = Kind("monitor", "hosts", "how many hosts there are")

    def look(self):
        self.run.sample("network", "count", len(self.run.plan.network.hosts))

class Broken(Monitor):
    KIND = Kind("monitor", "broken", "fails")

    def look(self):
        raise ValueError("cannot see")

class Stuck(Monitor):
    KIND = Kind("monitor", "stuck", "hangs")

    def look(self):
        threading.Event().wait()
"""
MONITOR_ENTRIES = """
[stream2gym.monitors]
hosts = parrot_monitors:Hosts
broken = parrot_monitors:Broken
stuck = parrot_monitors:Stuck
missing = parrot_monitors:Missing
"""
PROGRAM = """
import os, sys
print('S2G {"event": "said", "words": "%s", "host": "%s"}' % (sys.argv[1], os.environ["S2G_HOST"]), flush=True)
print('S2G {"letters": %d}' % len(sys.argv[1]), flush=True)
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of somebody else's, installed as pip would."""
    entries = f"[stream2gym.engines]\nparrot = parrot_engine:Parrot\n{MONITOR_ENTRIES}"
    modules = {"parrot_engine": PLUGIN, "parrot_monitors": MONITORS}
    with installed_package(tmp_path / "site", "parrot", modules, entries, monkeypatch):
        yield


def test_an_engine_and_monitors_from_outside_the_package_run(plugin: None, tmp_path: Path) -> None:
    engine = {"name": "bird", "on": "h1", "type": "Parrot", "app": "say.py", "words": "ahoy"}
    keys = {"topology": star(1), "engines": [engine], "time": "1 s"}
    run = play(keys, tmp_path, {"say.py": PROGRAM})
    assert run.outcome.error is None
    (said,) = run.events("program", component="bird")
    assert said["details"] == {"words": "ahoy"}
    assert run.samples("program", "bird", "letters") == [4]
    assert run.events("finished", component="bird")
    assert set(run.samples("hosts", "network", "count")) == {1}
    assert {event["monitor"] for event in run.events("monitor-failed")} == {"broken", "stuck", "missing"}
    assert run.samples("monitor", "process", "look_s")
    assert not run.samples("monitor", "stuck", "look_s")


def test_its_settings_are_checked_before_anything_runs(plugin: None, tmp_path: Path) -> None:
    engine = {"name": "bird", "on": "h1", "type": "parrot", "app": "say.py", "word": "ahoy"}
    with pytest.raises(BadInput, match="did you mean 'words'"):
        play({"topology": star(1), "engines": [engine]}, tmp_path, {"say.py": PROGRAM})


def test_an_unknown_engine_lists_the_known_ones(plugin: None, tmp_path: Path) -> None:
    engine = {"name": "bird", "on": "h1", "type": "storm", "app": "say.py"}
    with pytest.raises(BadInput, match=r"spark.*flink.*parrot"):
        play({"topology": star(1), "engines": [engine]}, tmp_path, {"say.py": PROGRAM})
