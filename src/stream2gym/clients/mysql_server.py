"""Becomes a MariaDB or MySQL server. If there is no data folder, it first copies an empty one.

    python -m stream2gym.clients.mysql_server CONFIG.json

CONTRACT
  in    CONFIG.json   a ``ServerConfig``
  then  becomes ``server`` (the same process), whose log is standard error
  exit  2 bad configuration; 3 the data folder or the server cannot be used; else that of the server
"""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from stream2gym.clients.client_process import BAD_CONFIG, CANNOT, complain
from stream2gym.clients.config import ClientConfig, load
from stream2gym.errors import BadInput


@dataclass(frozen=True)
class ServerConfig(ClientConfig):
    data: str
    template: str  # an empty data folder
    server: tuple[str, ...]
    first: tuple[str, ...]  # further arguments of the first start only
    env: dict[str, str]  # beyond what is there


def main(path: str) -> NoReturn:
    try:
        config = load(ServerConfig, Path(path))
    except (BadInput, OSError) as error:
        complain(str(error))
        sys.exit(BAD_CONFIG)
    # The server refuses to run as root unless it is told to.
    argv = [*config.server, f"--user={pwd.getpwuid(os.geteuid()).pw_name}"]
    made = Path(config.data)
    if not made.is_dir():
        try:
            shutil.copytree(config.template, made.with_suffix(".part"), dirs_exist_ok=True)
            made.with_suffix(".part").rename(made)
        except OSError as error:
            complain(f"the data folder could not be made: {error}")
            sys.exit(CANNOT)
        argv += config.first
    try:
        os.execve(argv[0], argv, os.environ | config.env)
    except OSError as error:
        complain(f"{argv[0]} cannot be run on a host: {error.strerror} (what lies in /tmp is not seen there)")
        sys.exit(CANNOT)


if __name__ == "__main__":
    main(sys.argv[1])
