"""The pages for learners, done as they are written: their commands run, in order, in one folder."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from stream2gym.api import run
from stream2gym.record.folder import RunFolder, list_runs
from stream2gym.spec.readers.yaml_documents import read_documents
from stream2gym.wait import wait_until
from tests.support.examples import EXAMPLES
from tests.support.manual import DOCS, Snippet, find_commands, read_snippets
from tests.support.users import myself

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
# A busy machine leaves figures undecided; nothing may fail.
PASSED, FAILED, UNKNOWN = 0, 1, 3
BROKEN = "broker-failure"


def run_commands(text: str, folder: Path, codes: tuple[int, ...] = (PASSED, UNKNOWN)) -> None:
    for words in find_commands(text):
        done = myself().run(*words, cwd=folder, timeout=900)
        assert done.returncode in codes, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"


def snippets_of(page: str) -> list[Snippet]:
    return [one for one in read_snippets("sh", "yaml") if one.page == page]


def test_the_first_ten_minutes(tmp_path: Path) -> None:
    experiment = tmp_path / "rides.yaml"
    *before, last = snippets_of("tutorial")
    for snippet in before:
        if snippet.language == "sh":
            run_commands(snippet.text, tmp_path)
        elif not experiment.exists():
            experiment.write_text(snippet.text)
        else:
            experiment.write_text(experiment.read_text() + snippet.text)
    assert "in another:" in (DOCS / "tutorial.md").read_text("utf-8")
    with myself().popen("run", "hello", "--time", "120s", "--no-report", cwd=tmp_path) as going:
        try:
            wait_until(
                lambda: any((run.path / "jobs.sock").exists() for run in list_runs(tmp_path / "runs")),
                timeout_s=120,
                reason="the load",
            )
            time.sleep(2)  # some load before the run is broken; nothing is waited for
            run_commands(last.text, tmp_path, (PASSED,))
        finally:
            going.send_signal(signal.SIGINT)
            going.wait(120)


def test_a_bundled_sweep_and_the_plan_of_the_published_ones(tmp_path: Path) -> None:
    for snippet in snippets_of("reproduce"):
        if snippet.language == "sh":
            text = "\n".join(line for line in snippet.text.splitlines() if "published --quick" not in line)
            run_commands(text, tmp_path)
    [folder] = [path for path in (tmp_path / "sweeps").iterdir() if path.name.startswith("link-latency")]
    named = set(re.findall(r"`(report\.html|responses\.csv)`", (DOCS / "reproduce.md").read_text("utf-8")))
    assert named
    assert all((folder / name).is_file() for name in named), sorted(path.name for path in folder.iterdir())


def test_a_leader_is_killed_as_the_page_says(tmp_path: Path) -> None:
    safe, unsafe, _ = (one for one in snippets_of("break-it") if one.language == "sh")
    run_commands(safe.text, tmp_path)
    # Whether messages are lost is a matter of milliseconds, says the page.
    run_commands(unsafe.text, tmp_path, (PASSED, FAILED, UNKNOWN))
    runs = list_runs(tmp_path / "runs")
    assert len(runs) == 2
    assert all(any(event["event"] == "leader" for event in one.read_events()) for one in runs)


def test_a_run_is_broken_by_hand_as_the_page_says(tmp_path: Path) -> None:
    *_, by_hand = (one for one in snippets_of("break-it") if one.language == "sh")
    words = ("run", BROKEN, "--set", "faults=[]", "--set", "expect=[lost == 0]", "--time", "120s", "--no-report")
    with myself().popen(*words, cwd=tmp_path) as going:
        try:
            wait_until(
                lambda: any((one.path / "jobs.sock").exists() for one in list_runs(tmp_path / "runs")),
                timeout_s=120,
                reason="the load",
            )
            time.sleep(2)  # some load before the run is broken; nothing is waited for
            run_commands(by_hand.text, tmp_path, (PASSED,))
        finally:
            going.send_signal(signal.SIGINT)
            going.wait(120)
    [found] = list_runs(tmp_path / "runs")
    events = list(found.read_events())
    [killed] = [event for event in events if event["event"] == "fault-applied"]
    assert (killed["do"], killed["on"]) == ("kill", ["broker-h2"])
    [stopped] = [event for event in events if event["event"] == "job-stopped"]
    assert stopped["component"] == "billing"


def test_the_faults_of_the_page_happen_in_the_experiment_that_it_speaks_of(tmp_path: Path) -> None:
    pages = [one for one in snippets_of("break-it") if one.language == "yaml"]
    network, roles, expected = (read_documents(one.text, one.id)[0][0].data for one in pages)
    for number, part in enumerate((network, roles | expected)):
        overrides: dict[str, Any] = {"faults": part["faults"], "expect": part.get("expect", ["lost == 0"])}
        result = run(EXAMPLES / BROKEN, overrides=overrides, out=tmp_path / f"run{number}", report=False)
        assert result.error is None
        assert [one.outcome for one in result.judged if one.text == "lost == 0"] == ["pass"]
        happened = {event["fault"] for event in events_of(tmp_path / f"run{number}", "fault-applied")}
        assert happened == {fault["name"] for fault in part["faults"]}
        assert not events_of(tmp_path / f"run{number}", "fault-failed")


def events_of(path: Path, kind: str) -> list[dict[str, object]]:
    return [event for event in RunFolder.open(path).read_events() if event["event"] == kind]
