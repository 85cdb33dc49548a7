"""Waits for a database server and fills it with what an experiment wants there, from the observer host.

    python -m stream2gym.clients.dbinit CONFIG.json

CONTRACT
  in    CONFIG.json        an ``InitConfig``
  out   standard output    ``S2G {json}``: ready once the server answers and every statement has run; or error: what
  exit  0 done; 2 bad configuration; 3 the server did not answer, or refused a statement
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream2gym.clients.config import ClientConfig, load
from stream2gym.clients.process import DONE, Cannot, Status, ended, leave
from stream2gym.clients.tables import Lost, MySqlTables, Tables, until_open
from stream2gym.errors import BadInput


@dataclass(frozen=True)
class InitConfig(ClientConfig):
    connection: dict[str, Any]
    statements: tuple[str, ...] = ()
    timeout_s: float = 60.0


def run_statements(tables: MySqlTables, statements: tuple[str, ...]) -> None:
    for statement in statements:
        try:
            tables.run(statement)
        except (Cannot, Lost) as error:
            raise Cannot(f"{error}; in the statement {statement[:200]!r}") from error
    tables.run("SELECT 1")
    tables.commit()


def main(path: str) -> int:
    status = Status()
    try:
        config = load(InitConfig, Path(path))

        def open_() -> Tables:
            return MySqlTables(config.connection, (), False, {})

        tables = until_open(open_, config.timeout_s, lambda: False)
        if isinstance(tables, MySqlTables):
            run_statements(tables, config.statements)
        tables.close()
    except (BadInput, Cannot, Lost, OSError) as error:
        return ended(status, error)
    status.say("ready")
    return DONE


if __name__ == "__main__":
    leave(main(sys.argv[1]))
