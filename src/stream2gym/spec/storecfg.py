"""The published ``storeCfg``: properties of a Kafka Connect JDBC sink, as a store and a sink of ours.

The original's database lay outside the emulation, its worker ran beside the first producer. Here a store of the
same kind, database and login runs on the host that carries ``storeCfg``.
"""

from __future__ import annotations

from typing import Any

from stream2gym.errors import Mistake
from stream2gym.spec.published import read_properties

_SCHEMES = {"mysql": "mysql", "mariadb": "mysql", "mongodb": "mongodb"}
# What the sink itself stands for, and so need not be kept.
_UNDERSTOOD = frozenset((
    "name", "connection.url", "connection.user", "connection.password", "topics", "topics.regex", "auto.create",
    "table.name.format", "pk.fields",
))  # fmt: skip


def store_and_sink(
    text: str, shown: str, *, host: str, kind: str
) -> tuple[dict[str, Any], dict[str, Any] | None, list[Mistake]]:
    """Keys of the store, keys of the sink when the properties name topics, and warnings."""
    found = read_properties(text)
    warnings: list[Mistake] = []

    def value(key: str) -> str:
        """A property; a placeholder that nobody filled in is none."""
        given, line = found.get(key, ("", 1))
        if given.startswith("<") and given.endswith(">"):
            warnings.append(Mistake(key, f"{given} is a placeholder; the default is used", "", shown, line))
            return ""
        return given

    scheme, database = _url(value("connection.url"))
    # The file's own name for the sink may be no name of ours, so the store is named after its host.
    store: dict[str, Any] = {"on": host, "name": f"store-{host}-1"}
    wanted = kind.lower() or _SCHEMES.get(scheme, "mysql")
    if wanted != "mysql":
        store["type"] = wanted
    given = {"database": database, "user": value("connection.user"), "password": value("connection.password")}
    store |= {key: text for key, text in given.items() if text}
    sink: dict[str, Any] = {"store": store["name"]}
    if topics := [topic.strip() for topic in value("topics").split(",") if topic.strip()]:
        sink["topics"] = topics
    if pattern := value("topics.regex"):
        sink["pattern"] = pattern
    if len(sink) == 1:
        warnings.append(Mistake("", "names neither topics nor topics.regex, so nothing flows", "", shown, 1))
        return store, None, warnings
    table = value("table.name.format")
    sink |= {"table": table} if table and table != "${topic}" else {}
    if keys := [key.strip() for key in value("pk.fields").split(",") if key.strip()]:
        sink["keys"] = keys
    if found.get("auto.create", ("true", 1))[0].lower() == "false":
        sink["create"] = False
    rest = {key: text for key, (text, _) in found.items() if key and key not in _UNDERSTOOD}
    return store, sink | ({"config": rest} if rest else {}), warnings


def _url(url: str) -> tuple[str, str]:
    """Scheme and database of ``jdbc:mysql://host:port/database?options``."""
    scheme, _, rest = url.removeprefix("jdbc:").partition("://")
    database = rest.partition("/")[2].partition("?")[0]
    return scheme.lower(), "" if database.startswith("<") else database
