"""Kinds of faults, engines and stores: found in any case, extended by plug-ins, honest about what runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream2gym.components.store import store_class
from stream2gym.kinds.registry import Family, registry
from stream2gym.kinds.targets import parse_target
from stream2gym.plan.plan_warnings import about_plug_ins
from stream2gym.spec.model import Experiment
from stream2gym.spec.runnable import PARTS, not_runnable
from tests.support.loading import Load, Mistakes
from tests.support.packages import installed_package

NET = "topology: {hosts: [h1, h2], switches: [s1], links: [h1 -- s1, h2 -- s1]}\n"

FAULTS = {
    "down", "flap", "degrade", "partition", "isolate", "switch-down", "ramp", "move", "kill", "stop", "pause",
    "restart", "crash-loop", "host-off", "cpu", "memory", "disk-full", "move-leader", "reassign", "delete-records",
    "delete-topic",
}  # fmt: skip

PLUGIN = """
from pydantic import BaseModel
from stream2gym.kinds.registry import Kind

class Settings(BaseModel):
    shards: int = 1

class Engine:
    KIND = Kind("engine", "pebble", "an engine from outside", Settings, runnable=True)

class SameName:
    KIND = Kind("engine", "KStream", "takes the name of a built-in engine", Settings, runnable=True)
"""
ENTRIES = """[stream2gym.engines]
pebble = pebble_plugin:Engine
broken = no_such_module:X
odd = pebble_plugin:Settings
my-streams = pebble_plugin:SameName
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package installed beside ours that brings an engine."""
    with installed_package(tmp_path / "site", "pebble-plugin", {"pebble_plugin": PLUGIN}, ENTRIES, monkeypatch):
        yield


def test_every_fault_kind_is_declared_with_its_target() -> None:
    kinds = registry("fault").kinds
    assert set(kinds) == FAULTS
    assert all(kind.targets and kind.summary for kind in kinds.values())


@pytest.mark.parametrize(
    ("family", "written", "name"),
    [("store", "MYSQL", "mysql"), ("store", "MariaDB", "mysql"), ("engine", "Spark", "spark"),
     ("engine", "KStream", "kafka-streams"), ("fault", "Down", "down")],
)  # fmt: skip
def test_names_are_read_in_any_case(family: Family, written: str, name: str) -> None:
    kind = registry(family).find(written)
    assert kind is not None
    assert kind.name == name


@pytest.mark.usefixtures("plugin")
def test_a_plug_in_from_outside_is_known_and_checks_its_settings(load: Load, mistakes: Mistakes) -> None:
    text = NET + "engines: [{on: h1, type: Pebble, shards: 3}]\n"
    assert not_runnable(load(text).experiment) == []
    (mistake,) = mistakes(text.replace("shards: 3", "shards: many"))
    assert mistake.where == "engines.0.shards"


@pytest.mark.usefixtures("plugin")
def test_a_plug_in_that_cannot_be_loaded_is_told_only_when_it_is_wanted(load: Load, mistakes: Mistakes) -> None:
    assert load(NET).experiment
    (mistake,) = mistakes(NET + "engines: [{on: h1, type: broken}]\n")
    assert "no_such_module" in mistake.what
    (mistake,) = mistakes(NET + "engines: [{on: h1, type: odd}]\n")
    assert "is no Kind of engine" in mistake.what


@pytest.mark.usefixtures("plugin")
def test_a_plug_in_with_the_name_of_a_built_in_engine_is_refused_and_takes_nothing_over(mistakes: Mistakes) -> None:
    (mistake,) = mistakes(NET + "engines: [{on: h1, type: my-streams}]\n")
    assert "pebble_plugin:SameName has the name 'kstream', which a built-in engine has already" in mistake.what
    told = mistakes(NET + "engines: [{on: h1, type: KStream, shards: 3}]\n")
    assert "unknown key 'shards' of engine 'kafka-streams'" in [one.what for one in told]


@pytest.mark.usefixtures("plugin")
def test_who_names_the_engine_is_told_that_it_is_the_built_in_one(load: Load, tmp_path: Path) -> None:
    (tmp_path / "Job.java").touch()
    text = NET + "brokers: [{on: h1}]\nengines: [{name: job, on: h1, type: TYPE, app: Job.java}]\n"
    told = about_plug_ins(load(text.replace("TYPE", "KStream")).experiment.engines)
    assert told == [
        "engine job: KStream is the built-in one; "
        "the plug-in pebble_plugin:SameName has the same name and is not used"
    ]
    assert about_plug_ins(load(text.replace("TYPE", "kafka-streams")).experiment.engines) == []


def test_an_unknown_type_lists_the_known_ones(mistakes: Mistakes) -> None:
    (mistake,) = mistakes(NET + "stores: [{on: h1, type: oracle}]\n")
    assert mistake.hint == "known: mysql, mongodb, rocksdb"


GOOD = [
    "{do: flap, on: h1 -- s1, at: 1 s, period: 2 s, duty: 20 %}",
    "{do: degrade, on: h1 -- s1, at: 1 s, bandwidth: 5 Mbps, jitter: 2 ms, ways: forward}",
    "{do: ramp, on: h1 -- s1, at: 1 s, for: 5 s, from: {latency: 1 ms}, to: {latency: 90 ms}}",
    "{do: partition, at: 1 s, groups: [[h1], [h2]], one_way: true}",
    "{do: partition, on: [h1, h2], at: 1 s, shape: majority}",
    "{do: isolate, on: h*, at: 1 s, ways: in}",
    "{do: switch-down, on: s1, at: 1 s}",
    "{do: move, on: h1, at: 1 s, to: s1}",
    "{do: stop, on: x, at: 1 s, timeout: 5 s}",
    "{do: pause, on: x, within: [1 s, 5 s], jitter: 1 s}",
    "{do: restart, on: x, at: 1 s, data: wipe}",
    "{do: crash-loop, on: x, at: 1 s, every: 3 s, until: 9 s, for: 2 s}",
    "{do: host-off, on: h1, when: lag > 5000}",
    "{do: cpu, on: h1, at: 1 s, share: 10 %}",
    "{do: memory, on: h1, at: 1 s, limit: 100 MiB}",
    "{do: disk-full, on: h1, after: 1000 messages}",
    "{do: move-leader, on: t, at: 1 s, partition: 0, to: h1}",
    "{do: reassign, on: t, at: 1 s, replicas: [h1]}",
    "{do: delete-records, on: t, at: 1 s, before: 100}",
    "{do: delete-topic, on: t, at: 1 s}",
]


@pytest.mark.parametrize("fault", GOOD)
def test_the_settings_of_every_fault_kind_are_taken(load: Load, fault: str) -> None:
    text = NET + f"brokers: [{{on: h1, name: x}}]\ntopics: [t]\nfaults: [{fault}]\n"
    assert len(load(text).experiment.faults) == 1


@pytest.mark.parametrize(
    "fault",
    [
        "{do: ramp, on: h1 -- s1, at: 1 s}",
        "{do: partition, at: 1 s, groups: [[h1]]}",
        "{do: partition, at: 1 s, groups: [[h1], [h7]]}",
        "{do: cpu, on: h1, at: 1 s}",
        "{do: flap, on: h1 -- s1, at: 1 s, duty: 150 %}",
        "{do: reassign, on: t, at: 1 s, replicas: []}",
        "{do: delete-records, on: t, at: 1 s, before: 5, share: 5 %}",
        "{do: pause, on: x, within: [5 s, 1 s]}",
        "{do: pause, on: x, when: now}",
        "{do: pause, on: x, at: 1 s, until: 5 s}",
        "{do: pause, on: x, at: 1 s, every: 2 s, for: 3 s}",
    ],
)
def test_settings_that_make_no_sense_are_refused(mistakes: Mistakes, fault: str) -> None:
    text = NET + f"brokers: [{{on: h1, name: x}}]\ntopics: [t]\nfaults: [{fault}]\n"
    assert all(mistake.where.startswith("faults.0") for mistake in mistakes(text))


def test_what_only_is_read_is_named_in_a_sentence_each(monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = Experiment.model_validate(
        {"brokers": [{"on": "h1"}], "topics": ["t"], "stores": [{"on": "h1", "type": "nobody-has-this"}]}
    )
    for part in PARTS:
        monkeypatch.setitem(PARTS, part, False)
    assert not_runnable(experiment) == [
        "The kafka broker broker-h1 is read and checked, but this version cannot run it yet.",
        "The topic t is read and checked, but this version cannot make it yet.",
        "The store store-h1-1 of type nobody-has-this is read and checked, but this version cannot run it yet.",
    ]
    monkeypatch.setitem(PARTS, "kafka broker", True)
    monkeypatch.setitem(PARTS, "topic", True)
    assert len(not_runnable(experiment)) == 1


def test_a_bare_network_runs_whole() -> None:
    assert not_runnable(Experiment.model_validate({"topology": {"kind": "star", "hosts": 2}})) == []


def test_targets_are_read_in_all_their_forms() -> None:
    assert parse_target("h1  --  s1").ends == ("h1", "s1")
    leader = parse_target("leader of orders/3")
    assert (leader.form, leader.subject, leader.partition) == ("leader", "orders", 3)
    some = parse_target("random 2 of broker-*")
    assert some.among is not None
    assert (some.form, some.count, some.among.text) == ("random", 2, "broker-*")
    assert parse_target("busiest 3 links").count == 3
    with pytest.raises(ValueError, match="not a target"):
        parse_target("two words")


STORE_PLUGIN = """
from pydantic import BaseModel
from stream2gym.components.store import StoreComponent
from stream2gym.kinds.registry import Kind

class Settings(BaseModel):
    pass

class Store(StoreComponent):
    KIND = Kind("store", "shelf", "a store from outside", Settings, runnable=True, also=("bookshelf",))
"""


@pytest.mark.parametrize("entry", ["shelf", "bookshelf"])
def test_a_store_plug_in_runs_stores_of_any_of_its_names(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "shelf_plugin-1.0.dist-info"
    info.mkdir()
    (tmp_path / "shelf_plugin.py").write_text(STORE_PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shelf-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[stream2gym.stores]\n{entry} = shelf_plugin:Store\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.cache_clear()
    try:
        for written in ("shelf", "Bookshelf"):
            assert store_class(written).__name__ == "Store"
    finally:
        registry.cache_clear()
        sys.modules.pop("shelf_plugin", None)
