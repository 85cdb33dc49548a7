"""The program of a Flink job: SQL statements with their variables filled in, or a class of a jar; why it failed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stream2gym.components.death_cause import SEARCHED_LINES, first_cause
from stream2gym.components.run_context import end_of_log
from stream2gym.errors import BadInput, Mistake
from stream2gym.software.fetch import Progress
from stream2gym.software.flink_software import FlinkSoftware
from stream2gym.software.java_classes import main_class
from stream2gym.software.java_compiler import compile_java
from stream2gym.software.software_lists import FLINK
from stream2gym.spec.model import Engine
from stream2gym.spec.sql_statements import SqlMistake, fill_in, pack_statements, split_statements

SQL_ERROR = re.compile(r"^SQL error in .*$", re.MULTILINE)
_OTHER_FLINK = re.compile(
    r"(NoSuchMethodError|NoSuchFieldError|NoClassDefFoundError|AbstractMethodError|IncompatibleClassChangeError"
    r"|ClassNotFoundException|UnsupportedClassVersionError).*org[./]apache[./]flink"
)
_OTHER_JOB = re.compile(
    r"Cannot map (checkpoint|savepoint)|no operator for the (state|savepoint)|--allowNonRestoredState"
    r"|Failed to rollback to checkpoint|max parallelism .* cannot be|State migration"
)
_NO_TOPIC = re.compile(r"UnknownTopicOrPartition|Failed to get metadata for topics")
_TRANSACTION = "transaction timeout is larger than the maximum"
_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"


@dataclass(frozen=True)
class FlinkProgram:
    """A program that is ready to be started. ``jar`` and ``main`` are those of Java programs."""

    software: FlinkSoftware
    app: Path
    jar: Path | None = None
    main: str = ""

    @property
    def jars(self) -> Sequence[Path]:
        return () if self.jar is None else (self.jar,)

    def arguments(self, statements: str, args: Sequence[str]) -> list[str]:
        """The arguments of the class that runs it; ``statements`` is the file on the host with its statements."""
        return ["sql", statements] if self.jar is None else ["class", self.main, *args]

    def statements(self, variables: Mapping[str, str]) -> bytes:
        """The statements of a file of SQL, as the class that runs them reads them; empty for a Java program."""
        if self.jar is not None:
            return b""
        try:
            found = split_statements(self.app.read_text("utf-8"))
            return pack_statements([fill_in(statement, variables) for statement in found])
        except SqlMistake as mistake:
            what = Mistake(self.app.name, mistake.what, mistake.hint, file=str(self.app), line=mistake.line)
            raise BadInput(what) from mistake


def prepare_program(part: Engine, base: Path, software: FlinkSoftware, progress: Progress) -> FlinkProgram:
    """Compile the program of an engine if it is Java, and find the class to start. BadInput if that fails."""
    app = base / str(part.app)
    suffix = app.suffix.lower()
    where = f"engine {part.name}"
    if suffix == ".sql":
        return FlinkProgram(software, app)
    jar = app
    if suffix == ".java":
        class_path = [*software.jars, *software.packages]
        jar = compile_java(app, class_path, where=where, java=software.java, progress=progress)
    return FlinkProgram(software, app, jar, main_class(jar, part.settings.get("main"), where=where, shown=str(app)))


def newest_checkpoint(folder: Path) -> Path | None:
    """The checkpoint in a folder that was completed last; None if there is none. Each job has a folder of its own."""
    found = [(path.stat().st_mtime_ns, path.parent) for path in folder.glob("*/chk-*/_metadata")]
    return max(found)[1] if found else None


def explain_death(log: Path, told: str, topics: Sequence[str], memory_mb: int) -> str:
    """Why a job died, in its own words, with a remedy where we know one. ``told`` is what its REST interface said."""
    text = end_of_log(log, SEARCHED_LINES)
    if refused := SQL_ERROR.findall(text):
        return str(refused[-1])
    if _OUT_OF_MEMORY in text:
        return f"out of memory ({_OUT_OF_MEMORY}): it has {memory_mb} MiB; give it more, like 'memory: 1 GiB'"
    found = told or first_cause(text)
    seen = f"{found}\n{text}"
    if _OTHER_FLINK.search(found):
        return f"{found} (it was built for another version of Flink; this is {FLINK})"
    if _OTHER_JOB.search(seen):
        return f"{found} (the checkpoint is that of another job: 'restore' needs one of the same program)"
    if _NO_TOPIC.search(found):
        return f"{found} (it reads a topic that nobody made; there are: {', '.join(topics) or 'none'})"
    if _TRANSACTION in seen:
        return f"{found} (give its sink 'properties.transaction.timeout.ms' = '600000')"
    return found
