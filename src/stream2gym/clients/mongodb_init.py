"""Waits for a MongoDB or FerretDB server and makes the collections of an experiment, from the observer host.

    python -m stream2gym.clients.mongodb_init CONFIG.json

CONTRACT
  in    CONFIG.json        a ``MongoConfig``
  out   standard output    ``S2G {json}``: ready once the server answers and the collections are there; or error: what
  exit  0 done; 2 bad configuration; 3 the server did not answer, or refused
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream2gym.clients.client_process import DONE, CannotContinue, Status, leave, report_error
from stream2gym.clients.config import ClientConfig, load
from stream2gym.errors import BadInput


@dataclass(frozen=True)
class MongoConfig(ClientConfig):
    connection: dict[str, Any]
    collections: tuple[str, ...] = ()
    timeout_s: float = 60.0


def make_collections(config: MongoConfig) -> None:
    """Make the collections; the driver waits until the server answers."""
    import pymongo
    from pymongo.errors import PyMongoError

    where = config.connection
    client: Any = pymongo.MongoClient(
        where["host"],
        int(where["port"]),
        directConnection=True,
        serverSelectionTimeoutMS=int(config.timeout_s * 1000),
        heartbeatFrequencyMS=500,
    )
    try:
        client.admin.command("ping")
        database = client[where["database"]]
        there = set(database.list_collection_names())
        for name in config.collections:
            if name not in there:
                database.create_collection(name)
    except PyMongoError as error:
        raise CannotContinue(f"the store does not do what it is asked: {error}") from error
    finally:
        client.close()


def main(path: str) -> int:
    status = Status()
    try:
        make_collections(load(MongoConfig, Path(path)))
    except (BadInput, CannotContinue, OSError) as error:
        return report_error(status, error)
    status.say("ready")
    return DONE


if __name__ == "__main__":
    leave(main(sys.argv[1]))
