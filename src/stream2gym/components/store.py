"""A store: a database server on its host, or an embedded one in the run's work folder.

Ready means that a client can query it, and that what the experiment wants in it is there. Types beyond the
built-in ones come from entry points of the group ``stream2gym.stores``, as with engines.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar

from stream2gym.clients.config import ClientConfig
from stream2gym.components.base import ProcessComponent
from stream2gym.components.causes import death
from stream2gym.components.stage import Stage
from stream2gym.components.unit import RestartPolicy, Unit
from stream2gym.components.words import ClientWords, word_listener
from stream2gym.errors import CannotHere, Defect
from stream2gym.hosts.machine import WORK
from stream2gym.hosts.process import Process
from stream2gym.kinds.registry import Kind, registry
from stream2gym.software.fetch import Progress
from stream2gym.spec.model import Store

GROUP = "stream2gym.stores"
GRACE_S = 15.0
_BUILT_IN = {
    "mysql": "stream2gym.components.mariadb:MariaDb",
    "mongodb": "stream2gym.components.mongodb:MongoDb",
    "rocksdb": "stream2gym.components.rocksdb:RocksDb",
}


@dataclass(frozen=True)
class StoreSetting:
    """What a store is given."""

    stage: Stage
    part: Store
    kind: Kind
    settings: Any
    base: Path
    software: Any

    @property
    def name(self) -> str:
        return str(self.part.name)

    @property
    def host(self) -> str:
        return self.stage.host_of(self.name)

    @property
    def address(self) -> str:
        return self.stage.address_of(self.host)


class StoreComponent(ProcessComponent):
    """One store. Its data outlives a kill: a restart finds what was stored."""

    KIND: ClassVar[Kind]
    EMBEDDED: ClassVar[bool] = False  # no server of its own

    def __init__(self, setting: StoreSetting) -> None:
        self.setting = setting
        self.stage = setting.stage
        self.log = self.stage.folder.log_path(setting.host, setting.name)
        restart = setting.part.restart
        policy = RestartPolicy(restart.times, float(restart.delay))
        unit = Unit(setting.name, setting.host, self._launch, self._tell, policy=policy, grace_s=GRACE_S)
        super().__init__(setting.name, "store", setting.host, [] if self.EMBEDDED else [unit])

    @classmethod
    def prepare(cls, parts: Sequence[Store], progress: Progress) -> Any:
        """Fetch the software, before the run."""
        return None

    def connection(self) -> dict[str, Any]:
        """How a client reaches it: what ``clients.tables`` opens."""
        raise NotImplementedError

    def why_not_ready(self) -> str:
        return self.cause() or "nobody can query it"

    def cause(self) -> str:
        return ""

    @property
    def over(self) -> bool:
        return bool(self.units) and super().over

    def _launch(self, start: int) -> Process:
        raise NotImplementedError

    def _tell(self, kind: str, **details: Any) -> None:
        if kind == "died":
            details |= death(self.log, self.cause())
        self.stage.tell(kind, **details)


class ServerStore(StoreComponent):
    """A store with a server: ready once a client on the observer host has asked it, and made what is wanted there."""

    CLIENT: ClassVar[str]  # the module that does so

    def __init__(self, setting: StoreSetting) -> None:
        super().__init__(setting)
        self.words = ClientWords()

    def client_config(self) -> ClientConfig:
        raise NotImplementedError

    def start(self) -> None:
        super().start()
        observer = self.stage.plan.network.observer
        if observer is None:
            raise Defect("the plan has no observer host")
        path = f"{WORK}/{self.name}.init.json"
        self._init = self.stage.spawn(
            observer.name,
            [sys.executable, "-m", self.CLIENT, path],
            name=f"{self.name}-init",
            log=self.stage.folder.logs / f"{observer.name}.{self.name}.log",
            on_line=word_listener(self.log, self.words.hear),
            files={path: json.dumps(self.client_config().to_json()).encode()},
        )

    def ready(self) -> bool:
        return super().ready() and self.words.ready

    @property
    def hopeless(self) -> bool:
        return super().hopeless or bool(self.words.problems)

    def cause(self) -> str:
        return "; ".join(self.words.problems)

    @property
    def port(self) -> int:
        return int(self.setting.settings.port or self.KIND.port or 0)


@cache
def store_class(type_: str) -> type[StoreComponent]:
    """The class that runs stores of this type."""
    kind = registry("store").find(type_)
    if kind is not None and kind.name in _BUILT_IN:
        module, _, name = _BUILT_IN[kind.name].partition(":")
        found: type[StoreComponent] = getattr(import_module(module), name)
        return found
    for entry in entry_points(group=GROUP):
        if kind is not None and entry.name.lower() == kind.name.lower():
            loaded = entry.load()
            if isinstance(loaded, type) and issubclass(loaded, StoreComponent):
                return loaded
    known = ", ".join(registry("store").names())
    raise CannotHere(
        f"nothing here runs stores of type {type_}",
        f"name a class in an entry point of the group {GROUP}; known: {known}",
    )


def prepare_stores(parts: Sequence[Store], progress: Progress) -> dict[str, Any]:
    """The software of every store, by the store's name; each class is asked once."""
    by_class: dict[type[StoreComponent], list[Store]] = {}
    for part in parts:
        by_class.setdefault(store_class(part.type), []).append(part)
    return {
        str(part.name): software
        for cls, own in by_class.items()
        for software in [cls.prepare(own, progress)]
        for part in own
    }


def make_stores(stage: Stage, base: Path, software: Mapping[str, Any]) -> list[StoreComponent]:
    made = []
    for part in stage.experiment.stores:
        kind = registry("store").find(part.type)
        if kind is None:
            raise CannotHere(f"unknown store type {part.type}", "see s2g schema")
        settings = kind.settings.model_validate(part.settings)
        own = software.get(str(part.name))
        made.append(store_class(part.type)(StoreSetting(stage, part, kind, settings, base, own)))
    return made
