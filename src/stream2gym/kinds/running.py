"""Which parts of an experiment this version runs, as one table that rooms built later switch on.

The network always runs. A kind of fault, engine or store says so itself (``Kind.runnable``); everything else
stands here.
"""

from __future__ import annotations

# A part of the vocabulary, and whether this version runs it. Types of brokers and clients are parts of their own.
PARTS: dict[str, bool] = {
    "kafka broker": True,
    "rabbitmq broker": False,
    "topic": True,
    "producer": True,
    "consumer": True,
    "sink": True,
    "source": True,
    "trace": True,
    "expectation": True,
}
