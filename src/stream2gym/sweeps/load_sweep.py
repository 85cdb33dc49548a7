"""Reads a sweep file and checks it. Every mistake is reported at once, with its place and what would be valid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from stream2gym.errors import BadInput, Mistake
from stream2gym.spec.findings import DataPath, Finding, Origins
from stream2gym.spec.readers.user_files import YAML_LIMIT, decode, read_bytes, shown_path
from stream2gym.spec.readers.yaml_documents import read_documents
from stream2gym.spec.validation_messages import findings_of
from stream2gym.sweeps.agreement import find_shapes_that_were_not_published
from stream2gym.sweeps.agreement_grammar import find_agreement_problems
from stream2gym.sweeps.published_values import PublishedTable, read_published
from stream2gym.sweeps.run_figures import find_figure_problems
from stream2gym.sweeps.sweep_file import SweepFile
from stream2gym.sweeps.sweep_problems import find_sweep_problems


@dataclass(frozen=True)
class LoadedSweep:
    """A checked sweep file. The path of its experiment is relative to ``base``."""

    file: SweepFile
    base: Path
    path: Path | None = None
    origins: Origins = field(default_factory=Origins)
    data: Any = None
    published: PublishedTable = field(default_factory=PublishedTable)

    def mistake(self, path: DataPath, what: str, hint: str = "") -> Mistake:
        """A mistake at a place of the file."""
        return self.origins.mistake(Finding(path, what, hint), self.data)

    @property
    def experiment(self) -> str:
        """The base as a command line takes it: the name of an example, or a path."""
        word = self.file.experiment
        return str(self.base / word) if "/" in word or Path(word).suffix else word


def load_sweep(path: Path, cwd: Path | None = None) -> LoadedSweep:
    """Read and check a sweep file. BadInput lists every mistake."""
    cwd = (cwd or Path.cwd()).absolute()
    path = cwd / path
    shown = shown_path(path, cwd)
    documents, mistakes = read_documents(decode(read_bytes(path, YAML_LIMIT, shown), shown), shown)
    if not documents or not isinstance(documents[0].data, dict):
        raise BadInput([*mistakes, Mistake("", "is not a sweep", "begin with 'sweep: 1'", shown)])
    data = {key: value for key, value in documents[0].data.items() if value is not None}
    if "sweep" not in data:
        hint = "this is an experiment: s2g run FILE" if "s2g" in data else "begin with 'sweep: 1'"
        mistakes.append(Mistake("sweep", "the format version is missing", hint, shown, 1))
        data.pop("s2g", None)
    return check_sweep(data, path.parent, path, documents[0].origins, mistakes)


def check_sweep(
    data: Mapping[str, Any],
    base: Path,
    path: Path | None = None,
    origins: Origins | None = None,
    mistakes: Sequence[Mistake] = (),
) -> LoadedSweep:
    """Check the data of a sweep file. BadInput lists its mistakes after those that are given."""
    where = origins or Origins()
    try:
        file = SweepFile.model_validate(data)
    except ValidationError as error:
        found = [where.mistake(finding, data) for finding in findings_of(error, SweepFile, data)]
        raise BadInput([*mistakes, *found]) from None
    found = [*mistakes, *(where.mistake(finding, data) for finding in find_sweep_problems(file))]
    table, unread = _read_published_file(file, base, where, data)
    found += unread
    if not found:
        axes = {name: axis.list_values() for name, axis in file.axes.items()}
        quantities = {response.label: response.quantity for response in file.responses}
        problems = list(find_agreement_problems(file.agreement, quantities, axes, table))
        problems = problems or list(find_shapes_that_were_not_published(file.agreement, quantities, axes, table))
        found += [where.mistake(finding, data) for finding in (*problems, *find_figure_problems(file))]
    if found:
        raise BadInput(found)
    return LoadedSweep(file, base, path, where, data, table)


def _read_published_file(
    file: SweepFile, base: Path, origins: Origins, data: Any
) -> tuple[PublishedTable, list[Mistake]]:
    """The published values that the file names, and what is wrong with them."""
    if not file.published:
        return PublishedTable(), []
    try:
        path = base / file.published
        return read_published(path, shown_path(path, Path.cwd())), []
    except BadInput as error:
        place = origins.mistake(Finding(("published",), ""), data)
        lacks_file = [one for one in error.mistakes if not one.line]
        found = [replace(place, what=f"{file.published}: {one.what}", hint=one.hint) for one in lacks_file]
        return PublishedTable(), [*found, *(one for one in error.mistakes if one.line)]
