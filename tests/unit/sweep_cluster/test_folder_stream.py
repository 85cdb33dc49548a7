"""Files travel to workers and run folders back: whole, bounded in memory, and never outside of their folder."""

from __future__ import annotations

import io
import os
import socket
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream2gym.errors import Defect
from stream2gym.sweep_cluster.folder_stream import PIECE, list_folder, pack, receive, unpack


def make_folder(folder: Path) -> Path:
    (folder / "data" / "empty").mkdir(parents=True)
    (folder / "data" / "sent.parquet").write_bytes(os.urandom(3 * PIECE + 17))
    (folder / "run.json").write_text("{}")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    return folder


def test_a_folder_arrives_as_it_was_sent(tmp_path: Path) -> None:
    sent = make_folder(tmp_path / "sent")
    receive(pack(list_folder(sent)), tmp_path / "got")
    got = tmp_path / "got"
    assert (got / "data" / "sent.parquet").read_bytes() == (sent / "data" / "sent.parquet").read_bytes()
    assert (got / "data" / "empty").is_dir()
    assert (got / "run.sh").stat().st_mode & 0o777 == 0o755
    assert sorted(list_folder(got)) == sorted(list_folder(sent))


def test_pieces_are_bounded_whatever_the_size_of_a_file(tmp_path: Path) -> None:
    sizes = [len(piece) for piece in pack(list_folder(make_folder(tmp_path / "sent")))]
    assert len(sizes) == 4
    assert max(sizes) == PIECE


def test_links_and_sockets_are_not_sent(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "sent")
    (folder / "link").symlink_to("/etc/passwd")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(folder / "socket"))
        assert not {"link", "socket"} & list_folder(folder).keys()


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil"])
def test_a_name_that_leads_outside_is_refused_and_nothing_stays(tmp_path: Path, name: str) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    with pytest.raises(Defect, match="does not belong here"):
        receive([archive.getvalue()], tmp_path / "in" / "got")
    assert not (tmp_path / "evil").exists()
    assert list((tmp_path / "in").iterdir()) == []


def test_a_link_in_an_archive_is_never_made(tmp_path: Path) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        link = tarfile.TarInfo("link")
        link.type = tarfile.SYMTYPE
        link.linkname = "/etc"
        tar.addfile(link)
    unpack([archive.getvalue()], tmp_path / "got")
    assert list((tmp_path / "got").iterdir()) == []


def test_a_stream_that_breaks_off_leaves_no_folder(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield next(pack(list_folder(make_folder(tmp_path / "sent"))))
        raise OSError("the executor was lost")

    (tmp_path / "in").mkdir()
    with pytest.raises(OSError, match="was lost"):
        receive(broken(), tmp_path / "in" / "got")
    assert list((tmp_path / "in").iterdir()) == []


def test_a_stream_that_ends_too_early_leaves_no_folder(tmp_path: Path) -> None:
    pieces = list(pack(list_folder(make_folder(tmp_path / "sent"))))
    (tmp_path / "in").mkdir()
    with pytest.raises(Exception, match="unexpected end of data"):
        receive(pieces[:2], tmp_path / "in" / "got")
    assert list((tmp_path / "in").iterdir()) == []
