"""A folder that hosts see without being able to change it, as root and as an ordinary user."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.users import NOBODY, User

# Two hosts write, change and delete in the folder; the second one sees what the first one did.
RUN = """
import json, os, sys
from pathlib import Path
from stream2gym.hosts.emulation import start_network
from stream2gym.hosts.private_view import PrivateView
from stream2gym.plan.make_plan import make_plan
from stream2gym.spec.model import Experiment

folder, run = sys.argv[1:]
topology = {"kind": "star", "hosts": 2, "latency": "1 ms"}
network = make_plan(Experiment.model_validate({"topology": topology}), seed=1).network
private = PrivateView(folder, run + "/.private", (run,), {folder + "/logs": run + "/logs"})
write = (
    "import os; from pathlib import Path; here = Path(os.getcwd());"
    "(here / 'beside').mkdir(); (here / 'beside/model').write_text('made'); (here / 'data').write_text('changed');"
    "(here / 'old').unlink(); (here / 'logs/output').mkdir(); (here / 'logs/output/a.log').write_text('logged')"
)
look = (
    "import json, os, sys; from pathlib import Path;"
    "json.dump([sorted(os.listdir('.')), Path('data').read_text(), Path('beside/model').read_text(),"
    " os.listdir('logs')], open(sys.argv[1], 'w'))"
)
with start_network(network, keep=[Path(folder), Path(run)], private=private) as net:
    codes = [
        net.wait(net.spawn("h1", [sys.executable, "-c", write], cwd=folder)).code,
        net.wait(net.spawn("h2", [sys.executable, "-c", look, run + "/seen"], cwd=folder)).code,
    ]
    kept = net.collect(Path(run) / "files")
    print(json.dumps({"not_private": net.not_private, "codes": codes, "kept": kept}))
"""


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory, user: User) -> Path:
    made = tmp_path_factory.mktemp("private")
    for path in (made, *made.parents):
        if path != Path("/tmp") and path.stat().st_uid == os.geteuid() and str(path).startswith("/tmp/"):
            path.chmod(path.stat().st_mode | 0o055)  # an ordinary user has to get there
    for name in ("tree/logs", "tree/runs/one/logs", "tree/runs/one/.private"):
        (made / name).mkdir(parents=True)
    for name in ("data", "old", "logs/mine"):
        (made / "tree" / name).write_text("as it was")
    if user.uid is not None:
        for path in (made, *made.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
    return made / "tree"


def run(user: User, folder: Path) -> dict[str, Any]:
    identity: dict[str, Any] = {} if user.uid is None else {"user": user.uid, "group": user.uid, "extra_groups": []}
    argv = [user.python, "-c", RUN, str(folder), str(folder / "runs" / "one")]
    done = subprocess.run(
        argv, env={**os.environ, **user.env}, cwd=folder, capture_output=True, text=True, timeout=120,
        check=False, **identity,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_what_hosts_write_in_a_private_folder_is_shared_by_them_kept_and_not_in_the_users_tree(
    user: User, folder: Path
) -> None:
    before = sorted(path.relative_to(folder) for path in folder.rglob("*") if "runs" not in path.parts)
    said = run(user, folder)
    assert said == {"not_private": "", "codes": [0, 0], "kept": ["beside/model", "data"]}
    one = folder / "runs" / "one"
    seen = json.loads((one / "seen").read_text())
    assert seen == [["beside", "data", "logs", "runs"], "changed", "made", ["output"]]
    assert (one / "files/beside/model").read_text() == "made"
    assert (one / "logs/output/a.log").read_text() == "logged"
    after = sorted(path.relative_to(folder) for path in folder.rglob("*") if "runs" not in path.parts)
    assert after == before
    assert (folder / "data").read_text() == "as it was"


def test_a_folder_of_the_system_is_not_made_private(user: User, folder: Path) -> None:
    script = (
        "from stream2gym.hosts.private_view import PrivateView\n"
        f"print(PrivateView('/usr', {str(folder / 'runs/one/.private')!r}).mount())"
    )
    done = subprocess.run(
        [user.python, "-c", script], env={**os.environ, **user.env}, cwd=folder, capture_output=True, text=True,
        timeout=60, check=True,
    )  # fmt: skip
    assert "folder of the system" in done.stdout
