"""MongoDB on its host, where this machine has a server: there is none in the package registries that we use."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any, ClassVar

from stream2gym.components.store import StoreComponent
from stream2gym.errors import CannotHere
from stream2gym.hosts.machine import WORK
from stream2gym.hosts.process import Process
from stream2gym.kinds.registry import Kind
from stream2gym.kinds.stores import KINDS
from stream2gym.kinds.stores import MongoDb as MongoDbSettings
from stream2gym.software.fetch import Progress
from stream2gym.spec.model import Store

_SIGN = "Waiting for connections"


class MongoDb(StoreComponent):
    KIND: ClassVar[Kind] = KINDS[1]

    @classmethod
    def prepare(cls, parts: Sequence[Store], progress: Progress) -> str:
        found = shutil.which("mongod")
        if found is None:
            raise CannotHere(
                "a store of type MONGODB needs a server, and there is no mongod on the PATH",
                "install MongoDB's server (or FerretDB under that name), or use a store of type MYSQL",
            )
        return found

    def ready(self) -> bool:
        try:
            return super().ready() and _SIGN in self.log.read_text("utf-8", errors="replace")
        except OSError:
            return False

    def connection(self) -> dict[str, Any]:
        settings: MongoDbSettings = self.setting.settings
        port = settings.port or self.KIND.port
        return {"kind": "mongodb", "host": self.setting.address, "port": port, "database": settings.database}

    def _launch(self, start: int) -> Process:
        settings: MongoDbSettings = self.setting.settings
        folder = f"{WORK}/{self.name}"
        port = str(settings.port or self.KIND.port)
        argv = [self.setting.software, "--dbpath", folder, "--bind_ip", self.setting.address, "--port", port]
        files = {f"{folder}/.made": b""} if start == 1 else {}
        return self.stage.spawn(self.host, argv, name=self.name, log=self.log, files=files)
