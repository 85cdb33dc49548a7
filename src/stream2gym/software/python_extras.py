"""Python packages that only some experiments need, and the extra of stream2gym that installs each."""

from __future__ import annotations

import ast
import importlib.util
import os
from pathlib import Path

# What a program imports, to the extra that installs it.
EXTRAS = {
    "kafka": "published",
    "numpy": "published",
    "textblob": "published",
    "pymongo": "stores",
    "rocksdict": "stores",
}


def install_hint(module: str) -> str:
    """How to install a module that belongs to an extra; empty for any other."""
    return f"pip install 'stream2gym[{EXTRAS[module]}]' brings it" if module in EXTRAS else ""


def missing_modules(program: Path) -> list[str]:
    """Modules of the extras that a program imports at its start and that are not installed."""
    try:
        tree = ast.parse(program.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []  # whoever runs it says what is wrong with it
    names = []
    for statement in tree.body:  # an import inside a try or a function may never be reached
        if isinstance(statement, ast.Import):
            names += [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0 and statement.module:
            names.append(statement.module)
    wanted = dict.fromkeys(name.partition(".")[0] for name in names)
    beside = program.parent
    return [
        name
        for name in wanted
        if name in EXTRAS
        and importlib.util.find_spec(name) is None
        and not os.path.isdir(beside / name)
        and not os.path.isfile(beside / f"{name}.py")
    ]
