"""Folders as streams of bytes: how files of an experiment travel to a worker, and run folders back from it.

A stream is a tar archive in pieces of at most ``PIECE``, so that neither end holds more than a few pieces in memory.
Only ordinary files and folders are sent, because a link would point to nothing on the other machine. What arrives is
written below one folder, whatever the names in the archive say.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tarfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from stream2gym.errors import Defect

PIECE = 1024 * 1024


def list_folder(folder: Path) -> dict[str, Path]:
    """The ordinary files and all folders below a folder, by their names relative to it."""
    found: dict[str, Path] = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                found[str(path.relative_to(folder))] = path
    return found


def pack(files: Mapping[str, Path]) -> Iterator[bytes]:
    """The files and folders, by the names that they are to have, as a stream. Of a link its target is sent."""
    read, write = os.pipe()
    problem: list[BaseException] = []

    def fill() -> None:
        try:
            with os.fdopen(write, "wb") as pipe, _open_archive(pipe) as archive:
                for name, path in files.items():
                    archive.add(path, name, recursive=False)
        except BrokenPipeError:
            pass  # whoever wanted it has enough
        except BaseException as error:
            problem.append(error)

    thread = threading.Thread(target=fill, name="s2g-pack", daemon=True)
    with os.fdopen(read, "rb") as pipe:
        thread.start()
        while piece := pipe.read(PIECE):
            yield piece
    thread.join()
    if problem:
        raise problem[0]


def _open_archive(pipe: BinaryIO) -> tarfile.TarFile:
    return tarfile.open(fileobj=pipe, mode="w|", dereference=True)


def unpack(pieces: Iterable[bytes], folder: Path) -> None:
    """Write a stream into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=cast("BinaryIO", _PieceReader(pieces)), mode="r|") as archive:
        for member in archive:
            name = PurePosixPath(member.name)
            if name.is_absolute() or ".." in name.parts:
                raise Defect(f"a file was sent that does not belong here: {member.name}")
            path = folder / name
            if member.isdir():
                path.mkdir(parents=True, exist_ok=True)
            elif member.isfile():
                path.parent.mkdir(parents=True, exist_ok=True)
                content = archive.extractfile(member)
                assert content is not None, "an ordinary file has content"
                with path.open("xb") as file:
                    shutil.copyfileobj(content, file)
                path.chmod(member.mode & 0o777)
                os.utime(path, (member.mtime, member.mtime))


def receive(pieces: Iterable[bytes], folder: Path) -> None:
    """Write a stream into a folder that appears under its name when it is complete."""
    arriving = folder.with_name(f".{folder.name}.arriving")
    shutil.rmtree(arriving, ignore_errors=True)
    try:
        unpack(pieces, arriving)
        os.replace(arriving, folder)
    except BaseException:
        with contextlib.suppress(OSError):
            shutil.rmtree(arriving)
        raise


class _PieceReader:
    """The pieces as a file that can only be read forwards."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = b""

    def read(self, size: int) -> bytes:
        parts, missing = [], size
        while missing:
            self._rest = self._rest or next(self._pieces, b"")
            if not self._rest:
                break
            part, self._rest = self._rest[:missing], self._rest[missing:]
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)
