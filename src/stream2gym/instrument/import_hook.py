"""Changes modules as they are loaded: the import system calls a function of ours when a named module is complete.

A module that other modules copy names from must be changed before they do, so a change after the whole library was
imported would come too late.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

Change = Callable[[ModuleType], None]


class LoadHook:
    """A finder of modules that finds nothing itself: it lets the others find and adds a change to be made."""

    def __init__(self, changes: Mapping[str, Change]) -> None:
        self._changes = dict(changes)
        self._searching: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec that the next finder gives, with a loader that makes the change."""
        if name not in self._changes or name in self._searching:
            return None
        self._searching.add(name)
        try:
            for finder in sys.meta_path:
                find = getattr(finder, "find_spec", None)
                if finder is self or find is None:
                    continue
                spec: importlib.machinery.ModuleSpec | None = find(name, path, target)
                if spec is not None:
                    if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                        spec.loader = ChangingLoader(spec.loader, self._changes[name])  # type: ignore[assignment]
                    return spec
        finally:
            self._searching.discard(name)
        return None


class ChangingLoader:
    """Loads as the real loader does, then makes the change. The module knows the real loader only."""

    def __init__(self, loader: Any, change: Change) -> None:
        self._loader = loader
        self._change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._change(module)
