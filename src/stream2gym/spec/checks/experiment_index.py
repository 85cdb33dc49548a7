"""The names in an experiment, collected once for all checks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from stream2gym.spec.findings import DataPath, Finding, brief, did_you_mean
from stream2gym.spec.model.components import Component
from stream2gym.spec.model.experiment import GROUPS, Experiment
from stream2gym.spec.readers.pruning import EVERYTHING
from stream2gym.spec.readers.user_files import exists, is_folder


@dataclass(frozen=True)
class ExperimentIndex:
    """The names of hosts, switches, links, components and topics."""

    experiment: Experiment
    base: Path
    excused: frozenset[str]
    hosts: frozenset[str]
    switches: frozenset[str]
    links: frozenset[tuple[str, str]]
    topics: frozenset[str]
    # Kind and component by name.
    components: dict[str, tuple[str, Component]]

    @classmethod
    def of(cls, experiment: Experiment, base: Path, excused: set[str]) -> ExperimentIndex:
        """The index of an experiment."""
        topology = experiment.topology
        return cls(
            experiment,
            base,
            frozenset(excused),
            frozenset(host.name for host in topology.hosts),
            frozenset(switch.name for switch in topology.switches),
            frozenset(link.between for link in topology.links),
            frozenset(topic.name for topic in experiment.topics),
            {str(part.name): (kind, part) for kind, part in experiment.components()},
        )

    def parts(self) -> Iterator[tuple[DataPath, str, Component]]:
        """Every component with its path and its kind."""
        for group, kind in GROUPS.items():
            for number, part in enumerate(getattr(self.experiment, group)):
                yield (group, number), kind, part

    def knows(self, name: str) -> bool:
        """Whether the name may exist, because a part that may define it could not be read."""
        return EVERYTHING in self.excused or name in self.excused

    def lost(self, section: str) -> bool:
        """Whether part of a section could not be read. Then nothing is reported as missing in it."""
        return EVERYTHING in self.excused or f"#{section}" in self.excused

    def unknown(self, path: DataPath, noun: str, name: str, known: Collection[str]) -> Iterator[Finding]:
        """A finding unless ``name`` is one of the known names."""
        if name not in known and not self.knows(name):
            hint = did_you_mean(name, sorted(known)) or f"there is no {noun} at all"
            yield Finding(path, f"there is no {noun} {brief(name)}", hint)

    def host(self, path: DataPath, name: str) -> Iterator[Finding]:
        """A finding unless ``name`` is a host."""
        if name in self.switches:
            yield Finding(path, f"{name} is a switch", "only hosts run programs")
        else:
            yield from self.unknown(path, "host", name, self.hosts)

    def topic(self, path: DataPath, name: str) -> Iterator[Finding]:
        """A finding unless the topic is declared."""
        yield from self.unknown(path, "topic", name, self.topics)

    def matching(self, pattern: str, names: Iterable[str]) -> bool:
        """Whether a name or glob matches one of the names."""
        return EVERYTHING in self.excused or any(fnmatchcase(name, pattern) for name in (*names, *self.excused))

    def program(self, path: DataPath, app: str, python: str | None) -> Iterator[Finding]:
        """A finding unless the program exists and can run: by itself, by our Python or by the named one."""
        absent = list(self.file((*path, "app"), app))
        yield from absent
        program = self.base / app.replace("\0", "?")
        if not absent and python is None and program.suffix != ".py" and not os.access(program, os.X_OK):
            hint = f"chmod +x {app}, or name its interpreter under 'python'"
            yield Finding((*path, "app"), f"its program {brief(app)} is not executable", hint)
        if python is not None:
            # A name is looked up on the PATH; a path is relative to the folder of the experiment.
            wanted = str(self.base / python) if "/" in python else python
            if "\0" in python or shutil.which(wanted) is None:
                what = f"its Python {brief(python)} cannot be run"
                yield Finding((*path, "python"), what, "a path, or the name of a program on the PATH")

    def file(self, path: DataPath, written: str, *, folder: bool = False) -> Iterator[Finding]:
        """A finding unless the file exists."""
        there = self.base / written if "\0" not in written else self.base / "?"
        if not exists(there):
            what = f"{'folder' if folder else 'file'} {brief(written)} does not exist"
            yield Finding(path, what, f"looked in {self.base}", missing_file=True)
        elif folder != is_folder(there):
            yield Finding(path, f"{brief(written)} is {'not ' if folder else ''}a folder", missing_file=True)
