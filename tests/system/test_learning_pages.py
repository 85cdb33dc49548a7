"""The pages for learners, done as they are written: their commands run, in order, in one folder."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

import pytest

from stream2gym.record.folder import list_runs
from stream2gym.wait import wait_until
from tests.support.manual import DOCS, Snippet, find_commands, read_snippets
from tests.support.users import myself

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
# A busy machine leaves figures undecided; nothing may fail.
PASSED, UNKNOWN = 0, 3


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
            time.sleep(2)
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
