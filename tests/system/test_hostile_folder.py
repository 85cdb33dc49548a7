"""A run started in a folder full of files that are named like modules: none of our processes imports one of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.support.hostile import Hostile
from tests.support.users import ROOT

EXPERIMENT = """\
s2g: 1
name: hostile
topology: {kind: star, hosts: 3, latency: 1 ms}
brokers: [{on: h1}]
topics: [t]
producers:
  - {name: gen, on: h2, topic: t, rate: 100/s, size: 20 B}
  - {name: own, on: h3, type: CUSTOM, topic: t, app: programs/own.py}
consumers: [{name: see, on: h2, topics: [t]}]
checks: [{name: right, app: programs/check.py, topics: [t]}]
time: 1 s
expect: [mismatches(check=right) == 0, received(producer=gen) > 0]
"""
# Programs of the user's import the modules beside them.
OWN = "import sibling\nprint(sibling.WORD)\n"
CHECK = "import sibling\nprint('S2G {\"mismatches\": 0}')\n"


def test_only_programs_of_the_user_import_what_stands_beside_them(tmp_path: Path) -> None:
    hostile = Hostile(tmp_path)
    (tmp_path / "x.yaml").write_text(EXPERIMENT)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in (("own.py", OWN), ("check.py", CHECK), ("sibling.py", "WORD = 'found'\n")):
        (programs / name).write_text(text)
    done = subprocess.run(
        [str(ROOT / "s2g"), "run", "x.yaml", "--out", "run"],
        cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert hostile.marks() == []
    outcomes = {
        one["text"]: one["outcome"] for one in json.loads((tmp_path / "run/verdict.json").read_text())["judgements"]
    }
    assert set(outcomes.values()) == {"pass"}, done.stderr
    assert "found" in (tmp_path / "run/logs/h3.own.log").read_text()
    assert (tmp_path / "run/report.html").is_file()
