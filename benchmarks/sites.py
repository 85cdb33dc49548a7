"""Experiments of many sites: each a host with a broker, a producer of 30 KB/s over all topics, and a consumer."""

from __future__ import annotations

import json
from pathlib import Path

RATE = "30 KB/s"
SIZE = "1 KB"


def write_sites(folder: Path, count: int, *, buffer: str = "32 MB", topics: int = 10) -> Path:
    """Write the experiment of so many sites around random links of 1 Gbps. Returns its path."""
    hosts = [f"h{number + 1}" for number in range(count)]
    names = [f"topic-{number}" for number in range(topics)]
    load = {"rate": RATE, "size": SIZE, "topics": names, "buffer": buffer}
    experiment = {
        "s2g": 1,
        "name": f"sites-{count}",
        "topology": {
            "kind": "random", "hosts": count, "degree": 3, "seed": 7, "latency": "1 ms", "bandwidth": "1 Gbps",
        },
        "brokers": [{"on": host} for host in hosts],
        "topics": [{"name": name, "replicas": min(3, count)} for name in names],
        "producers": [{"on": host, **load} for host in hosts],
        "consumers": [{"on": host, "pattern": "topic-.*"} for host in hosts],
        "time": "20 s",
        "drain": "30 s",
        "expect": ["lost == 0"],
    }  # fmt: skip
    path = folder / "experiment.yaml"
    # JSON is YAML.
    path.write_text(json.dumps(experiment, indent=1), "utf-8")
    return path
