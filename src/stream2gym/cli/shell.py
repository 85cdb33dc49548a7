"""``shell``: build the network of an experiment and run a command, or an interactive shell, on one host."""

from __future__ import annotations

import argparse
import difflib
import os
import signal
import sys
from pathlib import Path

from stream2gym.errors import BadInput, Defect, Mistake, StartFailed
from stream2gym.hosts.emulation import start_network
from stream2gym.plan.make import make_plan
from stream2gym.plan.model import Network
from stream2gym.spec.load import find_experiment, load_experiment

# Like env and docker run: a failure of ours while the command may be running, apart from the command's own codes.
EXIT_CODES = {Defect: 125, StartFailed: 125}


def add(parser: argparse.ArgumentParser) -> None:
    parser.usage = "s2g shell EXPERIMENT [HOST] [-- COMMAND ...]"
    parser.add_argument("experiment", help="a path, or the name of a bundled example")
    parser.add_argument("host", nargs="?", help="where to run it (default: the first host)")
    parser.add_argument(
        "--seed", type=int, help="seed of routes, placement and loss (default: the experiment's)"
    )
    parser.add_argument("--tolerant", action="store_true", help="go on without files that are missing")


def run(args: argparse.Namespace) -> int:
    path = find_experiment(args.experiment)
    loaded = load_experiment(path, tolerant=args.tolerant)
    plan = make_plan(loaded.experiment, seed=args.seed)
    for warning in (*map(str, loaded.warnings), *plan.warnings):
        print(f"s2g: warning: {warning}", file=sys.stderr)
    chosen = choose_host(plan.network, args.host)
    argv = args.tail or [os.environ.get("SHELL") or "/bin/sh"]
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(
            number, signal.SIG_IGN
        )  # the terminal sends them to the command as well: its answer counts
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGHUP, _leave)
    with start_network(plan.network, keep=[path.resolve().parent]) as network:
        for warning in network.warnings:
            print(f"s2g: warning: {warning}", file=sys.stderr)
        process = network.spawn(chosen, argv, cwd=Path.cwd(), stdio=(0, 1, 2), own_session=False)
        for number in (signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)  # the terminal sends them to the program too: its answer counts
        return network.wait(process).shell_code


def choose_host(network: Network, wanted: str | None) -> str:
    """The host to run on; unknown names list what is there."""
    names = [host.name for host in network.hosts]
    if not names:
        raise BadInput("the topology has no hosts; nothing can run on it")
    if wanted is None:
        return names[0]
    if wanted in names:
        return wanted
    near = difflib.get_close_matches(wanted, names, 1)
    shown = ", ".join(names[:20]) + (" ..." if len(names) > 20 else "")
    hint = f"did you mean {near[0]}?" if near else f"hosts: {shown}"
    raise BadInput(Mistake(where=f"host {wanted!r}", what="there is no such host", hint=hint))


def _leave(number: int, _frame: object) -> None:
    sys.exit(128 + number)
