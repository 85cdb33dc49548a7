"""Becomes a MariaDB or MySQL server; its data folder is made first when there is none.

    python -m stream2gym.clients.dbserver CONFIG.json

CONTRACT
  in    CONFIG.json   a ``ServerConfig``
  then  becomes ``server`` (the same process), whose log is standard error
  exit  2 bad configuration; 3 the data folder could not be made; else the server's own
"""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from stream2gym.clients.config import ClientConfig, load
from stream2gym.clients.process import BAD_CONFIG, CANNOT, complain
from stream2gym.errors import BadInput


@dataclass(frozen=True)
class ServerConfig(ClientConfig):
    data: str
    install: tuple[str, ...]
    server: tuple[str, ...]
    first: tuple[str, ...]  # further arguments of the first start only
    env: dict[str, str]  # for both, beyond what is there


def main(path: str) -> NoReturn:
    try:
        config = load(ServerConfig, Path(path))
    except (BadInput, OSError) as error:
        complain(str(error))
        sys.exit(BAD_CONFIG)
    user = f"--user={pwd.getpwuid(os.geteuid()).pw_name}"  # root must say that it means it
    environment = os.environ | config.env
    argv = [*config.server, user]
    if not Path(config.data, "mysql").is_dir():
        made = subprocess.run(
            [*config.install, user], env=environment, capture_output=True, text=True, check=False
        )
        if made.returncode != 0:
            complain(f"the data folder could not be made:\n{made.stdout}{made.stderr}")
            sys.exit(CANNOT)
        argv += config.first
    os.execve(argv[0], argv, environment)


if __name__ == "__main__":
    main(sys.argv[1])
