"""Which document server a store of type MONGODB runs, and how."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream2gym.errors import CannotHere
from stream2gym.software.document_server import DocumentServer, find_document_server


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def program(path: Path, says: str) -> Path:
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def test_a_machine_without_a_server_says_what_to_install(path: Path) -> None:
    with pytest.raises(CannotHere, match="no mongod and no ferretdb") as told:
        find_document_server()
    assert "FerretDB 1" in told.value.remedy


def test_mongod_comes_first(path: Path) -> None:
    found = program(path / "mongod", "db version v8.0.4")
    program(path / "ferretdb", "version: v1.24.0")
    assert find_document_server() == DocumentServer(str(found))


def test_mongod_serves_a_folder_at_an_address_with_the_options_given() -> None:
    argv = DocumentServer("mongod").serve("/d", "10.0.0.3", 27017, {"port": "27018", "quiet": ""})
    assert " ".join(argv) == "mongod --nounixsocket --dbpath /d --bind_ip 10.0.0.3 --port 27018 --quiet"


def test_ferretdb_keeps_its_data_in_the_folder(path: Path) -> None:
    program(path / "ferretdb", "version: v1.24.0")
    argv = find_document_server().serve("/d", "10.0.0.3", 27017, {"log-level": "warn"})
    assert {"--listen-addr=10.0.0.3:27017", "--sqlite-url=file:/d/", "--log-level=warn"} < set(argv)


@pytest.mark.parametrize(("says", "told"), [("version: v2.1.0", "version 2"), ("hello", "does not say")])
def test_a_ferretdb_that_cannot_be_used_is_refused_with_the_reason(path: Path, says: str, told: str) -> None:
    program(path / "ferretdb", says)
    with pytest.raises(CannotHere, match=told):
        find_document_server()
