"""The files that a worker needs to run an experiment: those in the folder of the experiment, and others it names.

They are sent with their absolute names, and a worker puts them below a folder of its own. So every relative name
means the same file there as here, whether it counts from the experiment or from the working directory. A file with an
absolute name in the experiment is read where it is; it must be on every worker.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stream2gym.errors import BadInput, Mistake
from stream2gym.prepare import Prepared
from stream2gym.record.folder import RUNS
from stream2gym.sweep_cluster.folder_stream import pack
from stream2gym.sweeps.check_points import find_input_files
from stream2gym.sweeps.sweep_folder import SWEEPS

MIB = 1024 * 1024
MOST_BYTES = 128 * MIB
MOST_FILES = 10_000
_RESULT_FILES = ("run.json", "sweep.json")
_NOT_SENT = (RUNS, SWEEPS, "__pycache__")


@dataclass(frozen=True)
class ExperimentFiles:
    """The files of an experiment as one stream. ``experiment`` and ``folder`` are absolute names on this machine."""

    experiment: str
    # The working directory.
    folder: str
    # Files that must be on every worker under these names.
    named: tuple[str, ...]
    content: bytes


def collect_files(experiment: Path, first: Prepared, texts: Sequence[str]) -> ExperimentFiles:
    """Collect the files of an experiment and those that ``texts`` name. BadInput if they are too much to send."""
    experiment = experiment.absolute()
    named = tuple(text for text in texts if os.path.isabs(text) and Path(text).is_file())
    beside = [path.absolute() for path in find_input_files(first, texts) if str(path) not in named]
    files = dict.fromkeys([*_walk(experiment.parent), *beside])
    _check_size(files, experiment.parent)
    names = {os.path.normpath(path).lstrip("/"): path for path in files}
    return ExperimentFiles(str(experiment), os.getcwd(), named, b"".join(pack(names)))


def place_below(root: Path, name: str) -> Path:
    """Where a file with an absolute name is below the folder of a worker."""
    return root / os.path.normpath(name).lstrip("/")


def _walk(folder: Path) -> Iterator[Path]:
    """The ordinary files below a folder, without hidden ones and without what runs and sweeps left."""
    for place, folders, files in os.walk(folder):
        if any(name in files for name in _RESULT_FILES):
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_SENT)
        for name in sorted(files):
            path = Path(place, name)
            if not name.startswith(".") and path.is_file():
                yield path


def _check_size(files: Iterable[Path], folder: Path) -> None:
    sizes = {path: path.stat().st_size for path in files}
    total = sum(sizes.values())
    if total <= MOST_BYTES and len(sizes) <= MOST_FILES:
        return
    largest = sorted(sizes, key=lambda path: -sizes[path])[:3]
    shown = ", ".join(f"{os.path.relpath(path, folder)} ({sizes[path] / MIB:,.0f} MiB)" for path in largest)
    what = f"the files of the experiment in {folder} are {len(sizes):,} with {total / MIB:,.0f} MiB, too much to send"
    hint = (
        f"at most {MOST_BYTES // MIB} MiB; the largest: {shown}. Give the experiment a folder of its own, "
        "and name large files by absolute paths that are the same on every worker"
    )
    raise BadInput(Mistake("--master", what, hint))
