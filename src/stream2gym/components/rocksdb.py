"""RocksDB: an embedded store. It has no server: a sink opens its folder, which is in the run's work folder."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from stream2gym.components.store import StoreComponent
from stream2gym.errors import CannotHere
from stream2gym.kinds.registry import Kind
from stream2gym.kinds.store_settings import KINDS, RocksDbSettings
from stream2gym.software.fetch import Progress
from stream2gym.software.python_extras import install_hint
from stream2gym.spec.model import Store


class RocksDb(StoreComponent):
    KIND: ClassVar[Kind] = KINDS[2]
    EMBEDDED = True

    @classmethod
    def prepare(cls, parts: Sequence[Store], progress: Progress) -> Any:
        if importlib.util.find_spec("rocksdict") is None:
            raise CannotHere("a store of type ROCKSDB needs the package rocksdict", install_hint("rocksdict"))

    @property
    def path(self) -> Path:
        settings: RocksDbSettings = self.setting.settings
        return (self.context.folder.work / self.name / (settings.path or "rocksdb")).absolute()

    def start(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def connection(self) -> dict[str, Any]:
        return {"kind": "rocksdb", "path": str(self.path)}
