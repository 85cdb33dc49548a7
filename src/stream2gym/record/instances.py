"""How the processes of a component are named in samples and log files.

A component with a single process is named as the component. One with several has ``NAME#1``, ``NAME#2`` ...: ``#``
never occurs in the name of a component, so instance 1 of ``a`` is told from a component ``a.1``. Records of earlier
versions wrote ``NAME.1``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

MARK = "#"
_EARLIER_MARK = "."


def instance_label(name: str, instance: int, instances: int) -> str:
    """The name of one process of a component that has ``instances`` of them."""
    return name if instances == 1 else f"{name}{MARK}{instance}"


def component_of(label: str, components: Collection[str] = ()) -> str:
    """The component that a process of this name belongs to, also in a record of an earlier version.

    ``components`` are the names of all components; without them every number behind a dot counts as an instance.
    """
    if label in components:
        return label
    for mark in (MARK, _EARLIER_MARK):
        name, found, number = label.rpartition(mark)
        if found and number.isdigit() and (not components or name in components):
            return name
    return label


def labels_of(name: str, instance: int) -> Iterator[str]:
    """The names that a record may give to an instance of a component with several, today's first."""
    yield f"{name}{MARK}{instance}"
    yield f"{name}{_EARLIER_MARK}{instance}"
