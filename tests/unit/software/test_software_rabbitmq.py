"""Which RabbitMQ and which Erlang a broker runs, and how they are unpacked without root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stream2gym.errors import CannotHere
from stream2gym.software import rabbitmq_packages
from stream2gym.software.cache import Cache
from stream2gym.software.rabbitmq_packages import Package, ensure_rabbitmq, free_start_script, parse_packages
from stream2gym.software.rabbitmq_software import find_rabbitmq
from stream2gym.software.status import software_status


def put_server(root: Path, version: str = "3.10.8") -> Path:
    home = root / f"usr/lib/rabbitmq/lib/rabbitmq_server-{version}"
    (home / "sbin").mkdir(parents=True)
    (home / "sbin/rabbitmq-server").touch()
    (home / f"plugins/rabbit-{version}").mkdir(parents=True)
    return home


def put_erlang(root: Path) -> Path:
    erlang = root / "usr/lib/erlang"
    (erlang / "bin").mkdir(parents=True)
    (erlang / "bin/erl").touch()
    return erlang


def test_a_machine_without_rabbitmq_says_how_it_is_had(tmp_path: Path) -> None:
    with pytest.raises(CannotHere, match="needs RabbitMQ") as told:
        find_rabbitmq(Cache(tmp_path / "cache"), tmp_path)
    assert "s2g setup --rabbitmq" in told.value.remedy


def test_rabbitmq_without_erlang_says_what_is_missing(tmp_path: Path) -> None:
    home = put_server(tmp_path)
    with pytest.raises(CannotHere, match=r"no Erlang \(erl\)") as told:
        find_rabbitmq(Cache(tmp_path / "cache"), tmp_path)
    assert str(home) in told.value.what
    assert "erlang" in told.value.remedy


def test_what_was_unpacked_comes_before_what_is_installed(tmp_path: Path) -> None:
    put_server(tmp_path, "3.13.1")
    installed = put_erlang(tmp_path)
    cache = Cache(tmp_path / "cache")
    assert find_rabbitmq(cache, tmp_path).version == "3.13.1"
    put_server(cache.path("rabbitmq"))
    found = find_rabbitmq(cache, tmp_path)
    assert found.version == "3.10.8"
    assert found.erlang == installed, "an installed Erlang runs an unpacked server"
    own = put_erlang(cache.path("rabbitmq"))
    assert find_rabbitmq(cache, tmp_path).erlang == own


def test_the_newest_of_several_versions_is_found(tmp_path: Path) -> None:
    put_server(tmp_path, "3.9.13")
    put_server(tmp_path, "3.10.8")
    put_erlang(tmp_path)
    assert find_rabbitmq(Cache(tmp_path / "cache"), tmp_path).version == "3.10.8"


def test_the_start_script_finds_erlang_and_its_libraries(tmp_path: Path) -> None:
    unpacked = Cache(tmp_path).path("rabbitmq")
    put_server(unpacked)
    erlang = put_erlang(unpacked)
    libraries = unpacked / "usr/lib/x86_64-linux-gnu"
    libraries.mkdir(parents=True)
    (libraries / "libwrap.so.0").touch()
    found = find_rabbitmq(Cache(tmp_path), tmp_path / "nothing")
    environment = found.environment({"PATH": "/usr/bin", "LD_LIBRARY_PATH": "/mine"})
    assert environment == {
        "PATH": f"{erlang}/bin{os.pathsep}/usr/bin",
        "ERL_ROOTDIR": str(erlang),
        "LD_LIBRARY_PATH": f"{libraries}{os.pathsep}/mine",
    }


def test_the_package_manager_tells_what_is_missing_on_this_machine() -> None:
    said = (
        "'http://a/erlang-base_25.2.3%2bdfsg-1_amd64.deb' erlang-base_1%3a25.2.3+dfsg-1_amd64.deb 9697280 MD5Sum:3\n"
        "a line of another kind\n"
        "'http://a/r/rabbitmq-server_3.10.8_all.deb' rabbitmq-server_3.10.8-1.1_all.deb 14930220 SHA256:9\n"
    )
    assert parse_packages(said) == [Package("erlang-base", 9697280), Package("rabbitmq-server", 14930220)]


def test_a_start_script_of_erlang_follows_the_folder_that_it_was_unpacked_to() -> None:
    script = 'if [ -z "$ERL_ROOTDIR" ]\nthen\n    ROOTDIR=/usr/lib/erlang\nfi\nBINDIR="$ROOTDIR/erts-13.1.5/bin"\n'
    assert '    ROOTDIR="${ERL_ROOTDIR:-/usr/lib/erlang}"\n' in free_start_script(script)
    assert 'BINDIR="$ROOTDIR/erts-13.1.5/bin"' in free_start_script(script)


def nothing_found(*_: object) -> None:
    raise CannotHere("nothing", "")


def test_without_a_package_manager_it_must_be_installed_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq_packages, "find_rabbitmq", nothing_found)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotHere, match="no apt-get and no dpkg") as told:
        ensure_rabbitmq(cache=Cache(tmp_path))
    assert "package manager of this system" in told.value.remedy


def test_a_package_manager_that_fails_is_told_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq_packages, "find_rabbitmq", nothing_found)
    for name in ("apt-get", "dpkg"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho 'E: Unable to locate package rabbitmq-server' >&2\nexit 100\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    with pytest.raises(CannotHere, match="Unable to locate package rabbitmq-server") as told:
        ensure_rabbitmq(cache=Cache(tmp_path / "cache"))
    assert "apt-get update" in told.value.remedy
    assert not (tmp_path / "cache/rabbitmq").exists()


def test_a_server_whose_erlang_has_vanished_is_unpacked_anew_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path / "cache")
    put_server(cache.path("rabbitmq"))
    monkeypatch.setattr(rabbitmq_packages, "find_rabbitmq", lambda cache: find_rabbitmq(cache, tmp_path / "nothing"))
    monkeypatch.setattr(rabbitmq_packages, "_list_packages", lambda: [Package("rabbitmq-server", 1)])
    monkeypatch.setattr(rabbitmq_packages, "_download", lambda packages, folder: None)

    def unpack(downloads: Path, root: Path) -> Path:
        put_server(root, "3.10.9")
        put_erlang(root)
        return root

    monkeypatch.setattr(rabbitmq_packages, "_unpack", unpack)
    found = ensure_rabbitmq(cache=cache)
    assert (found.version, found.erlang) == ("3.10.9", cache.path("rabbitmq") / "usr/lib/erlang")


def test_the_status_of_software_tells_whether_rabbitmq_is_there(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    put_server(cache.path("rabbitmq"))
    put_erlang(cache.path("rabbitmq"))
    row = next(row for row in software_status(cache=cache) if row.name == "rabbitmq")
    assert row.state == "there"
    assert row.detail.startswith("3.10.8 in ")
