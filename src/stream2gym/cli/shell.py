"""``shell``: build the network of an experiment and run a command, or an interactive shell, on one host."""

from __future__ import annotations

import argparse
import difflib
import os
import signal
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stream2gym.cli.arguments import add_experiment, add_seed
from stream2gym.errors import BadInput, Defect, Mistake, StartFailed
from stream2gym.hosts.emulation import EmulatedNetwork, start_network
from stream2gym.hosts.launch import Terminal, give_terminal
from stream2gym.hosts.process import Process
from stream2gym.plan.make_plan import make_plan
from stream2gym.plan.planned import Network
from stream2gym.spec.loading import find_experiment, load_experiment

# Like env and docker run: a failure of ours while the command may be running, apart from the command's own codes.
EXIT_CODES = {Defect: 125, StartFailed: 125}


def add(parser: argparse.ArgumentParser) -> None:
    parser.usage = "s2g shell [-h] [--tolerant] [--seed N] EXPERIMENT [HOST] [-- COMMAND ...]"
    parser.epilog = "Without a COMMAND, your shell is started on the host."
    add_experiment(parser)
    parser.add_argument("host", metavar="HOST", nargs="?", help="where to run it (default: the first host)")
    add_seed(parser, "routes, placement and loss")


def run(args: argparse.Namespace) -> int:
    path = find_experiment(args.experiment)
    loaded = load_experiment(path, tolerant=args.tolerant)
    plan = make_plan(loaded.experiment, seed=args.seed)
    for warning in (*map(str, loaded.warnings), *plan.warnings):
        print(f"s2g: warning: {warning}", file=sys.stderr)
    chosen = choose_host(plan.network, args.host)
    argv = args.tail or [os.environ.get("SHELL") or "/bin/sh"]
    args.interrupts.close()
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)  # the terminal sends them to the command as well: its answer counts
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGHUP, _leave)
    with start_network(plan.network, keep=[path.resolve().parent]) as network:
        for warning in network.warnings:
            print(f"s2g: warning: {warning}", file=sys.stderr)
        with lend_terminal() as terminal:
            # The user sits at it: it has the user's own environment, but for a folder that hosts do not see.
            mine = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
            process = network.spawn(chosen, argv, env=mine, cwd=Path.cwd(), stdio=(0, 1, 2), terminal=terminal)
            for number in (signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_IGN)  # keys of the terminal are for the program
            process.when_stopped(lambda stopped: stop_with(network, stopped))
            return network.wait(process).shell_code


@contextmanager
def lend_terminal() -> Iterator[Terminal]:
    """Give the terminal to the program, and take it back when the block ends."""
    try:
        in_front = os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        in_front = False
    if not in_front:
        yield "group"
        return
    settings = termios.tcgetattr(0)
    try:
        yield "foreground"
    finally:
        give_terminal(0, os.getpgrp())
        termios.tcsetattr(0, termios.TCSADRAIN, settings)


def stop_with(network: EmulatedNetwork, process: Process) -> None:
    """Ctrl-Z: stop when the program stops, so that the shell of the user sees it; continue both together."""

    def stop() -> None:
        give_terminal(0, os.getpgrp())
        os.kill(os.getpid(), signal.SIGSTOP)
        network.resume(process)

    threading.Thread(target=stop, daemon=True).start()  # the caller is the thread that reads the answers


def choose_host(network: Network, wanted: str | None) -> str:
    """The host to run on; an unknown name raises an error that lists the hosts."""
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
