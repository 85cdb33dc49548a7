"""Jobs that are submitted, moved and stopped while somebody watches the page of the run, and in its replay."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stream2gym.record.folder import RunFolder
from stream2gym.wait import wait_until
from stream2gym.web.serve import ServedPage
from tests.support.browser import open_browser
from tests.support.users import myself
from tests.system.conftest import Running, Starter

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

EXPERIMENT = """\
s2g: 1
name: joined
topology: {kind: star, hosts: 4, latency: 2 ms}
brokers: [{on: h1}]
topics: [{name: t, partitions: 2}]
producers: [{name: gen, on: h2, topic: t, rate: 50/s, size: 20 B, acks: all}]
consumers: [{name: see, on: h2, topics: [t], group: seen}]
time: 300 s
drain: 5 s
"""
MORE = """\
s2g: 1
consumers: [{name: late, on: h3, topics: [t], group: late, from: earliest}]
"""
LINK = re.compile(r"page: (http://127\.0\.0\.1:\d+/#token=\S+)")
SEEN_MS = 20_000


def test_jobs_by_hand_are_listed_with_health_and_host_live_and_in_the_replay(tmp_path: Path) -> None:
    starter = Starter(tmp_path, myself())
    (tmp_path / "more.yaml").write_text(MORE)
    running = starter.start(starter.write(EXPERIMENT), "--live", "--no-report", out="joined")
    try:
        running.wait_for("page: ", 90)
        link = next(found[1] for line in running.lines if (found := LINK.search(line)))
        with open_browser() as browser:
            page = browser.new_page(viewport={"width": 1300, "height": 1000})
            complaints: list[str] = []
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.goto(link)
            page.wait_for_selector(".node.host", timeout=SEEN_MS)
            wait_until(
                lambda: (running.path / "jobs.sock").exists() or running.process.poll() is not None,
                timeout_s=120,
                reason="the load",
            )
            submit_move_and_stop(running, page)
            assert complaints == []
            page.close()
            running.interrupt()
            running.end(120)
            replay(running, browser.new_page(viewport={"width": 400, "height": 900}))
    finally:
        starter.close()


def submit_move_and_stop(running: Running, page: Page) -> None:
    assert page.locator("#jobs-card").is_hidden()
    ask(running, "submit", "more.yaml")
    wait_for_words(page, "late", "consumer on h3: ready", "submitted at")
    wait_for_card(page, "h3", "late")
    ask(running, "move", "late", "h4")
    wait_for_words(page, "late", "consumer on h4: r", "moved from h3 to h4 at")
    wait_for_card(page, "h4", "late")
    assert "late" not in words_of_card(page, "h3")
    ask(running, "stop", "see")
    wait_for_words(page, "see", "consumer on h2: stopped by hand", "stopped at")
    page.locator("#jobs [data-job=late] button").click()
    page.wait_for_selector("#details-card .facts", timeout=SEEN_MS)
    assert page.locator("#details .facts").inner_text().split("\n")[:4] == ["consumer", "STANDARD", "host", "h4"]


def replay(running: Running, page: Page) -> None:
    """The job is there from when it joined, on the host where it was then; on a phone, too."""
    folder = RunFolder.open(running.path)
    moments = {str(event["event"]): float(event["t_s"]) for event in folder.read_events()}
    served = ServedPage(folder)
    try:
        page.goto(served.link)
        page.wait_for_selector(".node.host", timeout=SEEN_MS)
        page.evaluate(f"location.hash = 't={moments['job-submitted'] - 0.2:.1f}'")
        page.wait_for_selector("#jobs-card", state="hidden", timeout=SEEN_MS)
        wait_for_card(page, "h3", "")
        page.evaluate(f"location.hash = 't={moments['job-moved'] - 0.1:.1f}'")
        wait_for_words(page, "late", "consumer on h3", "submitted at")
        wait_for_card(page, "h3", "late")
        page.evaluate(f"location.hash = 't={moments['job-stopped'] + 1:.1f}'")
        wait_for_words(page, "see", "stopped by hand", "stopped at")
        wait_for_card(page, "h4", "late")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
    finally:
        served.close()


def ask(running: Running, *words: str) -> None:
    done: subprocess.CompletedProcess[str] = myself().run(
        "job", str(running.path), *words, timeout=120, cwd=running.path.parent
    )
    assert done.returncode == 0, done.stdout + done.stderr


def wait_for_words(page: Page, job: str, *words: str) -> None:
    """Until the list of jobs has all these words about a job."""
    row = page.locator(f"#jobs [data-job={job}]")
    for text in words:
        row.filter(has_text=text).wait_for(timeout=SEEN_MS)


def words_of_card(page: Page, host: str) -> str:
    return str(page.locator(f".node.host[data-name={host}]").get_attribute("aria-label"))


def wait_for_card(page: Page, host: str, component: str) -> None:
    """Until the card of a host has a component; with none, until it is empty."""
    holds = f"words.includes('; {component} ')" if component else f"words === 'host {host}'"
    words = f"document.querySelector('.node.host[data-name={host}]')?.ariaLabel ?? ''"
    page.wait_for_function(f"(() => {{ const words = {words}; return {holds}; }})()", timeout=SEEN_MS)
