"""A stand-in for a repository of jars and for Apache Ivy.

Ivy is a real process that copies jars from a folder to where Ivy would put them. It reports an address if the
repository has one: ``serve`` gives it one, on loopback.
"""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from stream2gym.software.cache import Cache, sha256_of
from stream2gym.software.lock_list import Artifact, LockList

PROGRAM = """
import json, shutil, sys, time
from pathlib import Path
repository, target, delay, address, *names = sys.argv[1:]
repository, target, delay = Path(repository), Path(target), float(delay)
time.sleep(delay)
for name in names:
    with (repository / "asked").open("a") as asked:
        asked.write(("" if not address else "ivy ") + name + "\\n")
    source = repository / name
    if not source.is_file():
        sys.exit(f":: {name.split('/')[0]}#{name.split('/')[1]};{name.split('/')[2]}: not found")
    (target / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target / name)
    if address:
        group, *rest = name.split("/")
        place = "/".join([address, *group.split("."), *rest])
        report = target.parent / "cache" / "stream2gym-fetch-default.xml"
        report.parent.mkdir(exist_ok=True)
        report.write_text(f'<ivy-report><origin-location is-local="false" location="{place}"/></ivy-report>')
"""


class FakeRepository:
    """Jars in a folder, and the ``start`` that stands for ``ivy.start``."""

    def __init__(self, folder: Path, delay_s: float = 0.0) -> None:
        self.folder = folder
        self.delay_s = delay_s
        self.address = ""
        self.denied: set[str] = set()  # file names that are not served without a password
        folder.mkdir(parents=True, exist_ok=True)

    def publish(self, name: str, content: bytes = b"jar") -> Artifact:
        artifact = Artifact("org.example", name, "1.0")
        jar = self.folder / artifact.path
        jar.parent.mkdir(parents=True, exist_ok=True)
        jar.write_bytes(content)
        return Artifact("org.example", name, "1.0", sha256_of(jar), len(content))

    def publish_list(self, *names: str) -> LockList:
        return LockList("fake", (), tuple(self.publish(name, name.encode() * 100) for name in names))

    @contextlib.contextmanager
    def serve(self) -> Iterator[None]:
        """Answer on a port of loopback, in Maven's layout."""
        repository = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                *group, name, version, file = self.path.strip("/").split("/")
                path = f"{'.'.join(group)}/{name}/{version}/{file}"
                repository.note(f"http {path}")
                jar = repository.folder / path
                if file in repository.denied or not jar.is_file():
                    self.send_error(401 if file in repository.denied else 404)
                    return
                self.send_response(200)
                self.end_headers()
                self.wfile.write(jar.read_bytes())

            def log_message(self, *_words: Any) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            self.address = f"http://127.0.0.1:{server.server_port}"
            try:
                yield
            finally:
                server.shutdown()

    def note(self, asked: str) -> None:
        with (self.folder / "asked").open("a") as file:
            file.write(f"{asked}\n")

    def asked(self) -> list[str]:
        file = self.folder / "asked"
        return file.read_text().splitlines() if file.is_file() else []

    def start(
        self, artifacts: Sequence[Artifact], folder: Path, _java: Any, _cache: Cache, **_: Any
    ) -> subprocess.Popen[bytes]:
        folder.mkdir(parents=True, exist_ok=True)
        names = [artifact.path for artifact in artifacts]
        command = [
            sys.executable,
            "-S",
            "-c",
            PROGRAM,
            str(self.folder),
            str(folder / "got"),
            str(self.delay_s),
            self.address,
        ]
        with (folder / "ivy.log").open("wb") as log:
            return subprocess.Popen([*command, *names], stdout=log, stderr=subprocess.STDOUT)
