"""Checks of the intervals of monitors: known names, monitors that may be changed, times that are not too short."""

from __future__ import annotations

from collections.abc import Iterator

from stream2gym.kinds.registry import registry
from stream2gym.spec.checks.experiment_index import ExperimentIndex
from stream2gym.spec.findings import DataPath, Finding, brief, did_you_mean
from stream2gym.units import Duration


def check_monitors(index: ExperimentIndex) -> Iterator[Finding]:
    """Check each entry of ``monitors``."""
    known = registry("monitor")
    adjustable = [kind.name for kind in known.kinds.values() if kind.adjustable]
    for name, every in index.experiment.monitors.items():
        path: DataPath = ("monitors", name)
        kind = known.kinds.get(name)
        if name in known.broken:
            yield Finding(path, f"the plug-in for {name!r} cannot be loaded: {known.broken[name]}")
        elif kind is None:
            yield Finding(path, f"there is no monitor {brief(name)}", did_you_mean(name, adjustable))
        elif not kind.adjustable:
            what = f"how often {name!r} is sampled cannot be changed"
            yield Finding(path, what, f"leave it out; these can be changed: {', '.join(adjustable)}")
        elif isinstance(every, Duration) and float(every) < kind.shortest_s:
            what = f"{every} is too short a time between two looks"
            yield Finding(path, what, f"at least {kind.shortest_s:g} s, or off")
