"""MariaDB or MySQL on its host: a server, a data folder on the host's own storage, a database and a user.

It is ready when a client on the observer host has made the tables of the experiment and queried it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from stream2gym.clients.mysql_init import InitConfig
from stream2gym.clients.mysql_server import ServerConfig
from stream2gym.components.cluster import property_texts
from stream2gym.components.run_context import end_of_log
from stream2gym.components.store import ServerStore, StoreSetting
from stream2gym.hosts.process import Process
from stream2gym.kinds.registry import Kind
from stream2gym.kinds.store_settings import KINDS, MySqlSettings
from stream2gym.own_python import own_python
from stream2gym.software.database_server import BUNDLED, DatabaseServer, find_database_server, with_template
from stream2gym.software.fetch import Progress
from stream2gym.spec.model import Store

# A small server. It keeps what it has committed when its process is killed; nothing worse can happen to it here.
DEFAULTS = {
    "innodb_buffer_pool_size": "32M",
    "innodb_log_file_size": "16M",
    "innodb_flush_log_at_trx_commit": "2",
    "performance_schema": "OFF",
    "skip_name_resolve": "ON",
    "max_connections": "100",
    "key_buffer_size": "4M",
    "aria_pagecache_buffer_size": "4M",
    "lc_messages": "en_US",
    # With it, every start makes a key, which takes a second, or a minute on a busy machine.
    "ssl": "0",
}


def text(value: str) -> str:
    """A text as an SQL literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def statements_of(script: str) -> list[str]:
    """The statements of a file: each ends with a semicolon at the end of a line; ``--`` begins a comment."""
    lines = [line for line in script.splitlines() if not line.lstrip().startswith("--")]
    return [part.strip() for part in "\n".join([*lines, ""]).split(";\n") if part.strip()]


def server_error(log: str, port: int) -> str:
    """The last error in the log of the server since its last start; empty if there is none."""
    since = log.rpartition(" starting as process ")[2]
    if "Address already in use" in since:
        return f"its port {port} is taken by another program on the host"
    errors = [line.partition("[ERROR]")[2].strip() for line in since.splitlines() if "[ERROR]" in line]
    return next((error for error in reversed(errors) if error != "Aborting"), "")


class MariaDb(ServerStore):
    KIND: ClassVar[Kind] = KINDS[0]
    CLIENT = "stream2gym.clients.mysql_init"

    def __init__(self, setting: StoreSetting) -> None:
        super().__init__(setting)
        self.settings: MySqlSettings = setting.settings

    @classmethod
    def prepare(cls, parts: Sequence[Store], progress: Progress) -> dict[str, DatabaseServer]:
        wishes = {str(part.settings.get("server", BUNDLED)) for part in parts}
        return {wish: with_template(find_database_server(wish, progress), progress) for wish in sorted(wishes)}

    def connection(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "kind": "mysql",
            "host": self.setting.address,
            "port": self.port,
            "database": settings.database,
            "user": settings.user,
            "password": settings.password,
        }

    def client_config(self) -> InitConfig:
        return InitConfig(self.connection(), tuple(self._statements()))

    def cause(self) -> str:
        return server_error(end_of_log(self.log, 40), self.port) or super().cause()

    def _statements(self) -> list[str]:
        init = self.settings.init
        script = (self.setting.base / init).read_text("utf-8") if init else ""
        return [*self.settings.tables, *statements_of(script)]

    def _launch(self, start: int) -> Process:
        software: DatabaseServer = self.setting.software[self.settings.server]
        folder = f"/tmp/work/{self.name}"
        data = f"{folder}/data"
        # Another server than ours may not know every option.
        ours = {(key if self.settings.server == BUNDLED else f"loose_{key}"): v for key, v in DEFAULTS.items()}
        options = ours | property_texts(self.setting.part.config)
        server = [
            *software.serve(data), f"--port={self.port}", f"--bind-address={self.setting.address}",
            f"--socket={folder}/server.sock", f"--pid-file={folder}/server.pid",
            *(f"--{key.replace('_', '-')}={value}" for key, value in options.items()),
        ]  # fmt: skip
        first_only = (f"--init-file={folder}/first.sql",)
        config = ServerConfig(data, software.template, tuple(server), first_only, software.environment)
        settings = self.settings
        who = f"{text(settings.user)}@'%'"
        database = "`" + settings.database.replace("`", "``") + "`"
        first = [
            f"CREATE DATABASE IF NOT EXISTS {database} CHARACTER SET utf8mb4;",
            f"CREATE USER IF NOT EXISTS {who} IDENTIFIED BY {text(settings.password)};",
            f"GRANT ALL ON *.* TO {who};",
        ]
        files = {
            f"{folder}/first.sql": ("\n".join(first) + "\n").encode(),
            f"{folder}/server.json": json.dumps(config.to_json()).encode(),
        }
        return self.context.spawn(
            self.host,
            own_python("-m", "stream2gym.clients.mysql_server", f"{folder}/server.json"),
            name=self.name,
            log=self.log,
            files=files,
        )
