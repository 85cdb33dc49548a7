"""The folder of a new run, with what is known before the run: its input, its plan, the software and the machine."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from stream2gym.execution.run_control import PlannedRun
from stream2gym.kinds.engine_settings import KAFKA_STREAMS
from stream2gym.record.folder import RunFolder
from stream2gym.software.software_lists import FLINK, KAFKA, PYSPARK
from stream2gym.spec.loading import Loaded
from stream2gym.spec.model import Experiment
from stream2gym.spec.writers.conversion import to_yaml
from stream2gym.version import __version__

_STREAMS = (KAFKA_STREAMS.name, *KAFKA_STREAMS.also)


def new_folder(planned: PlannedRun, loaded: Loaded, out: Path | None) -> RunFolder:
    """Make the run folder (at ``out``, or under ``runs/``): input as given and as understood, plan, warnings."""
    experiment = planned.experiment
    folder = RunFolder.create(
        experiment.name,
        seed=planned.plan.seed,
        out=out,
        began_ns=planned.began_ns,
        door=loaded.input_format,
        versions={**_versions(), **find_software_versions(experiment)},
        machine=_machine(),
        command=_command(),
    )
    folder.write_text("experiment.yaml", to_yaml(experiment, quote_yes_no_keys=True))
    folder.write_json("plan.json", planned.plan.to_json())
    for file in loaded.files:
        shutil.copyfile(file, folder.input / file.name)
    for warning in (*map(str, loaded.warnings), *planned.plan.warnings):
        folder.events.add("warning", what=warning)
    return folder


def _versions() -> dict[str, str]:
    return {
        "stream2gym": __version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
    }


def find_software_versions(experiment: Experiment) -> dict[str, str]:
    """The versions of the brokers and engines that an experiment runs."""
    types = [engine.type.lower() for engine in experiment.engines]
    found = {
        "kafka": experiment.kafka.version or KAFKA if any(one.type == "kafka" for one in experiment.brokers) else "",
        "spark": PYSPARK if any(one.startswith("spark") for one in types) else "",
        "flink": FLINK if any(one.startswith("flink") for one in types) else "",
        "kafka-streams": KAFKA if any(one in _STREAMS for one in types) else "",
    }
    return {name: version for name, version in found.items() if version}


def _machine() -> dict[str, Any]:
    return {
        "architecture": platform.machine(),
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def _command() -> str:
    """The command line as given; of absolute paths, which are places of this machine, only the last part."""
    words = [word if not word.startswith("/") else Path(word).name for word in sys.argv[1:]]
    return shlex.join(["s2g", *words])
