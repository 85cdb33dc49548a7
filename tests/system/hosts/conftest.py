"""A small experiment that every user can read."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def topology(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three hosts around a switch, 5 ms away from it each, one of them limited to half the machine."""
    folder = tmp_path_factory.mktemp("topology")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    path = folder / "star.yaml"
    path.write_text(
        "s2g: 1\n"
        "name: star\n"
        "topology:\n"
        "  hosts: [h1, h2, {name: h3, cpu: 25 %, memory: 64 MiB}]\n"
        "  switches: [s1]\n"
        '  links: ["h1 -- s1: 5 ms", "h2 -- s1: 5 ms", "h3 -- s1: 5 ms"]\n'
    )
    return path
