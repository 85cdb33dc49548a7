"""What CONTRIBUTING says about the order of rooms, and what the source imports; the two are compared here.

A room is a package or a module directly below ``stream2gym``. The package itself (its ``__init__``) is the room
``__init__``. Imports inside functions and under ``TYPE_CHECKING`` count like all others.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

HEADING = "## The house"


@dataclass(frozen=True)
class Import:
    """One import of a module of the package by another one. A module that is only named is started by its name."""

    importer: str
    imported: str
    line: int
    is_named_only: bool = False


def read_map(contributing: str) -> list[str]:
    """The rooms in the order of the table: the names in backticks in its first column."""
    section = contributing.split(HEADING, 1)[1].split("\n## ", 1)[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    names = [name for cell in cells for quoted in re.findall(r"`([^`]+)`", cell) for name in quoted.split()]
    return [name.removesuffix("/").removesuffix(".py") for name in names]


def find_modules(package: Path) -> dict[str, Path]:
    """Every module of the package by its dotted name. Folders without ``__init__`` hold data."""
    modules: dict[str, Path] = {package.name: package / "__init__.py"}
    for path in sorted(package.iterdir()):
        if (path / "__init__.py").is_file():
            modules |= {f"{package.name}.{name}": file for name, file in find_modules(path).items()}
        elif path.suffix == ".py" and path.stem != "__init__":
            modules[f"{package.name}.{path.stem}"] = path
    return modules


def find_imports(modules: Mapping[str, Path]) -> list[Import]:
    """Every import between these modules."""
    return [found for name, path in modules.items() for found in _imports_of(name, path, modules)]


def _imports_of(name: str, path: Path, modules: Mapping[str, Path]) -> Iterator[Import]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (Import(name, alias.name, node.lineno) for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            full_names = [f"{source}.{alias.name}" for alias in node.names]
            found = {full if full in modules else source for full in full_names}
            yield from (Import(name, one, node.lineno) for one in sorted(found & modules.keys()))
        elif isinstance(node, ast.Constant) and node.value in modules and str(node.value).count(".") > 1:
            # ``python -m`` and the like; a name with one dot may also be a group of entry points.
            yield Import(name, str(node.value), node.lineno, is_named_only=True)


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def compare_names(order: list[str], modules: Mapping[str, Path]) -> list[str]:
    """What the map lacks, names twice, or names although it is not there."""
    rooms = {room_of(name) for name in modules}
    missing = [f"the map does not name {room}" for room in sorted(rooms - set(order))]
    gone = [f"the map names {room}, which is not there" for room in order if room not in rooms]
    twice = [f"the map names {room} twice" for room in sorted(set(order)) if order.count(room) > 1]
    return missing + gone + twice


def find_wrong_imports(order: list[str], imports: list[Import]) -> list[str]:
    """Imports from a room that stands below the importer's own."""
    place = {room: number for number, room in enumerate(order)}
    return [
        f"{one.importer}, line {one.line}: imports {one.imported}, but {room_of(one.imported)} stands below "
        f"{room_of(one.importer)}"
        for one in imports
        if place.get(room_of(one.imported), -1) > place.get(room_of(one.importer), len(order))
    ]


def find_cycles(imports: list[Import]) -> list[list[str]]:
    """Modules that import each other in a circle: the shortest circle of each module that is in none before."""
    imported_by: dict[str, set[str]] = {}
    for one in imports:
        if not one.is_named_only:
            imported_by.setdefault(one.importer, set()).add(one.imported)
    cycles: list[list[str]] = []
    for start in sorted(imported_by):
        cycle = _way_back(start, imported_by)
        if cycle and not any(start in known for known in cycles):
            cycles.append(cycle)
    return cycles


def _way_back(start: str, imported_by: Mapping[str, set[str]]) -> list[str]:
    """The shortest chain of imports from a module to itself, empty when there is none."""
    queue = deque([[start]])
    seen: set[str] = set()
    while queue:
        chain = queue.popleft()
        for module in sorted(imported_by.get(chain[-1], ())):
            if module == start:
                return [*chain, start]
            if module not in seen:
                seen.add(module)
                queue.append([*chain, module])
    return []
