"""A cluster that is to analyse a record must answer before anything is started for it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from stream2gym.analysis.session import check_master
from stream2gym.api import run
from stream2gym.errors import BadInput


@pytest.fixture
def nobody() -> str:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{held.getsockname()[1]}"


def test_a_run_does_not_begin_when_its_cluster_is_not_there(nobody: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"no Spark master answers at {nobody}"):
        run("hello", master=f"spark://{nobody}", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_one_of_several_masters_is_enough(nobody: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as master:
        check_master(f"spark://{nobody},127.0.0.1:{master.getsockname()[1]}")


@pytest.mark.parametrize("master", [None, "local[2]", "yarn", "k8s://https://there"])
def test_other_kinds_of_clusters_are_asked_by_spark_itself(master: str | None) -> None:
    check_master(master)


@pytest.mark.parametrize("master", ["spark://", "spark://there", "spark://there:port"])
def test_an_address_that_is_none_is_told(master: str) -> None:
    with pytest.raises(BadInput, match="--master"):
        check_master(master)
