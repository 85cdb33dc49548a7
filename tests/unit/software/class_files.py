"""Class files and jars for tests, written byte by byte."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

MAIN = ("main", "([Ljava/lang/String;)V")


def class_file(name: str, methods: Sequence[tuple[str, str]] = (), base: str = "java.lang.Object") -> bytes:
    """A class file with a field, a constant of two slots and a method for each name and descriptor."""
    constants: list[bytes] = []

    def add(constant: bytes, slots: int = 1) -> int:
        constants.append(constant)
        constants.extend([b""] * (slots - 1))
        return len(constants) - slots + 1

    def text(value: str) -> int:
        return add(struct.pack(">BH", 1, len(value)) + value.encode())

    add(struct.pack(">Bq", 5, 7), slots=2)
    this = add(struct.pack(">BH", 7, text(name.replace(".", "/"))))
    parent = add(struct.pack(">BH", 7, text(base.replace(".", "/"))))
    code = struct.pack(">HI", text("Code"), 3) + b"abc"
    members = [struct.pack(">HHHH", 0, text(n), text(d), 1) + code for n, d in [("count", "I"), *methods]]
    body = struct.pack(">HHHH", 0x21, this, parent, 0)
    body += struct.pack(">H", 1) + members[0] + struct.pack(">H", len(methods)) + b"".join(members[1:])
    head = struct.pack(">IHHH", 0xCAFEBABE, 0, 69, len(constants) + 1)
    return head + b"".join(constants) + body + struct.pack(">H", 0)


def write_jar(path: Path, classes: Sequence[bytes], names: Sequence[str], manifest: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as jar:
        if manifest:
            jar.writestr("META-INF/MANIFEST.MF", manifest)
        for name, data in zip(names, classes, strict=True):
            jar.writestr(name.replace(".", "/") + ".class", data)
    return path
