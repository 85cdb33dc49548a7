"""A store: a database server on its host, or an embedded one in the run's work folder.

It is ready when a client can query it and has made what the experiment wants in it. Further types come from entry
points of the group ``stream2gym.stores``, as with engines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from stream2gym.clients.config import ClientConfig
from stream2gym.components.base_component import BaseComponent
from stream2gym.components.component_classes import find_class, prepare_software
from stream2gym.components.component_process import ComponentProcess, RestartPolicy
from stream2gym.components.death_cause import death
from stream2gym.components.run_context import RunContext
from stream2gym.components.status_lines import ClientStatus, status_listener
from stream2gym.errors import CannotHere, Defect
from stream2gym.hosts.emulated_host import WORK
from stream2gym.hosts.process import Process
from stream2gym.kinds.registry import Kind, registry
from stream2gym.own_python import own_python
from stream2gym.software.fetch import Progress
from stream2gym.spec.model import Store

GRACE_S = 15.0
_BUILT_IN = {
    "mysql": "stream2gym.components.mariadb:MariaDb",
    "mongodb": "stream2gym.components.mongodb:MongoDb",
    "rocksdb": "stream2gym.components.rocksdb:RocksDb",
}


@dataclass(frozen=True)
class StoreSetting:
    """What a store is made with."""

    context: RunContext
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
        return self.context.host_of(self.name)

    @property
    def address(self) -> str:
        return self.context.address_of(self.host)


class StoreComponent(BaseComponent):
    """One store. Its data outlive a kill: after a restart it has what was stored."""

    KIND: ClassVar[Kind]
    # Whether it has no server of its own.
    EMBEDDED: ClassVar[bool] = False

    def __init__(self, setting: StoreSetting) -> None:
        self.setting = setting
        self.context = setting.context
        self.log = self.context.folder.log_path(setting.host, setting.name)
        policy = RestartPolicy.of(setting.part.restart)
        process = ComponentProcess(
            setting.name, setting.host, self._launch, self._tell, policy=policy, grace_s=GRACE_S
        )
        super().__init__(setting.name, "store", setting.host, [] if self.EMBEDDED else [process])

    @classmethod
    def prepare(cls, parts: Sequence[Store], progress: Progress) -> Any:
        """Fetch the software of these stores, before the run. The result becomes ``setting.software``."""
        return None

    def connection(self) -> dict[str, Any]:
        """How a client reaches it: what ``clients.store_tables`` opens."""
        raise NotImplementedError

    def why_not_ready(self) -> str:
        return self.cause() or "nobody can query it"

    def cause(self) -> str:
        return ""

    @property
    def over(self) -> bool:
        return bool(self.processes) and super().over

    def _launch(self, start: int) -> Process:
        raise NotImplementedError

    def _tell(self, kind: str, **details: Any) -> None:
        if kind == "died":
            details |= death(self.log, self.cause())
        self.context.tell(kind, **details)


class ServerStore(StoreComponent):
    """A store with a server. A client on the observer host asks it, and makes what the experiment wants in it."""

    # The module of that client.
    CLIENT: ClassVar[str]

    def __init__(self, setting: StoreSetting) -> None:
        super().__init__(setting)
        self.status = ClientStatus()

    def client_config(self) -> ClientConfig:
        raise NotImplementedError

    def start(self) -> None:
        super().start()
        observer = self.context.plan.network.observer
        if observer is None:
            raise Defect("the plan has no observer host")
        path = f"{WORK}/{self.name}.init.json"
        self.context.spawn(
            observer.name,
            own_python("-m", self.CLIENT, path),
            name=f"{self.name}-init",
            log=self.context.folder.log_path(observer.name, self.name),
            on_line=status_listener(self.log, self.status.update),
            files={path: json.dumps(self.client_config().to_json()).encode()},
        )

    def ready(self) -> bool:
        return super().ready() and self.status.ready

    @property
    def hopeless(self) -> bool:
        return super().hopeless or bool(self.status.problems)

    def cause(self) -> str:
        return "; ".join(self.status.problems)

    @property
    def port(self) -> int:
        return int(self.setting.settings.port or self.KIND.port or 0)


def store_class(type_: str) -> type[StoreComponent]:
    """The class that runs stores of this type."""
    return find_class("store", type_, StoreComponent, _BUILT_IN)


def prepare_stores(parts: Sequence[Store], progress: Progress) -> dict[str, Any]:
    """Fetch the software of every store. Returns it by the name of the store."""
    return prepare_software(parts, store_class, progress)


def make_stores(context: RunContext, software: Mapping[str, Any]) -> list[StoreComponent]:
    """Every store of the experiment."""
    made = []
    for part in context.experiment.stores:
        kind = registry("store").find(part.type)
        if kind is None:
            raise CannotHere(f"unknown store type {part.type}", "see s2g schema")
        own = software.get(str(part.name))
        setting = StoreSetting(context, part, kind, part.checked_settings, context.base, own)
        made.append(store_class(part.type)(setting))
    return made
