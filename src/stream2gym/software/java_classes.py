"""Which classes a jar has, and which of them can be started: read from the class files, without a JVM.

``main_class`` checks the class that an experiment names, or finds the one that it does not name.
"""

from __future__ import annotations

import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path

from stream2gym.errors import BadInput, Mistake

_MAGIC = 0xCAFEBABE
_UTF8, _CLASS = 1, 7
# How many bytes the constants of a class file have after their tag, for those of a fixed size.
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_WIDE = (5, 6)  # a long and a double count as two constants
# A program may also begin in a method without arguments, from Java 25 on.
_STARTS = {("main", "([Ljava/lang/String;)V"), ("main", "()V")}
SHOWN = 6


@dataclass(frozen=True)
class ClassFile:
    """What a class file says of its class."""

    name: str  # with dots
    base: str  # the class that it extends
    methods: frozenset[tuple[str, str]]  # names and descriptors

    @property
    def has_main(self) -> bool:
        return bool(self.methods & _STARTS)


def main_class(jar: Path, named: str | None, *, where: str = "", shown: str = "") -> str:
    """The class of ``jar`` to start: ``named`` if it is there, else its manifest's, else the only one that can start.

    ``where`` names the element of the experiment, ``shown`` the file that the user knows (the source of the jar).
    Raises BadInput with what would be valid.
    """
    file = shown or str(jar)
    try:
        with zipfile.ZipFile(jar) as opened:
            names = {entry[: -len(".class")].replace("/", ".") for entry in opened.namelist() if _is_class(entry)}
            if named is not None:
                return _check_named(opened, names, named, where, file)
            stated = _stated_in_manifest(opened)
            if stated:
                return _check_named(opened, names, stated, where, file)
            found = _startable(opened, names)
    except (OSError, zipfile.BadZipFile) as error:
        raise BadInput(Mistake(where, f"cannot be read as a jar: {error}", file=file)) from error
    if len(found) == 1:
        return found[0]
    if not found:
        raise BadInput(Mistake(where, "no class in it has a main method, so that nothing can be started", file=file))
    raise BadInput(Mistake(where, "several classes have a main method", f"add 'main:', one of {_some(found)}", file))


def _check_named(opened: zipfile.ZipFile, names: set[str], named: str, where: str, file: str) -> str:
    if named not in names:
        can = _startable(opened, names)
        hint = f"can be started: {_some(can)}" if can else "no class in it has a main method"
        raise BadInput(Mistake(where, f"there is no class {named} in it", hint, file))
    found = _read(opened, named)
    # A class may inherit its main method, which only Java itself can tell.
    if not found.has_main and found.base in ("java.lang.Object", ""):
        raise BadInput(Mistake(where, f"class {named} has no main method", file=file))
    return named


def _startable(opened: zipfile.ZipFile, names: set[str]) -> list[str]:
    return sorted(name for name in names if _read(opened, name).has_main)


def _is_class(entry: str) -> bool:
    return entry.endswith(".class") and not entry.startswith("META-INF/") and not entry.endswith("-info.class")


def _stated_in_manifest(opened: zipfile.ZipFile) -> str | None:
    try:
        text = opened.read("META-INF/MANIFEST.MF").decode("utf-8", errors="replace")
    except KeyError:
        return None
    unfolded = text.replace("\r\n", "\n").replace("\n ", "")
    lines = (line.partition(":") for line in unfolded.splitlines())
    return next((value.strip() for key, _, value in lines if key.strip().lower() == "main-class"), None)


def _read(opened: zipfile.ZipFile, name: str) -> ClassFile:
    try:
        return read_class(opened.read(name.replace(".", "/") + ".class"))
    except (struct.error, ValueError, KeyError, IndexError):
        return ClassFile(name, "?", frozenset())


def read_class(data: bytes) -> ClassFile:
    """Read the name, the base and the methods of a class file. Raises ValueError for other data."""
    if len(data) < 10 or struct.unpack_from(">I", data)[0] != _MAGIC:
        raise ValueError("no class file")
    texts, classes, at = _constants(data)
    _, this, base, interfaces = struct.unpack_from(">HHHH", data, at)
    at += 8 + 2 * interfaces
    _, at = _members(data, at, texts)  # the fields
    methods, _ = _members(data, at, texts)
    parent = texts[classes[base]].replace("/", ".") if base else ""
    return ClassFile(texts[classes[this]].replace("/", "."), parent, frozenset(methods))


def _constants(data: bytes) -> tuple[dict[int, str], dict[int, int], int]:
    """The texts and the names of classes among the constants, by number, and where the constants end."""
    texts: dict[int, str] = {}
    classes: dict[int, int] = {}
    (count,) = struct.unpack_from(">H", data, 8)
    at, number = 10, 1
    while number < count:
        tag = data[at]
        at += 1
        if tag == _UTF8:
            (size,) = struct.unpack_from(">H", data, at)
            texts[number] = data[at + 2 : at + 2 + size].decode("utf-8", errors="replace")
            at += 2 + size
        elif tag in _SIZES:
            if tag == _CLASS:
                (classes[number],) = struct.unpack_from(">H", data, at)
            at += _SIZES[tag]
        else:
            raise ValueError(f"constant {number} is of an unknown type, {tag}")
        number += 2 if tag in _WIDE else 1
    return texts, classes, at


def _members(data: bytes, at: int, texts: dict[int, str]) -> tuple[list[tuple[str, str]], int]:
    """The names and descriptors of the fields or of the methods that begin at ``at``, and where they end."""
    (count,) = struct.unpack_from(">H", data, at)
    at += 2
    found = []
    for _ in range(count):
        _, name, descriptor, attributes = struct.unpack_from(">HHHH", data, at)
        found.append((texts[name], texts[descriptor]))
        at += 8
        for _ in range(attributes):
            (size,) = struct.unpack_from(">I", data, at + 2)
            at += 6 + size
    return found, at


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
