"""Imports only the C module of the Kafka library, which saves memory and time in every client process.

``import confluent_kafka`` also loads asyncio, ssl and serializers: 10 MB and 50 ms for every process of a run. Here
its packages are imported without running their ``__init__``: only the C module, and the few classes that it
returns. This changes what ``confluent_kafka`` is in the whole process, so only programs call it, before anything
else. If the library is already loaded, or has another structure, it is imported in the usual way.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from typing import Any

_PACKAGES = ("confluent_kafka", "confluent_kafka.admin")


def lean_kafka() -> Any:
    """The module with Producer, Consumer, TopicPartition, KafkaError and KafkaException."""
    if "confluent_kafka" not in sys.modules:
        try:
            return _enter()
        except (ImportError, AttributeError):
            for name in [name for name in sys.modules if name.split(".")[0] == "confluent_kafka"]:
                del sys.modules[name]
    return importlib.import_module("confluent_kafka.cimpl")


def _enter() -> Any:
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.submodule_search_locations is None:
            raise ImportError(name)
        package = types.ModuleType(name)
        package.__path__ = list(spec.submodule_search_locations)
        package.__spec__ = spec
        sys.modules[name] = package
    library = importlib.import_module("confluent_kafka.cimpl")
    metadata = importlib.import_module("confluent_kafka.admin._metadata")
    for name in ("ClusterMetadata", "BrokerMetadata", "TopicMetadata", "PartitionMetadata"):
        setattr(sys.modules["confluent_kafka.admin"], name, getattr(metadata, name))
    return library
