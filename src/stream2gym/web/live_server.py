"""Starts the server of the page beside a run, as a process of low priority, and ends it with the run."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from stream2gym.own_python import own_python
from stream2gym.web.request_guard import LOOPBACK_NAMES

END_S = 8.0

Tell = Callable[[str], None]


@contextlib.contextmanager
def live_page(folder: Path, tell: Tell, *, read_only: bool = False, port: int = 0) -> Iterator[None]:
    """Serve the page of a run while the block runs. ``tell`` is called with lines for people.

    A page that cannot be served is told and never ends the run.
    """
    words = [
        "-m",
        "stream2gym.web.page_process",
        str(folder),
        *(["--read-only"] if read_only else []),
        "--port",
        str(port),
    ]
    try:
        process = subprocess.Popen(
            own_python(*words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        tell(f"the page cannot be shown: {error}")
        yield
        return
    # The run does not wait for its page.
    telling = threading.Thread(target=_tell_start, args=(process, tell), name="s2g-page-start", daemon=True)
    telling.start()
    try:
        yield
    finally:
        _end(process)
        telling.join(END_S)


def link_lines(link: str, environment: Mapping[str, str]) -> list[str]:
    """What to tell about a link; over ssh also how to reach it."""
    lines = [f"page: {link}"]
    if "SSH_CONNECTION" in environment:
        lines.append(forwarding_line(link, environment))
    return lines


def forwarding_line(link: str, environment: Mapping[str, str]) -> str:
    """The command that makes the link work on the computer that the user sits at."""
    port = link.split("/")[2].rpartition(":")[2]
    # user's address, its port, the address of this machine, its port
    here = environment.get("SSH_CONNECTION", "").split()
    machine = here[2] if len(here) == 4 else "THIS-MACHINE"
    user = environment.get("USER") or "USER"
    return f"on your own computer first: ssh -N -L {port}:127.0.0.1:{port} {user}@{machine}"


def can_open_browser(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether a browser may be opened: there is a screen, and it is that of this machine."""
    if "SSH_CONNECTION" in environment:
        return False
    return platform == "darwin" or bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def open_browser(link: str) -> None:
    """Open the link in the user's browser, if there is one."""
    assert link.split("/")[2].rpartition(":")[0] in LOOPBACK_NAMES
    import webbrowser

    with contextlib.suppress(Exception):
        webbrowser.open(link)


def _tell_start(process: subprocess.Popen[bytes], tell: Tell) -> None:
    for line in _describe_start(process):
        tell(line)


def _describe_start(process: subprocess.Popen[bytes]) -> list[str]:
    """Wait until the server says where it is."""
    assert process.stdout is not None
    with process.stdout:
        line = process.stdout.readline()
    try:
        said = json.loads(line)
    except ValueError:
        return ["the page cannot be shown: its server did not start"]
    if "error" in said:
        return [f"the page cannot be shown: {said['error']}"]
    link = str(said["link"])
    if can_open_browser(os.environ):
        open_browser(link)
    return link_lines(link, os.environ)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its standard input, which ends it; kill it if it does not end."""
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
