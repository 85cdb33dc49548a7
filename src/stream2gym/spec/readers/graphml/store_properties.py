"""Reads the published ``storeCfg``, the properties of a Kafka Connect JDBC sink, as a store and a sink.

In the original the database was outside the emulation, and a Connect worker ran beside the first producer. Here a
store of the same type, database and login runs on the host that has the ``storeCfg``.
"""

from __future__ import annotations

from typing import Any

from stream2gym.errors import Mistake
from stream2gym.kinds.registry import registry
from stream2gym.spec.findings import brief, did_you_mean
from stream2gym.spec.readers.graphml.published_keys import Unreadable, read_properties, within

_SCHEMES = {"mysql": "mysql", "mariadb": "mysql", "mongodb": "mongodb"}
_PK_MODES = {"none": "", "kafka": "place", "record_key": "key", "record_value": "value"}
# Properties that keys of the store or the sink express.
_UNDERSTOOD = frozenset((
    "name", "connection.url", "connection.user", "connection.password", "topics", "topics.regex", "auto.create",
    "table.name.format", "pk.fields", "pk.mode", "insert.mode", "batch.size",
))  # fmt: skip
# Properties of a Connect worker. They are kept and have no effect, because there is no such worker.
_OF_CONNECT = (
    "connector.class", "tasks.max", "key.converter", "value.converter", "max.retries", "retry.backoff.ms",
    "connection.attempts", "connection.backoff.ms", "dialect.name", "errors.", "config.action.reload",
)  # fmt: skip


def store_and_sink(
    text: str, shown: str, *, host: str, kind: str
) -> tuple[dict[str, Any], dict[str, Any] | None, list[Mistake]]:
    """The keys of the store, the keys of the sink (None if the properties name no topics), and warnings."""
    given = _Properties(text, shown)
    scheme, database = _url(given.text("connection.url"))
    # The name in the file may not be a valid name here, so the store is named after its host.
    store: dict[str, Any] = {"on": host, "name": f"store-{host}-1"}
    wanted = kind.lower() or _SCHEMES.get(scheme, "mysql")
    if registry("store").find(wanted) is None:
        wanted = _SCHEMES.get(scheme, "mysql")
        hint = did_you_mean(kind, registry("store").names())
        given.warn("", f"storeType {brief(kind)} is unknown and ignored; the store is of type {wanted}", hint)
    if wanted != "mysql":
        store["type"] = wanted
    login = {"user": given.text("connection.user"), "password": given.text("connection.password")}
    if wanted == "mongodb" and any(login.values()):
        given.warn("connection.user", "has no effect here: a MongoDB asks for no login")
        login = {}
    store |= {key: text for key, text in {"database": database, **login}.items() if text}
    sink: dict[str, Any] = {"store": store["name"]}
    if topics := given.words("topics"):
        sink["topics"] = topics
    if pattern := given.text("topics.regex"):
        sink["pattern"] = pattern
    if len(sink) == 1:
        given.warn("", "has neither topics nor topics.regex, so nothing is written to the store")
        return store, None, given.warnings
    table = given.text("table.name.format")
    sink |= {"table": table} if table and table != "${topic}" else {}
    keys = _keys(given)
    sink |= keys | _writing(given, keyed=bool(keys))
    rest = {key: text for key, (text, _) in given.found.items() if key and key not in _UNDERSTOOD}
    for key in rest:
        if not key.startswith(_OF_CONNECT):
            given.warn(key, "has no effect here")
    return store, sink | ({"config": rest} if rest else {}), given.warnings


class _Properties:
    """The properties of a file, and warnings about them."""

    def __init__(self, text: str, shown: str) -> None:
        self.found = read_properties(text)
        self.shown = shown
        self.warnings: list[Mistake] = []

    def text(self, key: str) -> str:
        """The value of a property; empty if it is missing or a placeholder that nobody filled in."""
        given, _ = self.found.get(key, ("", 1))
        if given.startswith("<") and given.endswith(">"):
            self.warn(key, f"{given} is a placeholder; the default is used")
            return ""
        return given

    def words(self, key: str) -> list[str]:
        """The words of a property that is a list with commas."""
        return [word.strip() for word in self.text(key).split(",") if word.strip()]

    def choice(self, key: str, known: tuple[str, ...]) -> str:
        """A property with a few possible words. Any other word gives a warning and the default."""
        word = self.text(key).lower()
        if word and word not in known:
            self.warn(key, f"{word!r} is not understood; the default is used", did_you_mean(word, known))
            return ""
        return word

    def warn(self, key: str, what: str, hint: str = "") -> None:
        self.warnings.append(Mistake(key, what, hint, self.shown, self.found.get(key, ("", 1))[1]))


def _keys(given: _Properties) -> dict[str, Any]:
    """The keys of rows from ``pk.mode`` and ``pk.fields``. Fields without a mode are fields of the value."""
    fields = given.words("pk.fields")
    mode = given.choice("pk.mode", tuple(_PK_MODES)) or ("record_value" if fields else "none")
    if mode == "none":
        if fields:
            given.warn("pk.fields", "has no effect because pk.mode is none")
        return {}
    if mode != "kafka" and not fields:
        given.warn("pk.mode", f"{mode} without pk.fields: rows have no keys", "pk.fields=id")
        return {}
    if mode == "kafka" and len(fields) not in (0, 3):
        given.warn("pk.fields", "a place in a topic has three columns; the usual names are used")
        fields = []
    sink: dict[str, Any] = {"keys": fields} if fields else {}
    return sink if mode == "record_value" else sink | {"keys_from": _PK_MODES[mode]}


def _writing(given: _Properties, *, keyed: bool) -> dict[str, Any]:
    """``insert.mode``, ``auto.create`` and ``batch.size``. The default of Connect is to insert."""
    sink: dict[str, Any] = {}
    mode = given.choice("insert.mode", ("insert", "upsert"))
    if keyed and mode != "upsert":
        sink["mode"] = "insert"
    elif mode == "upsert" and not keyed:
        given.warn("insert.mode", "upsert needs pk.mode and pk.fields; rows are inserted")
    if given.text("auto.create").lower() == "false":
        sink["create"] = False
    if size := given.text("batch.size"):
        try:
            sink["batch"] = within(1, 1_000_000)(size)
        except (Unreadable, OverflowError) as error:
            given.warn("batch.size", f"{error}; the default is used")
    return sink


def _url(url: str) -> tuple[str, str]:
    """The scheme and the database of ``jdbc:mysql://host:port/database?options``."""
    scheme, _, rest = url.removeprefix("jdbc:").partition("://")
    database = rest.partition("/")[2].partition("?")[0]
    return scheme.lower(), "" if database.startswith("<") else database
