"""A stand-in for Apache Ivy: a real process that copies jars from a folder to where Ivy would put them."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stream2gym.software.cache import Cache, sha256_of
from stream2gym.software.lock import Artifact, LockList

PROGRAM = """
import json, shutil, sys, time
from pathlib import Path
repository, target, delay, names = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
time.sleep(delay)
for name in names:
    with (repository / "asked").open("a") as asked:
        asked.write(name + "\\n")
    source = repository / name
    if not source.is_file():
        sys.exit(f":: {name.split('/')[0]}#{name.split('/')[1]};{name.split('/')[2]}: not found")
    (target / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target / name)
"""


class FakeRepository:
    """Jars in a folder, and the ``start`` that stands for ``ivy.start``."""

    def __init__(self, folder: Path, delay_s: float = 0.0) -> None:
        self.folder = folder
        self.delay_s = delay_s
        folder.mkdir(parents=True, exist_ok=True)

    def publish(self, name: str, content: bytes = b"jar") -> Artifact:
        artifact = Artifact("org.example", name, "1.0")
        jar = self.folder / artifact.path
        jar.parent.mkdir(parents=True, exist_ok=True)
        jar.write_bytes(content)
        return Artifact("org.example", name, "1.0", sha256_of(jar), len(content))

    def publish_list(self, *names: str) -> LockList:
        return LockList("fake", (), tuple(self.publish(name, name.encode() * 100) for name in names))

    def asked(self) -> list[str]:
        file = self.folder / "asked"
        return file.read_text().splitlines() if file.is_file() else []

    def start(
        self, artifacts: Sequence[Artifact], folder: Path, _java: Any, _cache: Cache, **_: Any
    ) -> subprocess.Popen[bytes]:
        folder.mkdir(parents=True)
        names = [artifact.path for artifact in artifacts]
        command = [
            sys.executable,
            "-S",
            "-c",
            PROGRAM,
            str(self.folder),
            str(folder / "got"),
            str(self.delay_s),
        ]
        with (folder / "ivy.log").open("wb") as log:
            return subprocess.Popen([*command, *names], stdout=log, stderr=subprocess.STDOUT)
