"""The analysis on a real Spark cluster: a master and a worker on loopback, the same answers as here."""

from __future__ import annotations

import contextlib
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
from stream2gym.software import child_process
from stream2gym.software.loopback_broker import free_ports
from stream2gym.software.spark_software import MASTER, WORKER, SparkSoftware
from stream2gym.wait import wait_until

pytestmark = pytest.mark.long
HEAP_MB = 256


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """Its address, and the folder where its worker keeps what executors wrote."""
    software = SparkSoftware.ensure()
    for name, value in {**software.environment, "SPARK_LOCAL_IP": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    [port, page, other] = free_ports(3)
    url, work = f"spark://127.0.0.1:{port}", tmp_path / "work"
    work.mkdir()
    where = ["--host", "127.0.0.1", "--webui-port"]
    starts = (
        (MASTER, [*where, str(page), "--port", str(port)], "New state: ALIVE"),
        (WORKER, [*where, str(other), "--cores", "2", "--memory", "1g", "--work-dir", str(work), url],
         "Successfully registered with master"),
    )  # fmt: skip
    with contextlib.ExitStack() as undo:
        for main_class, words, sign in starts:
            log = tmp_path / f"{main_class.rpartition('.')[2]}.log"
            process = child_process.start([*software.command(main_class, heap_mb=HEAP_MB), *words], log, tmp_path)
            undo.callback(child_process.end, process)
            wait_until(
                lambda log=log, sign=sign: sign in log.read_text(errors="replace"),  # type: ignore[misc]
                timeout_s=120,
                reason=f"{sign!r} in {log}",
            )
        yield url, work


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
