"""The program of a Flink job: SQL statements, a class of a jar, or a PyFlink program; why it failed.

A PyFlink program is started by a class, too: Flink's driver for Python, which starts the interpreter of PyFlink as a
child of the JVM.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stream2gym.clients import flink_python
from stream2gym.components.death_cause import SEARCHED_LINES, first_cause
from stream2gym.components.program_command import resolve_python
from stream2gym.components.run_context import end_of_log
from stream2gym.errors import BadInput, Mistake
from stream2gym.software.fetch import Progress
from stream2gym.software.flink_python import ask_interpreter, find_flink_python
from stream2gym.software.flink_software import FlinkSoftware
from stream2gym.software.java_classes import main_class
from stream2gym.software.java_compiler import compile_java
from stream2gym.software.software_lists import FLINK
from stream2gym.spec.model import Engine
from stream2gym.spec.sql_statements import SqlMistake, fill_in, pack_statements, split_statements

PYTHON_DRIVER = "org.apache.flink.client.python.PythonDriver"
# What the two programs of ours that start the user's print. Stack traces of Flink follow it, in which a parser may
# list all words that it knows, several times.
_OWN_WORDS = re.compile(r"^(?:SQL|Python) error in .*$", re.MULTILINE)
_LINES_AFTER_OWN_WORDS = 5_000
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
    """A program that is ready to be started.

    ``jar`` and ``main`` are those of Java programs, for a PyFlink program those of Flink's driver; ``python`` is the
    interpreter of a PyFlink program.
    """

    software: FlinkSoftware
    app: Path
    jar: Path | None = None
    main: str = ""
    python: Path | None = None

    @property
    def jars(self) -> Sequence[Path]:
        return () if self.jar is None else (self.jar,)

    def arguments(self, args: Sequence[str], *, statements: str, folder: str, gate: str) -> list[str]:
        """The arguments of the class that runs it.

        ``statements`` is the file on the host with its statements. ``folder`` and ``gate`` are of use to a PyFlink
        program: its working directory, and the pipe at which it waits (empty: it does not wait).
        """
        if self.jar is None:
            return ["sql", statements]
        if self.python is None:
            return ["class", self.main, *args]
        program = str(self.app.absolute())
        return ["class", self.main, "-py", str(flink_python.__file__), gate or "-", folder, program, *args]

    def config(self) -> dict[str, str]:
        """What Flink must know to run it: the interpreters of its driver and of its functions."""
        if self.python is None:
            return {}
        return {"python.client.executable": str(self.python), "python.executable": str(self.python)}

    def environment(self) -> dict[str, str]:
        """What its processes need: modules beside a PyFlink program are found by its functions, too."""
        if self.python is None:
            return {}
        # Functions would run inside the program in a mini-cluster, and end with a program that does not wait.
        return {"PYTHONPATH": str(self.app.parent.absolute()), "_python_worker_execution_mode": "process"}

    def statements(self, variables: Mapping[str, str]) -> bytes:
        """The statements of a file of SQL, as the class that runs them reads them; empty for other programs."""
        if self.jar is not None:
            return b""
        try:
            found = split_statements(self.app.read_text("utf-8"))
            return pack_statements([fill_in(statement, variables) for statement in found])
        except SqlMistake as mistake:
            what = Mistake(self.app.name, mistake.what, mistake.hint, file=str(self.app), line=mistake.line)
            raise BadInput(what) from mistake


def prepare_program(part: Engine, base: Path, software: FlinkSoftware, progress: Progress) -> FlinkProgram:
    """Compile the program of an engine if it is Java, and find the class to start. BadInput if that fails.

    CannotHere if it is a PyFlink program and there is no PyFlink.
    """
    app = base / str(part.app)
    suffix = app.suffix.lower()
    where = f"engine {part.name}"
    if suffix == ".sql":
        return FlinkProgram(software, app)
    if suffix == ".py":
        wanted = part.settings.get("python")
        found = find_flink_python() if wanted is None else ask_interpreter(resolve_python(str(wanted), base))
        return FlinkProgram(software, app, found.jar, PYTHON_DRIVER, found.python)
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
    if own := _OWN_WORDS.findall(end_of_log(log, _LINES_AFTER_OWN_WORDS)):
        return str(own[-1])
    text = end_of_log(log, SEARCHED_LINES)
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
