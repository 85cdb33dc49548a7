"""Which document server a store of type MONGODB runs: MongoDB, or FerretDB where there is none.

No package registry has either, so it must be installed on this machine.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from stream2gym.errors import CannotHere

ASK_S = 30.0
_INSTALL = "install MongoDB's server or FerretDB 1, or use a store of type MYSQL"


@dataclass(frozen=True)
class DocumentServer:
    path: str
    ferret: bool = False

    def serve(self, folder: str, address: str, port: int, options: Mapping[str, str]) -> list[str]:
        """The command that serves a folder at an address; ``options`` take precedence."""
        if self.ferret:
            own = {
                "listen-addr": f"{address}:{port}",
                "handler": "sqlite",
                "sqlite-url": f"file:{folder}/",
                "state-dir": folder,
                "debug-addr": "-",
                "telemetry": "disable",
            }
            return [self.path, *(f"--{key}={value}" for key, value in (own | dict(options)).items())]
        own = {"dbpath": folder, "bind_ip": address, "port": str(port)}
        words = [word for key, value in (own | dict(options)).items() for word in (f"--{key}", value) if word]
        return [self.path, "--nounixsocket", *words]


def find_document_server() -> DocumentServer:
    """The first server on the PATH."""
    if (found := shutil.which("mongod")) is not None:
        return DocumentServer(found)
    found = shutil.which("ferretdb")
    if found is None:
        what = "a store of type MONGODB needs a server, and there is no mongod and no ferretdb on the PATH"
        raise CannotHere(what, _INSTALL)
    major = _major_version(found)
    if major != 1:
        what = f"{found} is version {major}, which keeps its data in a PostgreSQL of its own kind"
        raise CannotHere(what, _INSTALL)
    return DocumentServer(found, ferret=True)


def _major_version(server: str) -> int:
    try:
        asked = subprocess.run([server, "--version"], capture_output=True, timeout=ASK_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotHere(f"{server} does not say its version: {error}", _INSTALL) from error
    said = asked.stdout.decode(errors="replace")
    number = re.search(r"\bv?(\d+)\.\d+", said)
    if number is None:
        raise CannotHere(f"{server} does not say its version: {said.strip()[:200]!r}", _INSTALL)
    return int(number[1])
