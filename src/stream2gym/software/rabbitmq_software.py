"""RabbitMQ as software on disk: installed on this machine, or unpacked into the cache.

Nothing is run here. A node needs two parts: the server, a folder with ``sbin/rabbitmq-server``, and Erlang, a folder
with ``erl``. Each is looked for in the cache (``rabbitmq_packages`` unpacks it there) and where packages install it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stream2gym.errors import CannotHere
from stream2gym.software.cache import Cache

FOLDER = "rabbitmq"  # in the cache
SETUP = "s2g setup --rabbitmq unpacks it without root, or install the packages rabbitmq-server and erlang"
_SERVER = "sbin/rabbitmq-server"
# Where packages put the server, as patterns below the root.
_SERVER_PLACES = ("usr/lib/rabbitmq/lib/rabbitmq_server-*", "usr/local/lib/rabbitmq_server-*", "opt/rabbitmq*")
_ERLANG_PLACES = ("usr/lib/erlang", "usr/lib64/erlang", "usr/local/lib/erlang", "opt/erlang*")
_VERSION = re.compile(r"rabbit-(\d+(?:\.\d+)+)")


@dataclass(frozen=True)
class RabbitMqSoftware:
    """A server and an Erlang that runs it."""

    version: str
    # The folder that has ``sbin``.
    home: Path
    # The folder that has ``bin/erl``.
    erlang: Path
    # Folders of libraries that came along with both.
    libraries: tuple[Path, ...] = ()

    @property
    def command(self) -> list[str]:
        return [str(self.home / _SERVER)]

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """What the start script needs to find Erlang, and Erlang its libraries."""
        found = {
            "PATH": os.pathsep.join([str(self.erlang / "bin"), inherited.get("PATH", os.defpath)]),
            "ERL_ROOTDIR": str(self.erlang),
        }
        if self.libraries:
            known = inherited.get("LD_LIBRARY_PATH", "")
            found["LD_LIBRARY_PATH"] = os.pathsep.join([*map(str, self.libraries), *([known] if known else [])])
        return found


def find_rabbitmq(cache: Cache | None = None, root: Path = Path("/")) -> RabbitMqSoftware:
    """The server and its Erlang: those of the cache before those of the system below ``root``.

    Raises CannotHere if one of them is missing.
    """
    unpacked = (cache or Cache.here()).path(FOLDER)
    home = _first(_find_servers(unpacked, root))
    if home is None:
        raise CannotHere("a broker of type rabbitmq needs RabbitMQ, which is not on this machine", SETUP)
    erlang = _first(_find_erlangs(unpacked, root))
    if erlang is None:
        raise CannotHere(f"RabbitMQ is in {home}, but there is no Erlang (erl) to run it", SETUP)
    return RabbitMqSoftware(_version_of(home), home, erlang, tuple(_find_libraries(unpacked)))


def _find_servers(unpacked: Path, root: Path) -> Iterable[Path]:
    for place in (unpacked, root):
        for pattern in _SERVER_PLACES:
            # The newest version first.
            for folder in sorted(place.glob(pattern), key=_numbers_in, reverse=True):
                if (folder / _SERVER).is_file():
                    yield folder
    on_path = shutil.which("rabbitmq-server") if root == Path("/") else None
    if on_path is not None:
        # A wrapper that wants root has no ``rabbitmq-env`` beside it.
        folder = Path(on_path).resolve().parent
        if folder.name == "sbin" and (folder / "rabbitmq-env").is_file():
            yield folder.parent


def _find_erlangs(unpacked: Path, root: Path) -> Iterable[Path]:
    for place in (unpacked, root):
        for pattern in _ERLANG_PLACES:
            for folder in sorted(place.glob(pattern), key=_numbers_in, reverse=True):
                if (folder / "bin" / "erl").is_file():
                    yield folder
    on_path = shutil.which("erl") if root == Path("/") else None
    if on_path is not None:
        yield Path(on_path).resolve().parent.parent


def _find_libraries(unpacked: Path) -> Iterable[Path]:
    for pattern in ("usr/lib/*-linux-gnu*", "lib/*-linux-gnu*"):
        for folder in sorted(unpacked.glob(pattern)):
            if any(folder.glob("*.so*")):
                yield folder


def _first(found: Iterable[Path]) -> Path | None:
    return next(iter(found), None)


def _numbers_in(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def _version_of(home: Path) -> str:
    """The version of a server, by the name of its main application."""
    found = [match[1] for path in home.glob("plugins/rabbit-*") if (match := _VERSION.match(path.name))]
    return found[0] if found else "unknown"
