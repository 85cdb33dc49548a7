"""Checks a well-formed experiment: unknown names, missing files, contradictions.

Each check is a generator of findings over an ``ExperimentIndex``; ``CHECKS`` is the list of them. Experiments from
files and from Python go through the same checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from stream2gym.errors import Mistake
from stream2gym.spec.checks.client_checks import check_consumers, check_producers, check_sources
from stream2gym.spec.checks.experiment_index import ExperimentIndex
from stream2gym.spec.checks.fault_checks import check_expectations, check_faults, check_traces
from stream2gym.spec.checks.monitor_checks import check_monitors
from stream2gym.spec.checks.network_checks import check_captures, check_links, check_nodes, check_routing
from stream2gym.spec.checks.placement_checks import check_brokers, check_names, check_placement, check_topics
from stream2gym.spec.checks.rabbitmq_checks import check_rabbitmq
from stream2gym.spec.checks.type_checks import check_checks, check_engines, check_ports, check_sinks, check_stores
from stream2gym.spec.checks.warmup_checks import check_warmup
from stream2gym.spec.findings import Finding, Origins
from stream2gym.spec.model.experiment import Experiment

# Nobody reads more findings than this, and making hints costs time.
MOST_FINDINGS = 200

CHECKS: tuple[Callable[[ExperimentIndex], Iterator[Finding]], ...] = (
    check_nodes, check_links, check_routing, check_names, check_brokers, check_topics, check_placement,
    check_producers, check_consumers, check_sources, check_engines, check_stores, check_sinks, check_ports,
    check_warmup, check_traces, check_faults, check_checks, check_monitors, check_expectations, check_captures,
    check_rabbitmq,
)  # fmt: skip


def find_problems(experiment: Experiment, base: Path, *, excused: set[str] | None = None) -> list[Finding]:
    """Every finding. Names in ``excused`` were defined but could not be read; they are never reported as unknown."""
    index = ExperimentIndex.of(experiment, base, excused or set())
    return list(islice((finding for check in CHECKS for finding in check(index)), MOST_FINDINGS))


def check_experiment(experiment: Experiment, base: Path, *, section: str | None = None) -> list[Mistake]:
    """Every mistake of an experiment built in Python, or of one of its sections.

    Relative paths are relative to ``base``.
    """
    data = experiment.model_dump(by_alias=True, mode="python")
    findings = find_problems(experiment, base)
    return [
        Origins().mistake(finding, data) for finding in findings if section is None or finding.path[:1] == (section,)
    ]
