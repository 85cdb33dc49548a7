"""Lock lists: which jars a piece of software is made of, exactly, with the sum that each must have.

A list is a JSON file in ``locks/`` of this package (shipped) or in the cache (recorded when a version
without a shipped list was fetched for the first time). This module reads and writes them; ``resolve`` makes
them, ``fetch`` gets what they name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources

from stream2gym.jsonable import Jsonable


@dataclass(frozen=True)
class Artifact(Jsonable):
    """One jar by its Maven coordinates; an empty sum means that nobody has recorded one yet."""

    group: str
    name: str
    version: str
    sha256: str = ""
    size: int = 0

    @property
    def coordinate(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}.jar"

    @property
    def path(self) -> str:
        """Where it stands below a folder of jars."""
        return f"{self.group}/{self.name}/{self.version}/{self.file_name}"

    @property
    def maven_path(self) -> str:
        """Where it stands below the address of a Maven repository."""
        return f"{self.group.replace('.', '/')}/{self.name}/{self.version}/{self.file_name}"

    @classmethod
    def parse(cls, coordinate: str) -> Artifact:
        """Read ``group:name:version``."""
        parts = coordinate.split(":")
        if len(parts) != 3 or not all(parts):
            raise ValueError(f"{coordinate!r} is not group:name:version")
        return cls(group=parts[0], name=parts[1], version=parts[2])


@dataclass(frozen=True)
class LockList(Jsonable):
    """All the jars of one piece of software, in class path order."""

    name: str
    roots: tuple[str, ...]  # the coordinates that were asked for; the rest came with them
    artifacts: tuple[Artifact, ...]
    origin: str = "shipped"  # or "first use": the sums are those of the first fetch on this machine

    @property
    def size(self) -> int:
        return sum(artifact.size for artifact in self.artifacts)

    def dumps(self) -> str:
        return json.dumps(self.to_json(), indent=1) + "\n"


def shipped(name: str) -> LockList | None:
    """The list of that name in this package, if there is one."""
    file = resources.files("stream2gym.software") / "locks" / f"{name}.json"
    return LockList.from_json(json.loads(file.read_text("utf-8"))) if file.is_file() else None
