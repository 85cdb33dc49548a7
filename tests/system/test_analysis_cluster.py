"""The analysis on a real Spark cluster: a master and a worker on loopback, the same answers as here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stream2gym import api
from stream2gym.analysis.analyse import analyse, load_analysis
from stream2gym.analysis.fake_run import rehearsal
from stream2gym.cli.main import main
from stream2gym.judge.verdict import load_verdict
from stream2gym.record.folder import RunFolder
from tests.support.spark_cluster import spark_cluster

pytestmark = pytest.mark.long


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Its address, and the folder where its worker keeps what executors wrote."""
    with spark_cluster(tmp_path) as made:
        work = made.add_worker()
        yield made.url, work


def told(found: Any) -> dict[str, Any]:
    """An analysis without what differs from one time to the next."""
    said: dict[str, Any] = found.to_json()
    said.pop("took_s")
    return said


def test_a_cluster_finds_and_judges_what_a_local_session_does(
    cluster: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, work = cluster
    run = rehearsal().write(tmp_path / "run")
    verdict = api.analyse_again(RunFolder.open(run))
    here = told(load_analysis(run))

    assert main(["report", str(run), "--master", url]) == 0
    assert re.search(r"report\.html$", capsys.readouterr().out.strip())
    assert len(list(work.glob("app-*"))) == 1, "no executor ran on the cluster"
    assert told(load_analysis(run)) == here
    assert load_verdict(RunFolder.open(run)) == verdict

    assert told(analyse(run)) == here, "a local session after one on a cluster"
