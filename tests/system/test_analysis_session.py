"""The Spark session of an analysis: invisible to whoever we start, and gone with its folder however it ends."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from stream2gym.analysis.background_session import BackgroundSession
from stream2gym.analysis.session import open_session
from stream2gym.analysis.shared_jvm import VARIABLE
from stream2gym.software.child_process import Guarded
from stream2gym.wait import wait_until
from tests.support.shared_analysis import SharedJvm


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def spark_variables() -> dict[str, str]:
    words = ("SPARK", "PYSPARK", "_PYSPARK")
    return {key: value for key, value in os.environ.items() if key.startswith(words)}


def test_a_session_that_is_still_being_opened_is_given_up_at_once(temporary: Path) -> None:
    early = BackgroundSession()
    early.start()
    wait_until(lambda: any(temporary.iterdir()), timeout_s=30, reason="the JVM to start")
    began = time.monotonic()
    early.close()
    assert time.monotonic() - began < 10
    wait_until(lambda: not any(temporary.iterdir()), timeout_s=10, reason="the folder of the JVM to go")


def test_an_open_session_leaves_no_trace_in_the_environment_and_no_folder(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in spark_variables():
        monkeypatch.delenv(name)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/nowhere")  # of another Spark of the caller's
    started: list[Guarded] = []
    with open_session(started=started.append) as session:
        assert spark_variables() == {"SPARK_LOCAL_DIRS": "/nowhere"}
        assert session.range(3).count() == 3
        [folder] = temporary.iterdir()
        assert any(folder.iterdir())
    assert started[0].poll() is not None
    assert spark_variables() == {"SPARK_LOCAL_DIRS": "/nowhere"}
    assert list(temporary.iterdir()) == []


def test_sessions_in_a_shared_jvm_are_one_spark_and_do_not_see_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = SharedJvm()
    try:
        monkeypatch.setenv(VARIABLE, str(shared.file()))
        with open_session(started=lambda _jvm: pytest.fail("started a JVM")) as first:
            spark = first.sparkContext.applicationId
            first.range(3).createOrReplaceTempView("numbers")
            first.conf.set("spark.sql.shuffle.partitions", "7")
            assert first.table("numbers").count() == 3
        with open_session() as second:
            assert second.sparkContext.applicationId == spark
            assert not second.catalog.tableExists("numbers")
            assert second.conf.get("spark.sql.shuffle.partitions") != "7"
            assert second.range(5).count() == 5
        assert spark_variables() == {}
    finally:
        shared.close()


def test_whoever_cannot_read_where_the_shared_jvm_is_starts_one(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(temporary / "missing"))
    started: list[Guarded] = []
    with open_session(started=started.append) as session:
        assert session.range(3).count() == 3
    assert len(started) == 1
