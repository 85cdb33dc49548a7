"""Nothing that measures or waits reads the wall clock, which may be set while a run goes on."""

from __future__ import annotations

import ast
from pathlib import Path

import stream2gym

READS = {
    ("time", "time"),
    ("time", "time_ns"),
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("datetime", "today"),
}
KNOWN = {  # file: what it needs the time of day for
    "api.py": "when a run ended, for people",
    "cli/clean.py": "the age of runs",
    "clients/flink_watch.py": "comparing with the times of checkpoints, which Flink takes from it",
    "clients/producer.py": "time stamps that messages of an imperfect source carry",
    "clients/store_tables.py": "a key that no other row has",
    "components/spark_log.py": "events of Spark, which knows no other time",
    "fabric/userspace/pcap.py": "packets in captures, where the format asks for it",
    "gym.py": "names of run folders",
    "monitors/clock.py": "finding steps of it",
    "packets/capture.py": "times of captured packets, which the kernel takes from it",
    "record/events.py": "the time of day beside the steady time",
    "record/folder.py": "names of run folders",
    "sweep_api.py": "when a sweep ended, for people",
    "sweep_group.py": "names of the folders of groups",
    "sweep_group_page.py": "the date of the page of published results",
    "sweeps/sweep_folder.py": "names of the folders of sweeps",
}


def test_the_wall_clock_is_read_for_people_and_never_to_measure() -> None:
    root = Path(stream2gym.__file__).parent
    found = set()
    for file in root.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and (node.value.id, node.attr) in READS
            ):
                found.add(str(file.relative_to(root)))
    assert found == set(KNOWN)
