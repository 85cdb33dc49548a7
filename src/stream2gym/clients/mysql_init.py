"""Waits for a database server and runs the statements of an experiment, from the observer host.

    python -m stream2gym.clients.mysql_init CONFIG.json

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

from stream2gym.clients.client_process import DONE, CannotContinue, Status, leave, report_error
from stream2gym.clients.config import ClientConfig, load
from stream2gym.clients.store_tables import MySqlTables, ServerLost, Tables, until_open
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
        except (CannotContinue, ServerLost) as error:
            raise CannotContinue(f"{error}; in the statement {statement[:200]!r}") from error
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
    except (BadInput, CannotContinue, ServerLost, OSError) as error:
        return report_error(status, error)
    status.say("ready")
    return DONE


if __name__ == "__main__":
    leave(main(sys.argv[1]))
