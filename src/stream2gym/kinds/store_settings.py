"""The types of stores and the settings of each type."""

from __future__ import annotations

from pydantic import Field

from stream2gym.kinds.capabilities import WITH_DATA
from stream2gym.kinds.kind import Kind
from stream2gym.kinds.settings import Model, Texts, Whole


class ServerSettings(Model):
    """A database server: the port that it listens on, and the database that programs use."""

    port: Whole | None = Field(default=None, ge=1, le=65535)
    database: str = "stream2gym"


class MySqlSettings(ServerSettings):
    """A MariaDB or MySQL server."""

    user: str = "s2g"
    password: str = "s2g"
    # CREATE TABLE statements.
    tables: Texts = Field(default_factory=list)
    # A file of statements that run once.
    init: str | None = None
    # ``bundled``, ``system`` for the server that is installed on this machine, or the path of a server.
    server: str = "bundled"


class MongoDbSettings(ServerSettings):
    """A MongoDB or FerretDB server. It asks for no login, because only hosts of the experiment reach it."""

    collections: Texts = Field(default_factory=list)


class RocksDbSettings(Model):
    """An embedded RocksDB."""

    path: str | None = None


KINDS = (
    Kind("store", "mysql", "a MariaDB or MySQL server", MySqlSettings, also=("mariadb",), capabilities=WITH_DATA,
         port=3306, runnable=True),
    Kind("store", "mongodb", "a MongoDB or FerretDB server", MongoDbSettings, also=("mongo", "ferretdb"),
         capabilities=WITH_DATA, port=27017, runnable=True),
    Kind("store", "rocksdb", "an embedded RocksDB", RocksDbSettings, runnable=True),
)  # fmt: skip
