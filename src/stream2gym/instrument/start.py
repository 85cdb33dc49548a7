"""Starts the recorder in a process: registers for each library that we know what is changed as it is loaded."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from .import_hook import Change, LoadHook
from .recorder import Recorder
from .settings import read_settings

# The module of a library after whose load it is changed, and the module of ours that changes it.
LIBRARIES = {
    "confluent_kafka.cimpl": "confluent",
    "kafka.producer.kafka": "kafka_python",
    "kafka.consumer.group": "kafka_python",
    "aiokafka.producer.producer": "aiokafka_client",
    "aiokafka.consumer.consumer": "aiokafka_client",
}


def start() -> None:
    """Record this process if the run asked for it."""
    settings = read_settings()
    if settings is None:
        return
    recorder = Recorder(settings)
    changes = {name: make_change(recorder, ours) for name, ours in LIBRARIES.items()}
    sys.meta_path.insert(0, LoadHook(changes))
    recorder.note("loaded", python=sys.version.split()[0])


def make_change(recorder: Recorder, ours: str) -> Change:
    """What is called with a module of a library: ``change`` in the module of ours."""

    def change(module: ModuleType) -> None:
        try:
            importlib.import_module(f".{ours}", __package__).change(module, recorder)
        except Exception as error:  # the program goes on without a record
            recorder.note_unrecorded(module.__name__, f"{type(error).__name__}: {error}")

    return change
