"""Plug-ins of every family go through one loader: broken ones and names taken twice are told, the rest is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from stream2gym.components.engine import EngineComponent, engine_class
from stream2gym.components.store import StoreComponent, store_class
from stream2gym.errors import CannotHere
from stream2gym.faults.action import Action
from stream2gym.faults.action_classes import action_class
from stream2gym.kinds import metrics, plugins
from stream2gym.kinds.kind import Kind
from stream2gym.kinds.metrics import BUILT_IN, Metric
from stream2gym.kinds.registry import registry
from stream2gym.monitors.monitor import Monitor, find_plug_in_monitors, make_sample

Install = Callable[..., None]
BASES = {"fault": Action, "engine": EngineComponent, "store": StoreComponent}
FINDERS = {"fault": action_class, "engine": engine_class, "store": store_class}


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install plug-ins: the family, then what each entry point names, by its name."""

    def install(family: str, **entries: Any) -> None:
        def named(group: str) -> list[SimpleNamespace]:
            if group != f"stream2gym.{family}s":
                return []
            return [
                SimpleNamespace(name=name, value=f"{name}_package:X", load=lambda one=one: one)
                for name, one in entries.items()
            ]

        monkeypatch.setattr(plugins, "entry_points", named)
        forget()

    def forget() -> None:
        registry.cache_clear()
        metrics._plug_ins.cache_clear()

    yield install
    monkeypatch.undo()
    forget()


def kind(family: Any, name: str, *also: str) -> Kind:
    return Kind(family, name, "from outside", BaseModel, also=also)


def metric(name: str) -> Metric:
    return Metric(name, "things", BUILT_IN[0].unit, "delivery", measure="mine:count")


@pytest.mark.parametrize("family", BASES)
def test_the_class_of_a_plug_in_does_its_kind(family: Any, install: Install) -> None:
    mine: Any = type("Mine", (BASES[family],), {"KIND": kind(family, "mine", "ours")})
    install(family, some_entry=mine)
    assert registry(family).find("Ours") is mine.KIND
    assert FINDERS[family]("mine") is mine


@pytest.mark.parametrize("family", ["engine", "store"])
def test_a_kind_without_a_class_is_read_but_runs_nowhere(family: Any, install: Install) -> None:
    install(family, mine=kind(family, "mine"))
    assert registry(family).find("mine") is not None
    with pytest.raises(CannotHere, match=f"nothing here runs {family}s of type mine"):
        FINDERS[family]("mine")


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("fault", "kill"),
        ("engine", "KStream"),
        ("engine", "Flink"),
        ("store", "mariadb"),
        ("monitor", "fabric"),
        ("monitor", "client"),
    ],
)
def test_a_plug_in_cannot_take_the_name_of_a_built_in_kind(family: Any, name: str, install: Install) -> None:
    before = registry(family).find(name)
    install(family, mine=kind(family, "mine", name))
    assert registry(family).find(name) == before
    assert registry(family).find("mine") is None
    assert f"has the name {name.lower()!r}, which a built-in {family} has already" in registry(family).broken["mine"]


def test_of_two_plug_ins_with_one_name_neither_is_used(install: Install) -> None:
    install("store", a=kind("store", "shelf"), b=kind("store", "rack", "Shelf"), c=kind("store", "cup"))
    known = registry("store")
    assert known.find("shelf") is None
    assert known.find("rack") is None
    assert known.find("cup") is not None
    assert known.broken == {
        "shelf": "b_package:X has the name 'shelf', too",
        "b": "b_package:X has the name 'shelf', which a_package:X has already",
    }


def test_two_entry_points_may_name_one_plug_in(install: Install) -> None:
    shelf = kind("store", "shelf", "bookshelf")
    install("store", shelf=shelf, bookshelf=shelf)
    assert registry("store").find("bookshelf") is shelf
    assert registry("store").broken == {}


def test_a_metric_with_the_name_of_a_built_in_one_is_told_and_not_used(install: Install) -> None:
    install("metric", mine=metric("lost"), good=metric("good"))
    found = metrics.find("lost")
    assert found is not None
    assert not found.measure
    assert metrics.find("good") == metric("good")
    assert "which a built-in metric has already" in metrics.broken()["mine"]


def test_what_is_no_declaration_is_told(install: Install) -> None:
    install("metric", odd="text")
    assert metrics.broken() == {"odd": "odd_package:X is no Metric"}
    install("engine", odd=kind("store", "shelf"))
    assert registry("engine").broken == {"odd": "odd_package:X is no Kind of engine and has none as its KIND"}


def test_the_monitors_of_plug_ins_are_found_and_unusable_ones_have_a_reason(install: Install) -> None:
    mine: Any = type("Mine", (Monitor,), {"KIND": Kind("monitor", "mine", "from outside")})
    takes_over: Any = type("TakesOver", (Monitor,), {"KIND": Kind("monitor", "fabric", "from outside")})
    install("monitor", mine=mine, takes_over=takes_over, bare=Kind("monitor", "bare", "no class"))
    found, unusable = find_plug_in_monitors()
    assert found == [mine]
    assert "which a built-in monitor has already" in unusable["takes_over"]
    assert "names no class" in unusable["bare"]


def test_the_samples_of_a_monitor_have_its_name_as_their_source() -> None:
    mine: Any = type("Mine", (Monitor,), {"KIND": Kind("monitor", "mine", "from outside")})
    written: list[tuple[Any, ...]] = []
    make_sample(mine, lambda *row: written.append(row))("disk", "free_bytes", 5.0)
    assert written == [("mine", "disk", "free_bytes", 5.0)]
