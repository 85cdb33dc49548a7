"""The types of store and the settings of each."""

from __future__ import annotations

from pydantic import Field

from stream2gym.kinds.base import Model, Texts, Whole
from stream2gym.kinds.capabilities import WITH_DATA
from stream2gym.kinds.registry import Kind


class Server(Model):
    """A database server: what it listens on, and the database that programs use."""

    port: Whole | None = Field(default=None, ge=1, le=65535)
    database: str = "stream2gym"


class MySql(Server):
    user: str = "s2g"
    password: str = "s2g"
    tables: Texts = Field(default_factory=list)  # CREATE TABLE statements
    init: str | None = None  # a file of statements to run once
    server: str = "bundled"  # or system: MariaDB or MySQL of this machine; or a path to one


class MongoDb(Server):
    """It asks nobody for a login: only hosts of the experiment reach it."""

    collections: Texts = Field(default_factory=list)


class RocksDb(Model):
    path: str | None = None


KINDS = (
    Kind("store", "mysql", "a MariaDB or MySQL server", MySql, also=("mariadb",), capabilities=WITH_DATA,
         port=3306, runnable=True),
    Kind("store", "mongodb", "a MongoDB or FerretDB server", MongoDb, also=("mongo", "ferretdb"), runnable=True,
         capabilities=WITH_DATA, port=27017),
    Kind("store", "rocksdb", "an embedded RocksDB", RocksDb, runnable=True),
)  # fmt: skip
