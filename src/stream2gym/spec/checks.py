"""What a well-formed experiment can still get wrong: names that name nothing, files that are missing, clashes.

Each check is a generator of findings over an ``Index`` of the experiment; ``CHECKS`` is the list of them. All
doors come here, the Python one through ``check_experiment``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from stream2gym.errors import Mistake
from stream2gym.spec.check_clients import check_consumers, check_producers, check_sources
from stream2gym.spec.check_faults import check_expectations, check_faults, check_traces
from stream2gym.spec.check_index import Index
from stream2gym.spec.check_kinds import check_checks, check_engines, check_ports, check_sinks, check_stores
from stream2gym.spec.check_network import check_links, check_nodes, check_routing
from stream2gym.spec.check_placing import check_brokers, check_names, check_placement, check_topics
from stream2gym.spec.experiment import Experiment
from stream2gym.spec.places import Finding, Origins

# More than anybody reads; a file with more is wrong as a whole, and hints cost time.
MOST_FINDINGS = 200

CHECKS: tuple[Callable[[Index], Iterator[Finding]], ...] = (
    check_nodes, check_links, check_routing, check_names, check_brokers, check_topics, check_placement,
    check_producers, check_consumers, check_sources, check_engines, check_stores, check_sinks, check_ports,
    check_traces, check_faults, check_checks, check_expectations,
)  # fmt: skip


def find_problems(experiment: Experiment, base: Path, *, excused: set[str] | None = None) -> list[Finding]:
    """Every problem; names in ``excused`` were defined but unreadable and are never called unknown."""
    index = Index.of(experiment, base, excused or set())
    return list(islice((finding for check in CHECKS for finding in check(index)), MOST_FINDINGS))


def check_experiment(experiment: Experiment, base: Path) -> list[Mistake]:
    """Every mistake of an experiment built in Python; relative paths stand against ``base``."""
    data = experiment.model_dump(by_alias=True, mode="python")
    return [Origins().mistake(finding, data) for finding in find_problems(experiment, base)]
