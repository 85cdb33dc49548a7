"""How long a new user takes from ``pip install`` to a test of their own that is red because a message was lost.

    ./s2g bench firsttest [--user NAME] [--keep]

Everything happens outside the clone, in an empty folder with an empty cache: the wheel of the clone is installed with
all that it needs, a bundled example is copied, and a test of five lines goes red. The second call of pytest shows
what the same test costs from then on. ``--user`` (for root) does all this as another user, in that user's home.
"""

from __future__ import annotations

import argparse
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table import Table

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("pyproject.toml", "README.md", "LICENSE", "src", "examples")
EXAMPLE = "broker-failure"
# The leader acknowledges alone while it is cut off from its followers, and dies before they have these messages.
TEST = f"""\
LOSES = {{
    "producers.shop.acks": 1, "producers.shop.idempotence": False, "topics.orders.leader": "h1", "time": "12 s",
    "faults": [
        {{"name": "cut", "do": "partition", "groups": [["h1"], ["h2", "h3"]], "at": "3 s"}},
        {{"name": "dead", "do": "kill", "on": "broker-h1", "at": "5 s"}},
    ],
    "expect": ["lost == 0"],
}}


def test_every_order_arrives(gym):
    result = gym.run("{EXAMPLE}/experiment.yaml", set=LOSES)
    assert result.passed
"""
RED = re.compile(r"fail +lost == 0 +([\d,]+)")
LIMIT_S = 1800.0
GOAL_S = 600.0


@dataclass(frozen=True)
class Newcomer:
    """A user with an empty folder, and what the commands of that user find."""

    name: str | None
    folder: Path
    env: dict[str, str]

    def call(self, *words: str, cwd: Path | None = None) -> tuple[float, subprocess.CompletedProcess[str]]:
        """Run a command as the user. Returns the seconds that it took, and what came of it."""
        entry = pwd.getpwnam(self.name) if self.name else None
        began = time.monotonic()
        done = subprocess.run(
            words, cwd=cwd or self.folder, env=self.env, capture_output=True, text=True, check=False, timeout=LIMIT_S,
            user=entry.pw_uid if entry else None, group=entry.pw_gid if entry else None,
            extra_groups=[] if entry else None,
        )  # fmt: skip
        return time.monotonic() - began, done

    def must(self, *words: str, cwd: Path | None = None) -> float:
        took, done = self.call(*words, cwd=cwd)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(words)}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return took


def main() -> int:
    parser = argparse.ArgumentParser(prog="s2g bench firsttest", description=__doc__)
    parser.add_argument("--user", metavar="NAME", help="do it as this user, in their home (for root)")
    parser.add_argument("--keep", action="store_true", help="leave the folder there and say where it is")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    args = parser.parse_args()
    home = pwd.getpwnam(args.user).pw_dir if args.user else None
    folder = Path(tempfile.mkdtemp(prefix="s2g-first-test-", dir=home))
    try:
        return measure(make_newcomer(args.user, folder))
    finally:
        if args.keep:
            print(f"everything is in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def make_newcomer(name: str | None, folder: Path) -> Newcomer:
    """Somebody with a home of their own, nothing of our environment, and the package index of this machine."""
    ours = ("PYTHON", "VIRTUAL_ENV", "S2G_", "XDG_", "CONDA")
    env = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    env |= {"HOME": str(folder), "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8"}
    if name is not None:
        env |= {"USER": name, "LOGNAME": name}
        entry = pwd.getpwnam(name)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
    return Newcomer(name, folder, env)


def measure(who: Newcomer) -> int:
    table = Table("From pip install to a red test, in an empty folder outside the clone")
    python = find_python(who)
    wheel = build_wheel(who, python)
    steps: list[tuple[str, float]] = []

    def step(what: str, took: float, beside: str = "") -> None:
        steps.append((what, took))
        table.add(what, f"{took:.0f} s", beside=beside)

    environment = who.folder / "venv"
    command = environment / "bin"
    took = who.must(python, "-m", "venv", str(environment))
    took += who.must(str(command / "pip"), "install", "--quiet", str(wheel), "pytest")
    size = sum(file.lstat().st_size for file in environment.rglob("*") if file.is_file()) / 1e6
    step("python -m venv; pip install stream2gym pytest", took, f"{size:.0f} MB")
    project = who.folder / "project"
    who.must("mkdir", str(project))
    step(f"s2g examples --copy {EXAMPLE}", who.must(str(command / "s2g"), "examples", "--copy", EXAMPLE, cwd=project))
    (project / "test_orders.py").write_text(TEST, "utf-8")
    lost = []
    for what in ("pytest --s2g, the first time: Kafka and Java are fetched", "pytest --s2g, once more"):
        took, done = who.call(str(command / "python"), "-m", "pytest", "--s2g", "-q", cwd=project)
        found = RED.search(done.stdout)
        is_red = done.returncode == 1 and found is not None and "report.html" in done.stdout
        if not is_red or found is None:
            print(done.stdout[-4000:], done.stderr[-2000:], file=sys.stderr)
        lost.append(found[1] if is_red and found else "")
        beside = (
            f"red: {lost[-1]} acknowledged messages lost" if lost[-1] else f"not red: exit code {done.returncode}"
        )
        step(what, took, beside)
    total_s = sum(took for _, took in steps[:3])
    table.add("from pip install to the first red test", f"{total_s:.0f} s", f"{GOAL_S:.0f} s", "", total_s < GOAL_S)
    table.add("the test is red because of lost messages", "yes" if all(lost) else "no", "yes", "", all(lost))
    return table.finish()


def find_python(who: Newcomer) -> str:
    """A Python that the user may run and that has venv: that of this environment, or the one of the system."""
    ours = str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")
    for candidate in (ours, "/usr/bin/python3"):
        try:
            if who.call(candidate, "-c", "import ensurepip, venv")[1].returncode == 0:
                return candidate
        except OSError:
            continue
    raise SystemExit("there is no Python with venv that this user may run")


def build_wheel(who: Newcomer, python: str) -> Path:
    """The wheel of this clone, built from a copy of it, because a build writes beside its source."""
    source = who.folder / "source"
    source.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info", "runs")
            shutil.copytree(ROOT / part, source / part, symlinks=True, ignore=unwanted)
        else:
            shutil.copy(ROOT / part, source / part)
    if who.name is not None:
        subprocess.run(["chown", "-R", who.name, str(source)], check=True)
    builder = who.folder / "builder"
    who.must(python, "-m", "venv", str(builder))
    who.must(
        str(builder / "bin" / "pip"), "wheel", "--quiet", "--no-deps", "--wheel-dir", str(who.folder), str(source)
    )
    [wheel] = who.folder.glob("*.whl")
    return wheel


if __name__ == "__main__":
    sys.exit(main())
