"""Whoever runs it, root or not: a program's daemon ends with it, and a host without power runs nothing."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.support.users import User

SCRIPT = """
import json, os, sys, time
from stream2gym.hosts.emulation import start_network
from stream2gym.plan.make_plan import make_plan
from stream2gym.spec.model import Experiment

DAEMON = '''
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
os.wait()
os.write(1, b".")
time.sleep(600)
'''
LIST = '''
import json, os
names = [open(f"/proc/{pid}/comm").read().strip() for pid in os.listdir("/proc") if pid.isdigit()]
print(json.dumps(sorted(name for name in names if name.startswith("python"))), flush=True)
'''

def start(network, text):
    read, write = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    process = network.spawn("h1", [sys.executable, "-S", "-E", "-c", text], stdio=(null, write, 2))
    os.close(write)
    return process, read

def pythons(network):
    process, read = start(network, LIST)
    said = json.loads(os.read(read, 65536))
    process.wait(60)
    return len(said) - 1

plan = make_plan(Experiment.model_validate({"topology": {"kind": "star", "hosts": 2}}))
with start_network(plan.network) as network:
    counts, ends = [], []
    for end in ("kill", "power"):
        process, ready = start(network, DAEMON)
        os.read(ready, 1)
        counts.append(pythons(network))
        process.signal(9) if end == "kill" else network.power_off("h1")
        ends.append(str(process.wait(60)))
        counts.append(pythons(network))
print(json.dumps({"counts": counts, "ends": ends}))
"""


def test_a_daemon_ends_with_its_program_and_with_its_host(user: User, topology: Path) -> None:
    identity = {} if user.uid is None else {"user": user.uid, "group": user.uid, "extra_groups": []}
    done = subprocess.run(
        [user.python, "-c", SCRIPT], env={**os.environ, **user.env}, cwd=topology.parent, capture_output=True,
        text=True, timeout=120, check=False, **identity,  # type: ignore[call-overload]
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"counts": [2, 0, 2, 0], "ends": ["killed by SIGKILL"] * 2}
