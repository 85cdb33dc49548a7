"""Which database server a store runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stream2gym.errors import CannotHere
from stream2gym.software import database_server
from stream2gym.software.cache import Cache
from stream2gym.software.database_server import DatabaseServer, find_database_server, with_template
from stream2gym.software.document_server import find_document_server


def program(path: Path, says: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose PATH is one empty folder."""
    folder = tmp_path / "sbin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(database_server, "_ALSO_IN", ())
    monkeypatch.setattr(database_server, "_NAMES", ("s2g-test-mariadbd", "s2g-test-mysqld"))
    return folder


def test_a_machine_without_a_server_says_what_to_install(bare_machine: Path) -> None:
    with pytest.raises(CannotHere, match="no mariadbd and no mysqld") as told:
        find_database_server("system")
    assert "leave 'server' out" in told.value.remedy


def test_a_path_that_is_no_program_is_named(bare_machine: Path) -> None:
    with pytest.raises(CannotHere, match="/nowhere/mysqld is no program"):
        find_database_server("/nowhere/mysqld")


def test_mysql_makes_its_data_folder_itself(bare_machine: Path) -> None:
    found = program(bare_machine / "s2g-test-mysqld", "mysqld  Ver 8.4.2 for Linux on x86_64 (MySQL)")
    server = find_database_server("system")
    assert server.install("/d") == [str(found), "--no-defaults", "--datadir=/d", "--initialize-insecure"]
    assert server.serve("/d") == [str(found), "--no-defaults", "--datadir=/d"]


def test_mariadb_comes_before_mysql_and_brings_its_installer(bare_machine: Path) -> None:
    program(bare_machine / "s2g-test-mysqld", "mysqld Ver 8")
    program(bare_machine / "s2g-test-mariadbd", "Ver 10.11.6-MariaDB")
    installer = program(bare_machine.parent / "bin" / "mariadb-install-db", "")
    assert find_database_server("system").install("/d")[0] == str(installer)


def test_a_mariadb_without_its_installer_is_refused(bare_machine: Path, tmp_path: Path) -> None:
    named = program(tmp_path / "elsewhere" / "bin" / "mariadbd", "Ver 10.11.6-MariaDB")
    with pytest.raises(CannotHere, match="no mariadb-install-db"):
        find_database_server(str(named))


def test_a_server_that_does_not_answer_is_named(bare_machine: Path, tmp_path: Path) -> None:
    broken = program(tmp_path / "mysqld", "no")
    broken.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(CannotHere, match="does not say its version"):
        find_database_server(str(broken))


def test_an_empty_data_folder_is_made_once_and_kept(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    installer = tmp_path / "install"
    installer.write_text(
        f"#!/bin/sh\necho made >> {calls}\n"
        'for word do case "$word" in --datadir=*) mkdir -p "${word#*=}/mysql";; esac; done\n'
    )
    installer.chmod(0o755)
    server = DatabaseServer(str(program(tmp_path / "mariadbd", "")), str(installer), "Ver 10.11-MariaDB")
    made = [with_template(server, cache=Cache(tmp_path / "cache")).template for _ in range(2)]
    assert made[0] == made[1]
    assert (Path(made[0]) / "mysql").is_dir()
    assert calls.read_text() == "made\n"


def test_a_data_folder_that_cannot_be_made_is_told_in_the_servers_words(tmp_path: Path) -> None:
    installer = program(tmp_path / "install", "no space for tables")
    installer.write_text(installer.read_text() + "exit 1\n")
    server = DatabaseServer(str(program(tmp_path / "mariadbd", "")), str(installer), "Ver 10.11-MariaDB")
    with pytest.raises(CannotHere, match="no space for tables"):
        with_template(server, cache=Cache(tmp_path / "cache"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_on_the_path_that_nobody_may_read_holds_no_server(
    bare_machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = program(bare_machine / "s2g-test-mysqld", "mysqld  Ver 8.4.2 for Linux on x86_64 (MySQL)")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    monkeypatch.setenv("PATH", f"{closed}{os.pathsep}{bare_machine}")
    try:
        assert find_database_server("system").server == str(found)
        assert document_server_is_missing()
    finally:
        closed.chmod(0o700)


def document_server_is_missing() -> bool:
    with pytest.raises(CannotHere, match="no mongod and no ferretdb"):
        find_document_server()
    return True
