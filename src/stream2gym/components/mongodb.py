"""MongoDB or FerretDB on its host, if such a server is installed on this machine."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any, ClassVar

from stream2gym.clients.mongodb_init import MongoConfig
from stream2gym.components.cluster import property_texts
from stream2gym.components.store import ServerStore, StoreSetting
from stream2gym.errors import CannotHere
from stream2gym.hosts.emulated_host import WORK
from stream2gym.hosts.process import Process
from stream2gym.kinds.registry import Kind
from stream2gym.kinds.store_settings import KINDS, MongoDbSettings
from stream2gym.software.document_server import DocumentServer, find_document_server
from stream2gym.software.fetch import Progress
from stream2gym.software.python_extras import install_hint
from stream2gym.spec.model import Store


class MongoDb(ServerStore):
    KIND: ClassVar[Kind] = KINDS[1]
    CLIENT = "stream2gym.clients.mongodb_init"

    def __init__(self, setting: StoreSetting) -> None:
        super().__init__(setting)
        self.settings: MongoDbSettings = setting.settings

    @classmethod
    def prepare(cls, parts: Sequence[Store], progress: Progress) -> DocumentServer:
        server = find_document_server()
        if importlib.util.find_spec("pymongo") is None:
            raise CannotHere("a store of type MONGODB needs the package pymongo", install_hint("pymongo"))
        return server

    def connection(self) -> dict[str, Any]:
        place = {"host": self.setting.address, "port": self.port}
        return {"kind": "mongodb", **place, "database": self.settings.database}

    def client_config(self) -> MongoConfig:
        return MongoConfig(self.connection(), tuple(self.settings.collections))

    def _launch(self, start: int) -> Process:
        server: DocumentServer = self.setting.software
        folder = f"{WORK}/{self.name}"
        options = property_texts(self.setting.part.config)
        argv = server.serve(folder, self.setting.address, self.port, options)
        files = {f"{folder}/.made": b""} if start == 1 else {}
        return self.context.spawn(self.host, argv, name=self.name, log=self.log, files=files)
