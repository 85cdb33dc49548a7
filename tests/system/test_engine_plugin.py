"""An engine from another package: a short class and an entry point, and it runs like the built-in ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream2gym.components.engine import engine_class
from stream2gym.errors import BadInput
from stream2gym.kinds.registry import registry
from tests.support.play import play, star

PLUGIN = """
import sys
from stream2gym.components.engine import EngineComponent
from stream2gym.kinds.base import Model
from stream2gym.kinds.registry import Kind

class Settings(Model):
    words: str = "hello"

class Parrot(EngineComponent):
    KIND = Kind("engine", "parrot", "says what it is told", Settings, runnable=True, app=True)

    def command(self, start):
        return [sys.executable, str(self.setting.base / self.setting.part.app), self.setting.settings.words]
"""
PROGRAM = """
import os, sys
print('S2G {"event": "said", "words": "%s", "host": "%s"}' % (sys.argv[1], os.environ["S2G_HOST"]), flush=True)
print('S2G {"letters": %d}' % len(sys.argv[1]), flush=True)
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of somebody else's, installed as pip would."""
    site = tmp_path / "site"
    info = site / "parrot-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "parrot_engine.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parrot\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[stream2gym.engines]\nparrot = parrot_engine:Parrot\n")
    monkeypatch.syspath_prepend(str(site))
    registry.cache_clear()
    engine_class.cache_clear()
    yield
    registry.cache_clear()
    engine_class.cache_clear()
    sys.modules.pop("parrot_engine", None)


def test_an_engine_from_outside_the_package_runs(plugin: None, tmp_path: Path) -> None:
    engine = {"name": "bird", "on": "h1", "type": "Parrot", "app": "say.py", "words": "ahoy"}
    keys = {"topology": star(1), "engines": [engine], "time": "1 s"}
    run = play(keys, tmp_path, {"say.py": PROGRAM})
    assert run.outcome.error is None
    (said,) = run.events("program", component="bird")
    assert said["details"] == {"words": "ahoy"}
    assert run.samples("program", "bird", "letters") == [4]
    assert run.events("finished", component="bird")


def test_its_settings_are_checked_before_anything_runs(plugin: None, tmp_path: Path) -> None:
    engine = {"name": "bird", "on": "h1", "type": "parrot", "app": "say.py", "word": "ahoy"}
    with pytest.raises(BadInput, match="did you mean 'words'"):
        play({"topology": star(1), "engines": [engine]}, tmp_path, {"say.py": PROGRAM})


def test_an_unknown_engine_lists_the_known_ones(plugin: None, tmp_path: Path) -> None:
    engine = {"name": "bird", "on": "h1", "type": "storm", "app": "say.py"}
    with pytest.raises(BadInput, match=r"spark.*flink.*parrot"):
        play({"topology": star(1), "engines": [engine]}, tmp_path, {"say.py": PROGRAM})
