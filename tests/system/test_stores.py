"""Real stores on emulated hosts: filled from topics, killed, restarted, and looked into."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from stream2gym.errors import BadInput, CannotHere
from stream2gym.execution.drive_load import Load
from stream2gym.report.recorded_results import read_results
from stream2gym.wait import wait_until
from tests.support.play import play, star

ENOUGH_S = 120.0  # for a wait that ends as soon as what it waits for is there


def into_a_table(**sink: Any) -> dict[str, Any]:
    return {
        "topology": star(3),
        "brokers": [{"on": "h2"}],
        "topics": [{"name": "in", "partitions": 2}],
        "stores": [{"name": "db", "on": "h3", "type": "MySQL", "tables": ["CREATE TABLE made (a INT)"]}],
        "sinks": [{"name": "into", "on": "h1", "topics": ["in"], "store": "db", **sink}],
        "producers": [{"name": "gen", "on": "h1", "topic": "in", "rate": "500/s", "messages": 2000}],
        "time": "20 s",
        "drain": "60 s",
    }


def part(load: Load, name: str) -> Any:
    return next(part for part in load.components.all() if part.name == name)


def test_a_killed_sink_and_a_killed_store_neither_lose_nor_double_a_row(tmp_path: Path) -> None:
    def kill_both(load: Load) -> None:
        sink, store = part(load, "into").processes[0], part(load, "db").processes[0]
        for after_s, process in ((1.0, sink), (2.0, store), (2.5, sink)):
            threading.Timer(after_s, lambda process=process: process.handle.signal(signal.SIGKILL)).start()

    keys = into_a_table(restart={"times": 5, "delay": "0 s"})
    keys["stores"][0]["restart"] = {"times": 1, "delay": "500 ms"}
    run = play(keys, tmp_path, at_t0=kill_both)
    assert run.outcome.error is None
    assert run.events("restarted", component="into")
    assert run.events("restarted", component="db")
    (audit,) = run.events("audited", table="in")
    assert audit["expected"] == audit["present"] == 2000
    assert audit["missing"] == audit["doubled"] == 0
    assert run.samples("store", "db/in", "rows_missing") == [0]
    rows = run.samples("store", "db/in", "rows")
    assert rows == sorted(rows), "what was committed outlives both kills"
    assert rows[-1] == 2000, "the last look is before the stop"
    assert max(run.samples("store", "db", "connections")) >= 1, "the sink"
    messages, rows_of_in = read_results(run.folder.path)
    assert messages.title == "Last messages of in"
    assert messages.at_end
    assert len(messages.rows) == 8
    assert rows_of_in.title == "Last rows of db/in"
    assert rows_of_in.at_end
    assert len(rows_of_in.rows) == 8


def test_a_rocksdb_needs_no_server_and_is_audited_too(tmp_path: Path) -> None:
    keys = into_a_table(keys=["v"])
    keys["stores"] = [{"name": "db", "on": "h3", "type": "ROCKSDB"}]
    run = play(keys, tmp_path)
    assert run.outcome.error is None
    (audit,) = run.events("audited", table="in")
    assert (audit["expected"], audit["present"], audit["missing"]) == (2000, 2000, 0)
    _, rows = read_results(run.folder.path)
    assert rows.title == "Last rows of db/in, by v"
    assert len(rows.rows) == 8


def test_a_table_that_nobody_made_is_one_clear_event(tmp_path: Path) -> None:
    run = play(into_a_table(create=False, table="nowhere") | {"drain": "1 s"}, tmp_path)
    (failed,) = run.events("sink-failed")
    assert "nowhere" in failed["cause"]
    assert "doesn't exist" in failed["cause"]


def test_a_statement_that_the_store_refuses_stops_the_start(tmp_path: Path) -> None:
    keys = into_a_table()
    keys["stores"][0]["tables"] = ["CREATE TABLE broken (a NOTYPE)"]
    run = play(keys, tmp_path)
    assert run.outcome.state == "failed"
    assert "CREATE TABLE broken" in str(run.outcome.error)


HOLD = """
import socket, sys, time
listener = socket.create_server((sys.argv[1], 3306))
print("holds the port", flush=True)
time.sleep(600)
"""


@pytest.mark.long
def test_a_store_that_dies_and_whose_port_is_taken_then_is_explained_and_nothing_hangs(
    tmp_path: Path,
) -> None:
    def kill_it_and_take_its_port(load: Load) -> None:
        store = part(load, "db").processes[0]
        store.handle.signal(signal.SIGKILL)
        wait_until(lambda: store.over, timeout_s=ENOUGH_S, reason="its end")
        held = tmp_path / "held.log"
        argv = [sys.executable, "-c", HOLD, "10.0.0.3"]
        load.components.context.spawn("h3", argv, name="holder", log=held)
        wait_until(lambda: "holds" in held.read_text(), timeout_s=ENOUGH_S, reason="the port to be held")
        store.restart()
        wait_until(lambda: store.over, timeout_s=ENOUGH_S, reason="its second end")
        sink = part(load, "into").log
        wait_until(lambda: "store is gone" in sink.read_text(), timeout_s=ENOUGH_S, reason="the sink to see it")

    run = play(into_a_table() | {"time": "1 s", "drain": "1 s"}, tmp_path, at_t0=kill_it_and_take_its_port)
    assert run.outcome.error is None
    killed, refused = run.events("died", component="db")
    assert killed["how"] == "killed by SIGKILL"
    assert killed["end_of_log"]
    assert refused["cause"] == "its port 3306 is taken by another program on the host"
    assert refused["log"] == "h3.db.log"
    assert "Address already in use" in refused["end_of_log"]
    (lost,) = run.events("store-lost", component="into")
    assert lost["store"] == "db"
    (audit,) = run.events("audit-failed")
    assert audit["reason"] == "db on h3 is not there any more"


@pytest.mark.long
def test_a_duplicate_key_without_keys_to_replace_by_is_explained(tmp_path: Path) -> None:
    keys = into_a_table(create=False, table="once") | {"drain": "1 s"}
    keys["stores"][0]["tables"] = ["CREATE TABLE once (k VARCHAR(9), v VARCHAR(99), one INT DEFAULT 1 UNIQUE)"]
    run = play(keys, tmp_path)
    (failed,) = run.events("sink-failed")
    assert "there already" in failed["cause"]


@pytest.mark.long
def test_the_server_of_this_machine_is_used_when_asked_for(tmp_path: Path) -> None:
    if not (shutil.which("mariadbd") or shutil.which("mysqld")):
        pytest.skip("there is no MariaDB and no MySQL here")
    keys = into_a_table()
    keys["stores"][0]["server"] = "system"
    run = play(keys, tmp_path)
    assert run.outcome.error is None
    (audit,) = run.events("audited", table="in")
    assert audit["expected"] == audit["present"] == 2000


ASK_MONGODB = """
import json, os
from pymongo import MongoClient

database = MongoClient(os.environ["S2G_STORE_URI"]).get_default_database()
assert database.list_collection_names() == ["seen"]
database.seen.insert_one({"a": 1})
print("S2G", json.dumps({"found": database.seen.count_documents({"a": 1})}))
"""


def without(*programs: str) -> str:
    """The PATH but for the folders that hold one of these."""
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(
        folder for folder in folders if not any(shutil.which(name, path=folder) for name in programs)
    )


def with_mongodb() -> dict[str, Any]:
    store = {"name": "db", "on": "h1", "type": "MongoDB", "collections": ["seen"]}
    return {"topology": star(1), "stores": [store], "time": "1 s"}


def test_mongodb_without_a_server_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", without("mongod", "ferretdb"))
    run = play(with_mongodb(), tmp_path)
    assert isinstance(run.outcome.error, CannotHere)
    assert "no mongod and no ferretdb" in str(run.outcome.error)


@pytest.mark.long
def test_mongodb_of_this_machine_is_ready_when_a_client_has_asked_it(tmp_path: Path) -> None:
    if not (shutil.which("mongod") or shutil.which("ferretdb")):
        pytest.skip("there is no MongoDB and no FerretDB here")
    keys = with_mongodb() | {"engines": [{"name": "asks", "on": "h1", "type": "Spark", "app": "ask.py"}]}
    run = play(keys, tmp_path, {"ask.py": ASK_MONGODB})
    assert run.outcome.error is None
    assert run.samples("program", "asks", "found") == [1]


def test_unknown_types_of_store_list_the_known_ones(tmp_path: Path) -> None:
    keys = {"topology": star(1), "stores": [{"name": "db", "on": "h1", "type": "oracle"}]}
    with pytest.raises(BadInput, match="mysql, mongodb, rocksdb"):
        play(keys, tmp_path)
