"""The experiment model in one place to import from. All three doors (GraphML, YAML, Python) lead here.

Shapes that people write short ("h1", "h1 -- s1: 5 ms") are widened by validators, so that constructors in
Python and keys in YAML have the same names and the same freedom.
"""

from __future__ import annotations

from stream2gym.kinds.base import Model, Name, Properties
from stream2gym.kinds.links import BurstLoss, Jitter, LinkChange, Queue
from stream2gym.spec.components import (
    Broker,
    Component,
    Consumer,
    Engine,
    Kafka,
    Producer,
    Restart,
    Sink,
    Source,
    Store,
    Topic,
    WeightedTopic,
)
from stream2gym.spec.experiment import GROUPS, Check, Constraint, Experiment, Fault, Placement, Trace
from stream2gym.spec.topology import DEFAULT_LINK, Host, Link, Routing, Switch, Topology
from stream2gym.spec.traffic import Arrivals, Imperfect, Keys, Sizes

__all__ = [
    "DEFAULT_LINK",
    "GROUPS",
    "Arrivals",
    "Broker",
    "BurstLoss",
    "Check",
    "Component",
    "Constraint",
    "Consumer",
    "Engine",
    "Experiment",
    "Fault",
    "Host",
    "Imperfect",
    "Jitter",
    "Kafka",
    "Keys",
    "Link",
    "LinkChange",
    "Model",
    "Name",
    "Placement",
    "Producer",
    "Properties",
    "Queue",
    "Restart",
    "Routing",
    "Sink",
    "Sizes",
    "Source",
    "Store",
    "Switch",
    "Topic",
    "Topology",
    "Trace",
    "WeightedTopic",
]
