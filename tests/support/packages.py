"""A package of somebody else's with plug-ins, installed as pip would do it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from stream2gym.kinds.registry import registry


@contextlib.contextmanager
def installed_package(
    site: Path, name: str, modules: Mapping[str, str], entry_points: str, patch: pytest.MonkeyPatch
) -> Iterator[None]:
    """While the block runs, a package with these modules and entry points is installed in the folder ``site``."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    for module, text in modules.items():
        (site / f"{module}.py").write_text(text)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    patch.syspath_prepend(str(site))
    registry.cache_clear()
    yield
    registry.cache_clear()
    for module in modules:
        sys.modules.pop(module, None)
