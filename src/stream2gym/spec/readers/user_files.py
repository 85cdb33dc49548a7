"""Reads a user's file: only regular files, up to a size limit. Every refusal is one clear mistake."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from stream2gym.errors import BadInput, Mistake

MIB = 1024 * 1024
YAML_LIMIT = 5 * MIB
GRAPHML_LIMIT = 20 * MIB


def exists(path: Path) -> bool:
    """Whether the path exists. A path that the system does not accept does not exist."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether the path is a folder. A path that the system does not accept is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def read_bytes(path: Path, limit: int, shown: str) -> bytes:
    """The bytes of a regular file of at most ``limit`` bytes. ``shown`` is the path as messages show it."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise BadInput(Mistake("", "is a folder, not a file", file=shown))
        if not stat.S_ISREG(status.st_mode):
            raise BadInput(Mistake("", "is not a regular file", file=shown))
        if status.st_size > limit:
            size = f"is {status.st_size / MIB:.0f} MiB; {limit // MIB} MiB is the most that is read"
            raise BadInput(Mistake("", size, file=shown))
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise BadInput(Mistake("", "no such file", file=shown)) from None
    except (OSError, ValueError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise BadInput(Mistake("", f"cannot be read: {reason}", file=shown)) from None
    if len(data) > limit:
        raise BadInput(Mistake("", f"is longer than {limit // MIB} MiB", file=shown))
    return data


def decode(data: bytes, shown: str) -> str:
    """The bytes as UTF-8 text, with or without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(Mistake("", "is not UTF-8 text", "save it as UTF-8", file=shown, line=line)) from None


def shown_path(path: Path, cwd: Path) -> str:
    """The path relative to ``cwd`` if it is below it."""
    try:
        return str(path.relative_to(cwd))
    except ValueError:
        return str(path)
