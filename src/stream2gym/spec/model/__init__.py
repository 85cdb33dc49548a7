"""The experiment model, in one place to import from. GraphML, YAML and Python all become this model.

Validators expand short forms ("h1", "h1 -- s1: 5 ms"), so that constructors in Python and keys in YAML have the same
names and accept the same values.
"""

from __future__ import annotations

from stream2gym.kinds.link_settings import BurstLoss, Jitter, LinkChange, Queue
from stream2gym.kinds.settings import Model, Name, Properties
from stream2gym.spec.model.components import (
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
from stream2gym.spec.model.experiment import GROUPS, Check, Constraint, Experiment, Fault, Placement, Trace
from stream2gym.spec.model.topology import DEFAULT_LINK, Host, Link, Routing, Switch, Topology
from stream2gym.spec.model.traffic import Arrivals, Imperfect, Keys, Sizes

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
