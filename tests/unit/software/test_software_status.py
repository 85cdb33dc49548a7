import json
from pathlib import Path

import pytest

from stream2gym.cli.fetch_progress import fetch_progress
from stream2gym.cli.main import main
from stream2gym.cli.setup import new_bytes
from stream2gym.software.cache import Cache
from stream2gym.software.software_lists import SHIPPED
from stream2gym.software.status import SoftwareStatus, software_status


def test_an_empty_cache_says_what_is_missing_and_what_it_costs(tmp_path: Path) -> None:
    rows = {row.name: row for row in software_status(cache=Cache(tmp_path))}
    for name in SHIPPED:
        assert rows[name].state == "missing"
        assert rows[name].bytes > 1_000_000
        assert rows[name].remedy == ("" if SHIPPED[name].on_demand else "s2g setup")
    assert not list(tmp_path.iterdir()), "looking must not write"


def test_a_version_without_a_shipped_list_says_how_it_is_had(tmp_path: Path) -> None:
    rows = {row.name: row for row in software_status("3.9.1", cache=Cache(tmp_path))}
    assert rows["kafka-3.9.1"].remedy == "s2g setup --kafka 3.9.1"
    assert "recorded on first use" in rows["kafka-3.9.1"].detail


def test_setup_list_answers_machines_without_fetching(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("S2G_CACHE", str(tmp_path))
    assert main(["setup", "--list", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["cache"] == str(tmp_path)
    assert set(SHIPPED) <= {row["name"] for row in answer["software"]}
    assert not list(tmp_path.iterdir())


def test_setup_refuses_an_old_kafka_with_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["setup", "--kafka", "2.8.0"]) == 2
    assert "3.9 or later" in capsys.readouterr().err


def test_what_setup_brought_is_what_was_missing() -> None:
    before = [
        SoftwareStatus("kept", "there", "", bytes=100),
        SoftwareStatus("half", "missing", "", bytes=30),
        SoftwareStatus("unknown", "missing", ""),
    ]
    after = [SoftwareStatus(name, "there", "", bytes=100) for name in ("kept", "half", "unknown")]
    assert new_bytes(before, after) == 130


def test_progress_without_a_terminal_is_one_line_a_step(capsys: pytest.CaptureFixture[str]) -> None:
    with fetch_progress() as progress:
        progress("fetching x", 1, 5_000_000)
        progress("fetching x", 5_000_000, 5_000_000)
        progress("waiting [for] y", 0, 0)
    assert capsys.readouterr().err == "fetching x (5 MB)\nwaiting [for] y\n"
