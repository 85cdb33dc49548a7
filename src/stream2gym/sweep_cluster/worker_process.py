"""Starts our processes on a worker: under a guard, with few variables, in a temporary folder with the experiment.

Spark's Python process calls this. However it ends (Spark kills it when a job is cancelled), the guard kills what was
started and removes the folder.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from stream2gym.hosts.environment import clean_environment
from stream2gym.point_process import JsonProcess
from stream2gym.software.child_process import new_folder_name
from stream2gym.sweep_cluster.experiment_files import place_below
from stream2gym.sweep_cluster.folder_stream import unpack

# Where software is fetched from and kept, and where temporary files are.
_ALSO_KEPT = ("XDG_CACHE_HOME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
_KEPT_PREFIX = "S2G_"
_KEPT_SUFFIX = "_proxy"
# Spark has its own Java, which is not meant for the run.
_DROPPED = "JAVA_HOME"


def worker_environment(spark: Mapping[str, str]) -> dict[str, str]:
    """The variables of a process on a worker: those that a run inherits anywhere, and nothing of Spark's."""
    kept = {
        name: value
        for name, value in spark.items()
        if name in _ALSO_KEPT or name.startswith(_KEPT_PREFIX) or name.lower().endswith(_KEPT_SUFFIX)
    }
    kept |= clean_environment(spark)
    kept.pop(_DROPPED, None)
    return kept


@contextlib.contextmanager
def start_on_worker(module: str, experiment: str, folder: str, content: bytes) -> Iterator[tuple[JsonProcess, Path]]:
    """The process ``python -m MODULE EXPERIMENT FOLDER`` with the files of the experiment, and its temporary folder.

    ``experiment`` and ``folder`` are absolute names on the machine of the command. The process gets the names that
    they have on this one.
    """
    scratch = new_folder_name("s2g-point")
    root = scratch / "files"
    words = (module, str(place_below(root, experiment)), str(place_below(root, folder)))
    with (
        tempfile.TemporaryFile() as log,
        JsonProcess(*words, log=log, env=worker_environment(os.environ), folder=scratch) as process,
    ):
        unpack([content], root)
        place_below(root, folder).mkdir(parents=True, exist_ok=True)
        yield process, scratch
