"""The names of an experiment, indexed once for all checks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from stream2gym.spec.components import Component
from stream2gym.spec.experiment import GROUPS, Experiment
from stream2gym.spec.files import exists, is_folder
from stream2gym.spec.places import Finding, Place, brief, did_you_mean
from stream2gym.spec.pruning import EVERYTHING


@dataclass(frozen=True)
class Index:
    """What there is, by name."""

    experiment: Experiment
    base: Path
    excused: frozenset[str]
    hosts: frozenset[str]
    switches: frozenset[str]
    links: frozenset[tuple[str, str]]
    topics: frozenset[str]
    components: dict[str, tuple[str, Component]]  # name to kind and component

    @classmethod
    def of(cls, experiment: Experiment, base: Path, excused: set[str]) -> Index:
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

    def parts(self) -> Iterator[tuple[Place, str, Component]]:
        """Every component with its place and kind."""
        for group, kind in GROUPS.items():
            for number, part in enumerate(getattr(self.experiment, group)):
                yield (group, number), kind, part

    def knows(self, name: str) -> bool:
        """Whether a name cannot be called unknown, since what defined it could not be read."""
        return EVERYTHING in self.excused or name in self.excused

    def lost(self, section: str) -> bool:
        """Whether part of a section could not be read, so that nothing can be said about what it lacks."""
        return EVERYTHING in self.excused or f"#{section}" in self.excused

    def unknown(self, path: Place, noun: str, name: str, known: Collection[str]) -> Iterator[Finding]:
        """A finding unless ``name`` is one of the known."""
        if name not in known and not self.knows(name):
            hint = did_you_mean(name, sorted(known)) or f"there is no {noun} at all"
            yield Finding(path, f"there is no {noun} {brief(name)}", hint)

    def host(self, path: Place, name: str) -> Iterator[Finding]:
        """A finding unless ``name`` is a host."""
        if name in self.switches:
            yield Finding(path, f"{name} is a switch", "only hosts run something")
        else:
            yield from self.unknown(path, "host", name, self.hosts)

    def topic(self, path: Place, name: str) -> Iterator[Finding]:
        """A finding unless somebody declared the topic."""
        yield from self.unknown(path, "topic", name, self.topics)

    def matching(self, pattern: str, names: Iterable[str]) -> bool:
        return EVERYTHING in self.excused or any(
            fnmatchcase(name, pattern) for name in (*names, *self.excused)
        )

    def file(self, path: Place, written: str, *, folder: bool = False) -> Iterator[Finding]:
        """A finding unless the file is there."""
        there = self.base / written if "\0" not in written else self.base / "?"
        if not exists(there):
            what = f"{'folder' if folder else 'file'} {brief(written)} does not exist"
            yield Finding(path, what, f"looked in {self.base}", missing_file=True)
        elif folder != is_folder(there):
            yield Finding(path, f"{brief(written)} is {'not ' if folder else ''}a folder", missing_file=True)
