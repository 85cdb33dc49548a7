"""``shell``: run a command, or an interactive shell, on a host: of an experiment, whose network is built for it, or
of a run that goes on."""

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
from stream2gym.record.folder import RunFolder, find_run
from stream2gym.spec.loading import find_experiment, load_experiment

# Like env and docker run: a failure of ours while the command may be running, apart from the command's own codes.
EXIT_CODES = {Defect: 125, StartFailed: 125}


def add(parser: argparse.ArgumentParser) -> None:
    parser.usage = "s2g shell [-h] [--tolerant] [--seed N] EXPERIMENT|RUN [HOST] [-- COMMAND ...]"
    parser.epilog = (
        "Without a COMMAND, your shell is started on the host. A RUN that goes on (its folder, its name, or latest) "
        "is entered as it is; an EXPERIMENT has only its network built."
    )
    add_experiment(parser)
    parser.add_argument("host", metavar="HOST", nargs="?", help="where to run it (default: the first host)")
    add_seed(parser, "routes, placement and loss")


def run(args: argparse.Namespace) -> int:
    entered = find_entered_run(args.experiment)
    if entered is not None:
        return enter_run(args, entered)
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
        for warning in network.limits.unenforced.values():
            print(f"s2g: warning: {warning}", file=sys.stderr)
        with lend_terminal() as terminal:
            # The user sits at it: it has the user's own environment, but for a folder that hosts do not see.
            mine = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
            process = network.spawn(chosen, argv, env=mine, cwd=Path.cwd(), stdio=(0, 1, 2), terminal=terminal)
            for number in (signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_IGN)  # keys of the terminal are for the program
            process.when_stopped(lambda stopped: stop_with(network, stopped))
            return network.wait(process).shell_code


def find_entered_run(word: str) -> RunFolder | None:
    """The run that a word means. None: it means an experiment. A running run of that name comes before an example."""
    if word == "latest" or (Path(word) / "run.json").is_file():
        return find_run(word)
    if "/" in word:
        return None
    try:
        folder = find_run(word)
    except BadInput:
        return None
    return folder if folder.is_running() or folder.path.name == word else None


def enter_run(args: argparse.Namespace, folder: RunFolder) -> int:
    """Run the command on a host of a run that goes on."""
    from stream2gym.cli.host_session import run_on_host
    from stream2gym.execution.host_requests import explain_refusal, read_plan

    if not folder.is_running():
        raise BadInput(explain_refusal(folder))
    host = choose_host(read_plan(folder).network, args.host)
    argv = args.tail or [os.environ.get("SHELL") or "/bin/sh"]
    mine = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
    args.interrupts.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGHUP, _leave)
    try:
        return run_on_host(folder, host, argv, mine)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


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
