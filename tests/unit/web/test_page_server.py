"""Who may ask the page's server, and what it never does."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from stream2gym.errors import BadInput
from stream2gym.web.app import STATIC, PageServer, make_app
from stream2gym.web.hand_faults import check_fault_request
from stream2gym.web.log_ends import list_logs, read_log_end
from stream2gym.web.request_guard import check_request, host_name, new_token
from stream2gym.web.run_watch import RunWatch
from tests.unit.web.web_runs import EXPERIMENT, fake_folder

TOKEN = "right-token"
BASE = "http://127.0.0.1:8000"
SCRIPT = "<script>alert(1)</script>"
GOOD = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    consumers = [*EXPERIMENT["consumers"], {"name": SCRIPT, "on": "h2", "topics": ["in"]}]
    found = fake_folder(tmp_path_factory.mktemp("runs") / "fake", consumers=consumers)
    found.log_path("h1", "gen").write_text(f"one\n{SCRIPT}\n", "utf-8")
    (found.path.parent / "secret.log").write_text("secret", "utf-8")
    os.symlink(found.path.parent / "secret.log", found.logs / "h1.link.log")
    return found.path


@pytest.fixture(scope="module")
def watch(folder: Path) -> Iterator[RunWatch]:
    from stream2gym.record.folder import RunFolder

    watch = RunWatch(RunFolder.open(folder))
    yield watch
    watch.close()


def client_of(watch: RunWatch, *, read_only: bool = False) -> TestClient:
    return TestClient(make_app(PageServer(watch, read_only=read_only), TOKEN), base_url=BASE)


@pytest.fixture(scope="module")
def client(watch: RunWatch) -> Iterator[TestClient]:
    with client_of(watch) as client:
        yield client


ABOUT_THE_RUN = [
    "run",
    "snapshot",
    "timelines",
    "events",
    "series?object=gen",
    "logs",
    "log?name=h1.gen.log",
    "stream",
]


@pytest.mark.parametrize("path", [*(f"/api/{path}" for path in ABOUT_THE_RUN), "/metrics"])
def test_nothing_about_a_run_is_told_without_the_token(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 401
    assert client.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
    assert client.get(f"{path}{'&' if '?' in path else '?'}token={TOKEN}").status_code == 401, "never in an address"
    assert client.get(path, headers=GOOD).status_code == 200


@pytest.mark.parametrize("path", ["/", "/static/page.js", "/api/snapshot"])
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8000", "0.0.0.0", "localhost.evil", ""])
def test_a_name_other_than_loopback_is_refused(client: TestClient, path: str, host: str) -> None:
    assert client.get(path, headers={**GOOD, "host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:1234", "localhost:8000", "localhost", "LOCALHOST:1", "[::1]:80"])
def test_names_of_loopback_are_answered_at_any_port(client: TestClient, host: str) -> None:
    assert client.get("/api/snapshot", headers={**GOOD, "host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1:8000", "http://127.0.0.1:9999", "http://localhost:8000"],
)
def test_another_origin_is_refused(client: TestClient, origin: str) -> None:
    assert client.get("/api/snapshot", headers={**GOOD, "origin": origin}).status_code == 403
    answer = client.post("/api/faults", headers={**GOOD, "origin": origin}, json={"do": "list"})
    assert answer.status_code == 403


def test_another_site_is_refused(client: TestClient) -> None:
    for site in ("cross-site", "same-site"):
        assert client.get("/api/snapshot", headers={**GOOD, "sec-fetch-site": site}).status_code == 403


def test_a_change_must_say_where_it_comes_from(client: TestClient) -> None:
    assert client.post("/api/faults", headers=GOOD, json={"do": "list"}).status_code == 403
    same = {**GOOD, "origin": BASE}
    answer = client.post("/api/faults", headers=same, json={"do": "list"})
    assert answer.status_code == 400, "the run is over and says so"
    assert "takes no faults now" in answer.json()["mistakes"][0]["what"]
    assert client.post("/api/faults", headers={"origin": BASE}, json={"do": "list"}).status_code == 401


def test_a_read_only_page_changes_nothing(watch: RunWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream2gym.web.app.send_fault_request", lambda *_: pytest.fail("it was sent"))
    with client_of(watch, read_only=True) as client:
        answer = client.post("/api/faults", headers={**GOOD, "origin": BASE}, json={"do": "list"})
        assert answer.status_code == 403
        assert "--read-only" in answer.text
        assert client.get("/api/run", headers=GOOD).json()["read_only"] is True


def test_what_a_run_refuses_is_told(watch: RunWatch) -> None:
    with client_of(watch) as client:
        same = {**GOOD, "origin": BASE}
        assert client.post("/api/faults", headers=same, content=b"{").status_code == 400
        assert client.post("/api/faults", headers=same, content=b"x" * 100_000).status_code == 413


@pytest.mark.parametrize(
    "name", ["../secret.log", "..%2fsecret.log", "/etc/passwd", "h1.link.log", "", "h1.gen", "."]
)
def test_no_path_outside_of_the_logs_is_read(client: TestClient, name: str) -> None:
    answer = client.get("/api/log", params={"name": name}, headers=GOOD)
    assert answer.status_code == 404
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/", "/x"]
)
def test_no_path_outside_of_the_page_is_read(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "import" not in answer.text


def test_a_link_in_the_logs_is_not_followed(folder: Path) -> None:
    from stream2gym.record.folder import RunFolder

    run = RunFolder.open(folder)
    assert [log["name"] for log in list_logs(run)] == ["h1.gen.log"]
    assert read_log_end(run, "h1.gen.log") == ["one", SCRIPT]


def test_a_name_that_is_markup_stays_a_text(client: TestClient) -> None:
    answer = client.get("/api/run", headers=GOOD)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert SCRIPT in {part["name"] for part in answer.json()["topology"]["components"]}
    assert SCRIPT in client.get("/api/log", params={"name": "h1.gen.log"}, headers=GOOD).json()


def test_every_answer_has_a_strict_policy(client: TestClient) -> None:
    for path in ("/", "/static/page.js", "/api/snapshot", "/nothing"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy


def test_the_page_has_no_script_of_its_own_and_makes_no_markup_of_texts() -> None:
    page = (STATIC / "index.html").read_text("utf-8")
    assert re.findall(r"<script[^>]*>", page) == ['<script type="module" src="/static/page.js">']
    assert not re.search(r"\son\w+=|style=|https?://|javascript:", page)
    for script in STATIC.glob("*.js"):
        text = script.read_text("utf-8")
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "http:/",
        ):
            if (script.name, word) != ("dom.js", "http:/"):  # the name of SVG's elements
                assert word not in text, f"{word} in {script.name}"


def test_everything_the_page_asks_for_is_shipped(client: TestClient) -> None:
    page = (STATIC / "index.html").read_text("utf-8")
    asked = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page))
    for script in STATIC.glob("*.js"):
        asked |= {f"/static/{name}" for name in re.findall(r'from "\./([^"]+)"', script.read_text("utf-8"))}
    assert len(asked) >= 8
    assert {path: client.get(path).status_code for path in asked} == dict.fromkeys(asked, 200)


def test_a_stream_of_a_run_that_is_over_is_one_frame(client: TestClient) -> None:
    text = client.get("/api/stream", headers=GOOD).text
    frames = [json.loads(part.removeprefix("data: ")) for part in text.split("\n\n") if part]
    assert len(frames) == 1
    assert frames[0]["last"] is True
    assert frames[0]["snapshot"]["counts"]["sent"] == 100
    assert frames[0]["events"]["rows"][0]["event"] == "phase"


def test_a_moment_is_asked_for_by_seconds_and_nonsense_is_now(client: TestClient) -> None:
    leader = [
        client.get("/api/snapshot", params={"t": t}, headers=GOOD).json()["leaders"]["in/0"]["leader"]
        for t in ("5.9", "6.1", "nonsense", "nan", "1e400")
    ]
    assert leader == ["broker-h1", "broker-h2", "broker-h2", "broker-h2", "broker-h2"]


def test_metrics_have_stable_names(client: TestClient) -> None:
    text = client.get("/metrics", headers=GOOD).text
    assert 's2g_messages_total{fate="sent"} 100' in text
    assert 's2g_link_up{link="h1 -- s1",direction="forward"} 1' in text
    assert 's2g_partition_leader_info{topic="in",partition="0",leader="broker-h2"} 1' in text
    for line in text.splitlines():
        assert re.fullmatch(r'(# (HELP|TYPE) .*|[a-z0-9_]+(\{([a-z]+="(\\.|[^"\\])*",?)+\})? \S+)', line), line


def test_tokens_are_long_and_different() -> None:
    assert len({new_token() for _ in range(50)}) == 50
    assert len(new_token()) >= 40


def test_the_name_of_a_host() -> None:
    assert host_name("localhost:80") == "localhost"
    assert host_name("[::1]:80") == "[::1]"
    assert host_name("localhost:evil") == "localhost:evil"
    assert check_request("GET", {"host": "localhost:evil"}, TOKEN, needs_token=False) is not None


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {"do": "rm"},
        {"do": "heal"},
        {"do": "apply"},
        {"do": "apply", "fault": {"on": ["h1"]}},
        {"do": "apply", "fault": {"do": "down", "on": "h1"}},
        {"do": "apply", "fault": {"do": "down", "on": [1]}},
        {"do": "apply", "fault": {"do": "down", "at": "0 s"}},
        {"do": "apply", "fault": {"do": "down", "settings": []}},
    ],
)
def test_a_request_for_a_fault_of_another_form_is_refused(body: object) -> None:
    with pytest.raises(BadInput):
        check_fault_request(body)


def test_a_fault_by_hand_has_the_same_name_as_one_of_the_command() -> None:
    request = check_fault_request({"do": "apply", "fault": {"do": "down", "on": ["h1 -- s1"], "for": "5 s"}})
    assert re.fullmatch(r"down-by-hand-\d+", request["fault"].pop("name"))
    assert request == {"do": "apply", "fault": {"do": "down", "on": ["h1 -- s1"], "settings": {}, "for": "5 s"}}
