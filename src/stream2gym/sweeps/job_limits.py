"""How many runs of a sweep fit on this machine at once, and whether that spoils what they measure."""

from __future__ import annotations

from dataclasses import dataclass

from stream2gym.spec.model import Experiment

MIB = 1024 * 1024
# Resident memory of the parts of a run, rather too much than too little (docs/performance.md).
BROKER_BYTES = 350 * MIB
ENGINE_BYTES = 700 * MIB
STORE_BYTES = 250 * MIB
CLIENT_BYTES = 70 * MIB
# The command itself, its fabric, and the Spark session of its analysis.
RUN_BYTES = 900 * MIB
# A run is undisturbed if it has about this many cores.
CORES_OF_RUN = 2
SPARE_SHARE = 0.8


@dataclass(frozen=True)
class JobLimits:
    """The number of runs at once, and what the user must know about it."""

    jobs: int
    warnings: tuple[str, ...] = ()


def estimate_run_bytes(experiment: Experiment) -> int:
    """About how much memory one run of the experiment takes."""
    clients = [*experiment.producers, *experiment.consumers, *experiment.sinks, *experiment.sources]
    return (
        RUN_BYTES
        + BROKER_BYTES * len(experiment.brokers)
        + ENGINE_BYTES * len(experiment.engines)
        + STORE_BYTES * len(experiment.stores)
        + CLIENT_BYTES * len(clients)
    )


def limit_jobs(wanted: int, run_bytes: int, free_bytes: int, cores: int) -> JobLimits:
    """As many of the wanted runs at once as memory and cores allow, one at least."""
    by_memory = max(1, int(free_bytes * SPARE_SHARE) // run_bytes)
    jobs = min(wanted, by_memory, max(1, cores))
    warnings = []
    if jobs < wanted:
        reason = (
            f"{free_bytes / MIB:,.0f} MiB of memory are free and a run takes about {run_bytes / MIB:,.0f} MiB"
            if by_memory <= max(1, cores)
            else f"this machine has {cores} cores"
        )
        warnings.append(f"--jobs {wanted}: {jobs} at once, because {reason}")
    if jobs > 1 and jobs * CORES_OF_RUN > cores:
        warnings.append(
            f"{jobs} runs at once share {cores} cores: latencies, rates and other figures of time are spoiled; "
            "figures of delivery are not. Leave --jobs out to measure time"
        )
    return JobLimits(jobs, tuple(warnings))


def read_free_bytes() -> int:
    """Memory that programs can have now, as the kernel estimates it."""
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0
