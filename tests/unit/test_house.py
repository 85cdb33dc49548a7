"""The source keeps to the map of rooms in CONTRIBUTING.md."""

from __future__ import annotations

import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.house import (
    Import,
    compare_names,
    find_cycles,
    find_imports,
    find_modules,
    find_wrong_imports,
    read_map,
)

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "stream2gym"
ORDER = read_map((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
MAP = """
# Contributing

## The house

| room | what lives there |
|---|---|
| `errors units` | the `least` |
| `spec/` | the `description` |
| `plan/`, `hosts/` | the rest |
| `cli.py __init__` | the command |

## Later

| `other` | table |
"""
SOUND = {
    "__init__.py": "def __getattr__(name: str) -> object:\n    from house.cli import main\n\n    return main\n",
    "errors.py": "",
    "units.py": "from house.errors import Mistake\n",
    "spec/__init__.py": "",
    "spec/model.py": "from house import units\nfrom house.spec.deep import names\n",
    "spec/deep/__init__.py": "",
    "spec/deep/names.py": "from ...units import Size\n",
    "plan/__init__.py": "",
    "plan/make.py": "import house.spec.model\n",
    "hosts/__init__.py": "",
    "hosts/start.py": 'WORDS = ["-m", "house.plan.make"]\n',
    "cli.py": "from house.plan import make\nfrom house.hosts import start\n",
    "examples/data.py": "from house.cli import main\n",
}


def plant(folder: Path, **changes: str) -> Path:
    """A small package that keeps to MAP, but for some of its files."""
    package = folder / "house"
    for name, text in (SOUND | changes).items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return package


def find_faults(package: Path) -> list[str]:
    order, modules = read_map(MAP), find_modules(package)
    imports = find_imports(modules)
    cycles = [" > ".join(cycle) for cycle in find_cycles(imports)]
    return compare_names(order, modules) + find_wrong_imports(order, imports) + cycles


@cache
def our_imports() -> list[Import]:
    return find_imports(find_modules(PACKAGE))


def test_the_map_names_every_room_once_and_nothing_else() -> None:
    assert compare_names(ORDER, find_modules(PACKAGE)) == []


def test_every_import_goes_up_the_map() -> None:
    assert find_wrong_imports(ORDER, our_imports()) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert find_cycles(our_imports()) == []


def test_the_map_is_read_row_by_row() -> None:
    assert read_map(MAP) == ["errors", "units", "spec", "plan", "hosts", "cli", "__init__"]


def test_a_tree_that_keeps_to_its_map_has_no_faults(tmp_path: Path) -> None:
    assert find_faults(plant(tmp_path)) == []


@pytest.mark.parametrize(
    "text",
    [
        "from house.plan.make import make",
        "from house.plan import make",
        "from house import plan",
        "import house.plan.make as planning",
        "from ..plan import make",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house.plan.make import Plan",
        "def later() -> None:\n    from house.plan.make import make",
        "class Lazy:\n    def later(self) -> None:\n        import house.plan.make",
        'MAIN = "house.plan.make"',
    ],
)
def test_an_import_against_the_map_is_found_wherever_it_stands(tmp_path: Path, text: str) -> None:
    faults = find_faults(plant(tmp_path, **{"spec/model.py": text}))
    assert any(fault.startswith("house.spec.model, line") and "plan stands below spec" in fault for fault in faults)


def test_an_import_within_a_row_goes_from_right_to_left(tmp_path: Path) -> None:
    faults = find_faults(plant(tmp_path, **{"errors.py": "from house.units import Size", "units.py": ""}))
    assert faults == ["house.errors, line 1: imports house.units, but units stands below errors"]


def test_nothing_imports_the_package_itself(tmp_path: Path) -> None:
    faults = find_faults(plant(tmp_path, **{"units.py": "from house import main"}))
    assert faults[0] == "house.units, line 1: imports house, but __init__ stands below units"


def test_a_room_without_a_place_is_found(tmp_path: Path) -> None:
    assert find_faults(plant(tmp_path, **{"attic.py": ""})) == ["the map does not name attic"]
    assert find_faults(plant(tmp_path, **{"cellar/__init__.py": ""}))[1] == "the map does not name cellar"


def test_a_place_without_a_room_is_found(tmp_path: Path) -> None:
    package = plant(tmp_path)
    (package / "units.py").rename(package / "spec" / "units.py")
    assert "the map names units, which is not there" in find_faults(package)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_circle_of_modules_is_found_even_within_a_room(tmp_path: Path, lazy: bool) -> None:
    back = "from house.spec import model"
    text = f"def later() -> None:\n    {back}" if lazy else back
    faults = find_faults(plant(tmp_path, **{"spec/deep/names.py": text}))
    assert faults == ["house.spec.deep.names > house.spec.model > house.spec.deep.names"]


def test_the_modules_that_the_documentation_names_are_there() -> None:
    groups = {"stream2gym.engines", "stream2gym.faults", "stream2gym.metrics", "stream2gym.stores"}
    pages = [*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    named = {name for page in pages for name in re.findall(r"\bstream2gym(?:\.\w+)+", page.read_text("utf-8"))}
    assert len(named) > 8
    for name in named - groups:
        pkgutil.resolve_name(name)


def test_every_test_file_has_a_name_of_its_own() -> None:
    """Pytest cannot collect two files of one name where folders are no packages."""
    names = [file.name for file in sorted((ROOT / "tests").rglob("test_*.py"))]
    assert sorted(names) == sorted(set(names))
