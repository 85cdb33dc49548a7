"""Which database server a store runs: the one of the cache, or one that is installed on this machine.

``bundled`` is MariaDB from the cache, ``system`` the first server on the PATH (MariaDB before MySQL), anything else
the path of a server.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

from stream2gym.errors import CannotHere
from stream2gym.software.cache import Cache
from stream2gym.software.fetch import Progress, silent
from stream2gym.software.mariadb_software import MariaDbSoftware

BUNDLED, SYSTEM = "bundled", "system"
_NAMES = ("mariadbd", "mysqld")
_ALSO_IN = ("/usr/sbin", "/usr/local/sbin", "/usr/local/mysql/bin")  # not on everybody's PATH
ASK_S = 30.0
INSTALL_S = 300.0


@dataclass(frozen=True)
class DatabaseServer:
    """A server that can be started. MariaDB has a separate program that makes data folders; MySQL has none."""

    server: str
    installer: str | None
    version: str
    common: tuple[str, ...] = ()  # arguments of both
    environment: dict[str, str] = field(default_factory=dict)
    template: str = ""  # a data folder that nobody serves, to be copied

    def install(self, data: str) -> list[str]:
        """The command that makes a data folder."""
        if self.installer is None:
            return [self.server, "--no-defaults", *self.common, f"--datadir={data}", "--initialize-insecure"]
        return [
            self.installer, "--no-defaults", *self.common, f"--datadir={data}", "--skip-test-db",
            "--auth-root-authentication-method=normal", "--innodb-log-file-size=16M",
        ]  # fmt: skip

    def serve(self, data: str) -> list[str]:
        """The command that serves it, without address and options."""
        return [self.server, "--no-defaults", *self.common, f"--datadir={data}"]


def find_database_server(wish: str, progress: Progress = silent) -> DatabaseServer:
    """The server that an experiment asks for."""
    if wish == BUNDLED:
        software = MariaDbSoftware.ensure(progress)
        common = (f"--basedir={software.folder}",)
        return DatabaseServer(software.server, software.installer, "bundled", common, software.environment)
    found = _on_this_machine() if wish == SYSTEM else shutil.which(os.path.expanduser(wish))
    if found is None:
        what = "no mariadbd and no mysqld on the PATH" if wish == SYSTEM else f"{wish} is no program that can be run"
        raise CannotHere(
            f"a store asks for the server {wish!r}, and there is {what}",
            "install MariaDB's or MySQL's server, or leave 'server' out for the one that comes along",
        )
    version = _version(found)
    if "MariaDB" not in version:
        return DatabaseServer(found, None, version)
    installer = shutil.which("mariadb-install-db", path=_beside(found)) or shutil.which("mariadb-install-db")
    if installer is None:
        raise CannotHere(f"{found} has no mariadb-install-db beside it", "install all of MariaDB's server")
    return DatabaseServer(found, installer, version)


def with_template(server: DatabaseServer, progress: Progress = silent, cache: Cache | None = None) -> DatabaseServer:
    """The server with an empty data folder in the cache, because copying one is faster than making one."""
    cache = cache or Cache.here()
    stat = os.stat(server.server)
    parts = [
        *server.install("DATA"),
        server.version,
        str(stat.st_size),
        str(stat.st_mtime_ns),
        str(os.geteuid()),
    ]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    folder = cache.path("databases", key)
    if not folder.is_dir():
        with cache.lock(on_wait=lambda words: progress(words, 0, 0)), cache.disk(), cache.scratch() as scratch:
            if not folder.is_dir():
                progress("making an empty database (once)", 0, 0)
                _make_data(server, scratch / "data")
                folder.parent.mkdir(parents=True, exist_ok=True)
                (scratch / "data").replace(folder)
    return replace(server, template=str(folder))


def _make_data(server: DatabaseServer, data: Path) -> None:
    argv = [
        *server.install(str(data)),
        f"--user={pwd.getpwuid(os.geteuid()).pw_name}",
    ]  # root must say that it means it
    environment = os.environ | server.environment
    try:
        subprocess.run(argv, env=environment, capture_output=True, timeout=INSTALL_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stdout", b"") or b"") + (getattr(error, "stderr", b"") or b"")
        words = said.decode(errors="replace").strip()[-1000:]
        raise CannotHere(f"{argv[0]} makes no data folder: {error}\n{words}", "name another server") from error


def _on_this_machine() -> str | None:
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_ALSO_IN])
    return next((found for name in _NAMES if (found := shutil.which(name, path=path))), None)


def _beside(server: str) -> str:
    top = Path(server).resolve().parent.parent
    return os.pathsep.join(str(top / name) for name in ("bin", "sbin", "scripts"))


def _version(server: str) -> str:
    try:
        asked = subprocess.run([server, "--no-defaults", "--version"], capture_output=True, timeout=ASK_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotHere(f"{server} does not say its version: {error}", "name another server") from error
    return asked.stdout.decode(errors="replace").strip()
