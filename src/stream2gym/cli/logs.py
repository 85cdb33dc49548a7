"""``logs``: what the components of a run wrote; of several at once, and while they write it."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from stream2gym.cli.arguments import add_run
from stream2gym.components.run_context import end_of_log
from stream2gym.errors import BadInput, Mistake
from stream2gym.record.folder import RunFolder, find_run, split_log_name
from stream2gym.record.instances import component_of
from stream2gym.spec.findings import did_you_mean

LOOK_EVERY_S = 0.25
_COLOURS = (36, 33, 35, 32, 34, 31)
_BLOCK = 1 << 16


def add(parser: argparse.ArgumentParser) -> None:
    add_run(parser, nargs="?")
    parser.add_argument(
        "component", metavar="COMPONENT", nargs="*", help="whose logs (default: list them; with -f: all)"
    )
    parser.add_argument("--tail", dest="last", type=int, metavar="N", help="only the last N lines of each")
    parser.add_argument("-f", "--follow", action="store_true", help="go on as they write, until the run is over")


def arrange(arguments: list[str]) -> list[str]:
    """The arguments with the options first: argparse takes no further COMPONENT after an option in between."""
    options: list[str] = []
    words: list[str] = []
    waiting = iter(arguments)
    for word in waiting:
        if word == "--tail":
            options += [word, *([following] if (following := next(waiting, None)) is not None else [])]
        else:
            (options if word.startswith("-") else words).append(word)
    return [*options, *words]


def run(args: argparse.Namespace) -> int:
    folder = find_run(args.run)
    if args.follow:
        check_known(folder, args.component)
        follow(folder, args.component, args.last)
        return 0
    logs = sorted(folder.logs.glob("*.log"))
    if not args.component:
        for log in logs:
            print(f"{log.stat().st_size:>10,}  {log.name.removesuffix('.log')}")
        return 0
    chosen = choose_all(folder, args.component)
    if len(chosen) > 1:
        printer = LinePrinter([split_log_name(log)[1] for log in chosen])
        for log in chosen:
            text = log.read_bytes() if args.last is None else end_of_log(log, args.last).encode("utf-8", "replace")
            for line in text.splitlines():
                printer.print(split_log_name(log)[1], line)
        return 0
    for log in chosen:
        if args.last is not None:
            print(end_of_log(log, args.last))
        else:
            copy_out(log)
    return 0


def copy_out(log: Path) -> None:
    with log.open("rb") as file:
        sys.stdout.flush()
        while block := file.read(_BLOCK):
            os.write(1, block)


def follow(folder: RunFolder, wanted: Sequence[str], last: int | None) -> None:
    """Print new lines of the logs until the run is over. Logs that begin later are taken up as they appear."""
    tails: dict[Path, LogTail] = {}
    printer = LinePrinter([])
    while True:
        is_running = folder.is_running()
        for log in choose_all(folder, wanted, must_exist=False):
            if log not in tails:
                tails[log] = LogTail(log, last)
            for line in tails[log].read_lines(to_end=not is_running):
                printer.print(split_log_name(log)[1], line)
        if not is_running:
            return
        last = None  # of logs that begin while we follow, everything is new
        time.sleep(LOOK_EVERY_S)


class LogTail:
    """Reads what is new in one log, line by line."""

    def __init__(self, path: Path, last: int | None) -> None:
        self._path = path
        self._at = 0
        self._rest = b""
        if last is not None:
            kept = end_of_log(path, last).encode("utf-8", "replace")
            self._at = path.stat().st_size
            self._rest = kept + b"\n" if kept else b""

    def read_lines(self, *, to_end: bool = False) -> Iterator[bytes]:
        """The complete lines that are new; ``to_end``: also the last one without its end."""
        with self._path.open("rb") as file:
            file.seek(self._at)
            data = file.read()
        self._at += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if to_end and self._rest:
            lines.append(self._rest)
            self._rest = b""
        yield from lines


class LinePrinter:
    """Prints lines with the name of their component in front, on a terminal each in its colour."""

    def __init__(self, names: Iterable[str], write: Callable[[bytes], object] | None = None) -> None:
        self._names: dict[str, int] = {}
        self._width = 0
        self._in_colour = write is None and sys.stdout.isatty()
        self._write = write or self._write_out
        for name in names:
            self._learn(name)

    def print(self, name: str, line: bytes) -> None:
        self._learn(name)
        front = f"{name:<{self._width}} | "
        if self._in_colour:
            front = f"\x1b[{_COLOURS[self._names[name] % len(_COLOURS)]}m{front}\x1b[0m"
        self._write(front.encode("utf-8", "replace") + line + b"\n")

    def _learn(self, name: str) -> None:
        self._names.setdefault(name, len(self._names))
        self._width = max(self._width, len(name))

    def _write_out(self, data: bytes) -> None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def component_names(folder: RunFolder) -> tuple[str, ...]:
    """The names of the components of a run; none before it has a plan."""
    try:
        plan = json.loads((folder.path / "plan.json").read_text("utf-8"))
        return tuple(str(part["name"]) for part in plan["components"])
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def check_known(folder: RunFolder, wanted: Sequence[str]) -> None:
    """Raise BadInput for words that are neither a component of the plan nor have a log."""
    components = component_names(folder)
    choose_all(folder, [word for word in wanted if word not in components])


def choose_all(folder: RunFolder, wanted: Sequence[str], *, must_exist: bool = True) -> list[Path]:
    """The logs of all that is wanted, each once; nothing wanted: all logs.

    BadInput names every word without a log, unless such a log may appear later (``must_exist`` off).
    """
    logs, components = sorted(folder.logs.glob("*.log")), component_names(folder)
    if not wanted:
        return logs
    chosen: dict[Path, None] = {}
    mistakes: list[Mistake] = []
    for word in wanted:
        try:
            chosen |= dict.fromkeys(choose(logs, word, components))
        except BadInput as error:
            mistakes += error.mistakes
    if mistakes and must_exist:
        raise BadInput(mistakes)
    return list(chosen)


def choose(logs: list[Path], wanted: str, components: Sequence[str] = ()) -> list[Path]:
    """The logs of a component (all its instances), of one of its instances, of a host, or one by its own name."""
    chosen = []
    for log in logs:
        host, process = split_log_name(log)
        if wanted in (log.name.removesuffix(".log"), host, process, component_of(process, components)):
            chosen.append(log)
    if not chosen:
        known = [split_log_name(log)[1] for log in logs]
        raise BadInput(Mistake(wanted, "no log of that component", did_you_mean(wanted, known)))
    return chosen
