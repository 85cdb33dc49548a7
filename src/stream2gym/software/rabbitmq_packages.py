"""Unpacks RabbitMQ and Erlang into the cache, without root: the packages that the package manager would install.

``apt-get`` names the packages that are missing on this machine and downloads them, and checks their sums against the
signed lists of the system. ``dpkg`` extracts their files. Nothing is installed. Erlang's start scripts, which contain
the path of the installed Erlang, are made to follow ``ERL_ROOTDIR``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stream2gym.errors import CannotHere
from stream2gym.software.cache import Cache
from stream2gym.software.fetch import Progress, silent
from stream2gym.software.rabbitmq_software import FOLDER, RabbitMqSoftware, find_rabbitmq

PACKAGE = "rabbitmq-server"
LIST_S = 120.0
DOWNLOAD_S = 900.0
UNPACK_S = 120.0
# Files need about this many times the room of the packages.
UNPACKED_FACTOR = 4
BY_HAND = "install the packages rabbitmq-server and erlang with the package manager of this system"
_URI_LINE = re.compile(r"'[^']*' (?P<name>[a-z0-9][a-z0-9+.-]*)_[^ ]* (?P<size>\d+)")
_INSTALLED_ERLANG = "ROOTDIR=/usr/lib/erlang"
_ANY_ERLANG = 'ROOTDIR="${ERL_ROOTDIR:-/usr/lib/erlang}"'


@dataclass(frozen=True)
class Package:
    """A package to download, and its bytes."""

    name: str
    size: int


def ensure_rabbitmq(progress: Progress = silent, *, cache: Cache | None = None) -> RabbitMqSoftware:
    """RabbitMQ and Erlang, unpacked into the cache if they are not on this machine yet."""
    cache = cache or Cache.here()
    with suppress(CannotHere):
        return find_rabbitmq(cache)
    with cache.lock(on_wait=lambda words: progress(words, 0, 0)):
        with suppress(CannotHere):
            return find_rabbitmq(cache)  # another process has unpacked it meanwhile
        packages = _list_packages()
        total = sum(package.size for package in packages)
        progress("fetching RabbitMQ and Erlang", 0, total)
        with cache.scratch() as scratch, cache.disk(total * (1 + UNPACKED_FACTOR)):
            _download(packages, scratch)
            progress("fetching RabbitMQ and Erlang", total, total)
            unpacked = _unpack(scratch, scratch / "root")
            # A server may be there that was unpacked without Erlang, when Erlang was installed.
            shutil.rmtree(cache.path(FOLDER), ignore_errors=True)
            unpacked.replace(cache.path(FOLDER))
    return find_rabbitmq(cache)


def parse_packages(said: str) -> list[Package]:
    """The packages in the answer of ``apt-get --print-uris``: lines of address, file name, bytes and checksum."""
    found = (_URI_LINE.match(line) for line in said.splitlines())
    return [Package(match["name"], int(match["size"])) for match in found if match]


def free_start_script(text: str) -> str:
    """A start script of Erlang that follows ``ERL_ROOTDIR``."""
    return text.replace(_INSTALLED_ERLANG, _ANY_ERLANG)


def _list_packages() -> list[Package]:
    missing = [program for program in ("apt-get", "dpkg") if shutil.which(program) is None]
    if missing:
        raise CannotHere(f"RabbitMQ cannot be unpacked here: there is no {' and no '.join(missing)}", BY_HAND)
    command = [
        "apt-get", "--print-uris", "-qq", "-o", "Debug::NoLocking=1", "install", "--no-install-recommends", PACKAGE,
    ]  # fmt: skip
    packages = parse_packages(_run(command, LIST_S, "be found"))
    if not packages:
        raise CannotHere("the package manager names no packages to unpack RabbitMQ from", BY_HAND)
    return packages


def _download(packages: Sequence[Package], folder: Path) -> None:
    names = [package.name for package in packages]
    _run(["apt-get", "-qq", "download", *names], DOWNLOAD_S, "be downloaded", folder)


def _unpack(downloads: Path, root: Path) -> Path:
    for package in sorted(downloads.glob("*.deb")):
        _run(["dpkg", "-x", str(package), str(root)], UNPACK_S, "be unpacked")
    for script in (*root.glob("usr/lib/erlang/bin/erl"), *root.glob("usr/lib/erlang/erts-*/bin/erl")):
        script.write_text(free_start_script(script.read_text("utf-8")), "utf-8")
    return root


def _run(command: Sequence[str], timeout_s: float, what: str, folder: Path | None = None) -> str:
    """The output of a program of the package manager. CannotHere has its words if it fails."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=True,
            stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise CannotHere(f"RabbitMQ's packages could not {what} within {timeout_s:g} s", BY_HAND) from error
    except (OSError, subprocess.CalledProcessError) as error:
        words = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        remedy = f"apt-get update makes its lists new; or {BY_HAND}"
        raise CannotHere(f"RabbitMQ's packages could not {what}: {' '.join(words[-2:])}", remedy) from error
    return done.stdout
