"""What the page draws, and the process that serves it beside a run."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stream2gym.own_python import own_python
from stream2gym.plan.make_plan import make_plan
from stream2gym.spec.model import Experiment
from stream2gym.wait import wait_until
from stream2gym.web.live_server import can_open_browser, link_lines, live_page
from stream2gym.web.run_picture import draw_picture, draw_pipeline
from stream2gym.web.serve import ServedPage
from tests.unit.web.web_runs import RunningRun, fake_folder

LINK = "http://127.0.0.1:4321/#token=abc"


def test_a_picture_has_every_host_and_link_inside_its_box() -> None:
    plan = make_plan(Experiment.model_validate({"topology": {"kind": "tree", "depth": 2, "fanout": 10}}))
    picture = draw_picture(plan)
    assert {node["name"] for node in picture["nodes"]} == {host.name for host in plan.network.hosts} | set(
        plan.network.switches
    )
    assert len(picture["links"]) == len(plan.network.links)
    left, top, width, height = picture["box"]
    assert all(left < node["x"] < left + width and top < node["y"] < top + height for node in picture["nodes"])


PIPELINE: dict[str, Any] = {
    "topology": {"hosts": ["h1"]},
    "brokers": [{"on": "h1"}],
    "topics": ["in", "out", "other"],
    "producers": [{"name": "gen", "on": "h1", "topic": "in"}],
    "engines": [{"name": "job", "on": "h1", "app": "job.py"}],
    "stores": [{"name": "db", "on": "h1"}],
    "sinks": [{"name": "move", "on": "h1", "topics": ["out"], "store": "db", "table": "t"}],
    "consumers": [{"name": "see", "on": "h1", "pattern": "o.*"}],
}


def test_a_pipeline_goes_from_producers_to_stores() -> None:
    experiment = Experiment.model_validate(PIPELINE)
    pipeline = draw_pipeline(make_plan(experiment), experiment.model_dump(by_alias=True))
    x = {node["id"]: node["x"] for node in pipeline["nodes"]}
    assert x["gen"] < x["topic in"] < x["job"] < x["topic out"] < x["move"] < x["db"]
    assert "broker-h1" not in x
    sure = {(a, b) for a, b, guessed in pipeline["edges"] if not guessed}
    assert {("gen", "topic in"), ("topic out", "move"), ("move", "db"), ("topic other", "see")} <= sure
    guessed = {(a, b) for a, b, is_guessed in pipeline["edges"] if is_guessed}
    assert guessed == {("topic in", "job"), ("job", "topic out"), ("job", "topic other")}


def test_a_trace_says_what_an_engine_reads_and_writes() -> None:
    experiment = Experiment.model_validate(PIPELINE | {"trace": [{"from": "in", "to": "out"}]})
    edges = draw_pipeline(make_plan(experiment), experiment.model_dump(by_alias=True))["edges"]
    assert ["topic in", "job", False] in edges
    assert ["job", "topic out", False] in edges
    assert not any(guessed for _, _, guessed in edges)


def test_over_ssh_the_command_for_forwarding_is_told_and_no_browser_is_opened() -> None:
    ssh = {"SSH_CONNECTION": "10.1.1.1 5000 10.2.2.2 22", "USER": "ann", "DISPLAY": ":0"}
    assert link_lines(LINK, ssh) == [
        f"page: {LINK}",
        "on your own computer first: ssh -N -L 4321:127.0.0.1:4321 ann@10.2.2.2",
    ]
    assert link_lines(LINK, {}) == [f"page: {LINK}"]
    assert not can_open_browser(ssh, "linux")
    assert not can_open_browser({}, "linux")
    assert can_open_browser({"DISPLAY": ":0"}, "linux")


def ask(link: str, path: str) -> Any:
    address, _, token = link.partition("#token=")
    request = urllib.request.Request(address + path, headers={"authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def test_the_page_of_a_running_run_is_served_while_it_runs_and_not_longer(tmp_path: Path) -> None:
    running = RunningRun(tmp_path / "run")
    told: list[str] = []
    with live_page(running.folder.path, told.append):
        deadline = time.monotonic() + 60
        while not told and time.monotonic() < deadline:
            time.sleep(0.05)
        link = told[0].removeprefix("page: ")
        running.send(1.0)
        while ask(link, "api/snapshot")["counts"]["sent"] != 1:
            assert time.monotonic() < deadline, "the message never showed up"
            time.sleep(0.1)
        assert ask(link, "api/run")["read_only"] is False
    running.close()
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        ask(link, "api/snapshot")


def test_the_server_ends_when_its_starter_is_gone(tmp_path: Path) -> None:
    folder = fake_folder(tmp_path / "run")
    process = subprocess.Popen(
        own_python("-m", "stream2gym.web.page_process", str(folder.path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    link = json.loads(process.stdout.readline())["link"]
    assert link.startswith("http://127.0.0.1:")
    process.stdin.close()
    assert process.wait(20) == 0
    process.stdout.close()


def is_answering(link: str) -> bool:
    try:
        ask(link, "api/snapshot")
    except (urllib.error.URLError, ConnectionError):
        return False
    return True


STARTER = """
import sys, time
from pathlib import Path
from stream2gym.web.live_server import live_page
with live_page(Path(sys.argv[1]), lambda text: print(text, flush=True)):
    time.sleep(600)
"""


def test_the_server_ends_when_the_command_is_killed(tmp_path: Path) -> None:
    folder = fake_folder(tmp_path / "run")
    process = subprocess.Popen(own_python("-c", STARTER, str(folder.path)), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    link = process.stdout.readline().removeprefix("page: ").strip()
    assert ask(link, "api/snapshot")["counts"]["sent"] == 100
    process.kill()
    process.wait()
    process.stdout.close()
    wait_until(lambda: not is_answering(link), timeout_s=20, reason="the end of the server")


def open_stream(page: ServedPage) -> socket.socket:
    stream = socket.create_connection(("127.0.0.1", page.port))
    words = f"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {page.token}\r\n\r\n"
    stream.sendall(words.encode())
    return stream


def read_until(stream: socket.socket, word: str) -> None:
    stream.settimeout(20)
    text = b""
    while word.encode() not in text:
        part = stream.recv(1 << 16)
        assert part, "the stream ended"
        text = text[-100:] + part


def test_ten_pages_and_one_that_never_reads_do_not_hold_each_other_up(tmp_path: Path) -> None:
    running = RunningRun(tmp_path / "run")
    page = ServedPage(running.folder)
    streams = [open_stream(page) for _ in range(11)]
    newest = "event-2999"
    try:
        with ThreadPoolExecutor(10) as pool:
            waiting = [pool.submit(read_until, stream, newest) for stream in streams[1:]]
            for number in range(3000):
                running.folder.events.add(f"event-{number}", note="x" * 200)
            for one in waiting:
                one.result(30)
        began = time.monotonic()
        assert ask(page.link, "api/snapshot")["live"] is True
        assert time.monotonic() - began < 5
    finally:
        for stream in streams:
            stream.close()
        page.close()
        running.close()


def test_the_command_shows_a_run_that_is_over_until_it_is_interrupted(tmp_path: Path) -> None:
    folder = fake_folder(tmp_path / "run")
    words = own_python("-m", "stream2gym", "watch", str(folder.path), "--no-browser", "--read-only")
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    link = process.stdout.readline().removeprefix("page: ").strip()
    assert ask(link, "api/run")["read_only"] is True
    assert ask(link, "api/snapshot?t=6.5")["leaders"]["in/0"]["leader"] == "broker-h2"
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=30)
    assert process.returncode == 130
    assert complaints == ""


def test_a_page_that_cannot_be_served_is_told_and_the_run_goes_on(tmp_path: Path) -> None:
    told: list[str] = []
    with live_page(tmp_path / "nothing", told.append):
        pass
    assert len(told) == 1
    assert told[0].startswith("the page cannot be shown: ")
