"""The cache of real software of one user. Every file in it is complete and verified.

``Cache.here()`` is ``$S2G_CACHE``, else ``stream2gym`` in the XDG cache folder of the user. ``adopt`` and ``write``
put a file into it: written beside, synced, renamed. A jar has a stamp beside it (its checksum, size and
modification time when it was verified), so that a start checks 46 jars without reading them; ``verify`` reads them
again. A process that adds files holds ``lock``; a second one waits and says so.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from stream2gym.errors import CannotHere, Defect, StartFailed
from stream2gym.software.lock_list import Artifact
from stream2gym.wait import wait_until

LOCK_TIMEOUT_S = 900.0
DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class WrongSum(StartFailed):
    """A fetched jar is not the one that its lock list names."""


class Cache:
    """A folder of software that many processes may use at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held = False

    @classmethod
    def here(cls) -> Cache:
        """The cache of this user."""
        named = os.environ.get("S2G_CACHE")
        if named:
            return cls(Path(named).expanduser().absolute())
        xdg = os.environ.get("XDG_CACHE_HOME", "")
        home = Path(xdg) if os.path.isabs(xdg) else Path("~/.cache").expanduser()
        return cls(home / "stream2gym")

    def path(self, *parts: str) -> Path:
        return self.folder.joinpath(*parts)

    def jar(self, artifact: Artifact) -> Path:
        return self.folder / "jars" / artifact.path

    def has(self, artifact: Artifact) -> bool:
        """Whether the jar is unchanged since it was verified; reads the stamp, not the jar."""
        jar = self.jar(artifact)
        try:
            return _stamp_file(jar).read_text() == _stamp(jar, artifact.sha256)
        except OSError:
            return False

    def verify(self, artifact: Artifact) -> bool:
        """Read the jar again; one that has changed is removed, so that the next fetch replaces it."""
        jar = self.jar(artifact)
        if not jar.is_file():
            return False
        if sha256_of(jar) == artifact.sha256:
            return True
        _stamp_file(jar).unlink(missing_ok=True)
        jar.unlink(missing_ok=True)
        return False

    def adopt(self, artifact: Artifact, source: Path) -> Path:
        """Move a fetched file (on the same file system) into the cache, if it has the checksum of its list."""
        found = sha256_of(source)
        if found != artifact.sha256:
            raise WrongSum(
                f"{artifact.coordinate}: the file that was fetched has SHA-256 {found}, "
                f"the lock list says {artifact.sha256}\n  what to do: run 'setup' again; if it stays, a proxy "
                "or mirror alters files: name another one with S2G_IVY_SETTINGS"
            )
        jar = self.jar(artifact)
        with self.disk():
            jar.parent.mkdir(parents=True, exist_ok=True)
            sync_file(source)
            source.replace(jar)
            self.write(_stamp_file(jar), _stamp(jar, found).encode())
        return jar

    def write(self, path: Path, content: bytes, mode: int = 0o644) -> Path:
        """Write a small file so that a reader sees the old or the new content, never a part."""
        with self.disk():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            try:
                with os.fdopen(handle, "wb") as file:
                    os.fchmod(file.fileno(), mode)
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(beside, path)
            except BaseException:
                Path(beside).unlink(missing_ok=True)
                raise
        return path

    @contextlib.contextmanager
    def lock(self, on_wait: Callable[[str], None] | None = None) -> Iterator[None]:
        """Hold the cache alone. A second process waits, after it has told ``on_wait``."""
        with self.disk():
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if not _try_lock(handle):
                holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
                if on_wait:
                    on_wait(f"waiting: process {holder} is filling the cache {self.folder}")
                wait_until(
                    lambda: _try_lock(handle),
                    timeout_s=LOCK_TIMEOUT_S,
                    reason=f"process {holder}, which is filling the cache {self.folder}",
                    every_s=0.1,
                )
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
            self._held = True
            yield
        finally:
            self._held = False
            os.close(handle)

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder inside the cache for unfinished files; it is removed when the block ends.

        Only the holder of the lock may use it, so that a folder that is there without a holder was left by a killed
        process.
        """
        if not self._held:
            raise Defect("a scratch folder was asked for without the lock of the cache")
        with self.disk():
            (self.folder / "tmp").mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=self.folder / "tmp"))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def leftovers(self) -> list[Path]:
        """Scratch folders that killed processes left; only for the holder of the lock."""
        folder = self.folder / "tmp"
        return sorted(folder.iterdir()) if folder.is_dir() else []

    def sweep(self) -> None:
        """Remove what killed processes left."""
        for folder in self.leftovers():
            shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def disk(self, needed: int = 0) -> Iterator[None]:
        """Turn errors of a full or read-only disk into one message; ``needed`` bytes are checked before the block."""
        try:
            if needed:
                self.folder.mkdir(parents=True, exist_ok=True)
                if shutil.disk_usage(self.folder).free < needed:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            yield
        except OSError as error:
            if error.errno in DISK_FULL:
                raise self.full(needed) from error
            if isinstance(error, PermissionError) or error.errno == errno.EROFS:
                raise CannotHere(
                    f"the cache {self.folder} cannot be written: {error.strerror}",
                    "set S2G_CACHE to a folder that you may write",
                ) from error
            raise

    def full(self, needed: int = 0) -> CannotHere:
        """The message for a disk without room."""
        want = f" for {needed / 1e6:.0f} MB" if needed else ""
        return CannotHere(
            f"no room{want} in the cache {self.folder}: the disk is full; nothing half-written was kept",
            "free some space, or set S2G_CACHE to a folder on a larger disk, and run it again",
        )


def keep_newest(folder: Path, pattern: str, kept: int) -> None:
    """Remove the oldest files that match the pattern, so that ``kept`` of them stay."""
    by_age = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime)
    for old in by_age[: max(0, len(by_age) - kept)]:
        with contextlib.suppress(OSError):
            old.unlink()


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_file(path: Path) -> None:
    """Have the kernel write the file to the disk before it is renamed."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _stamp_file(jar: Path) -> Path:
    return jar.with_name(jar.name + ".verified")


def _stamp(jar: Path, sha256: str) -> str:
    stat = jar.stat()
    return f"{sha256} {stat.st_size} {stat.st_mtime_ns}\n"


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno == errno.EWOULDBLOCK:
            return False
        raise
    return True
