"""A folder whose files have the names of modules that we import, and leave a mark when they are imported."""

from __future__ import annotations

from pathlib import Path

# Modules of the standard library that are not loaded when an interpreter starts, packages of ours, ourselves.
HOSTILE_NAMES = (
    "__future__", "argparse", "array", "ast", "base64", "bisect", "collections", "contextlib", "copy", "copyreg",
    "csv", "ctypes", "dataclasses", "datetime", "difflib", "enum", "fnmatch", "functools", "getopt", "glob",
    "hashlib", "heapq", "html", "importlib", "inspect", "itertools", "json", "keyword", "logging", "math", "mmap",
    "operator", "pathlib", "pickle", "queue", "random", "re", "select", "shutil", "signal", "sitecustomize", "socket",
    "statistics", "string", "struct", "subprocess", "tempfile", "textwrap", "threading", "tokenize", "traceback",
    "types", "typing", "usercustomize", "uuid", "warnings", "weakref", "zipfile",
    "confluent_kafka", "numpy", "py4j", "pyarrow", "pydantic", "pymysql", "pyspark", "rich", "stream2gym", "yaml",
)  # fmt: skip
_TEXT = """\
import os
open(os.path.join({marks!r}, {name!r} + "-" + str(os.getpid())), "w").close()
raise ImportError("this file stands beside the experiment")
"""


class Hostile:
    """The folder and the marks of those who imported from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._marks = folder / "marks"
        self._marks.mkdir()
        for name in HOSTILE_NAMES:
            (folder / f"{name}.py").write_text(_TEXT.format(marks=str(self._marks), name=name))

    def marks(self) -> list[str]:
        """The names of the modules that were imported, each with the number of the process."""
        return sorted(path.name for path in self._marks.iterdir())
