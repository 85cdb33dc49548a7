"""The keeper: a small process between the command and the supervisor, outside the run's namespaces.

It makes the cgroups, starts the supervisor as PID 1 of new namespaces, and waits. When one of the three ends, the
others end, too: the end of the command closes a pipe that the keeper watches; the end of the keeper kills the
supervisor (parent death signal); the end of the supervisor ends its whole PID namespace. Finally the keeper removes
the cgroups, because they do not end with a namespace.

It is run as ``python -m stream2gym.hosts.keeper``. Its descriptors: ``--socket`` for messages with the command,
``--life`` for the end of the command, ``--control`` for the fabric, to which it is passed on.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from stream2gym import linux
from stream2gym.hosts import cgroups, supervisor_messages
from stream2gym.hosts.refusals import explain_refusal
from stream2gym.wait import wait_until

_NAMESPACES = linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWUTS | linux.CLONE_NEWNET | linux.CLONE_NEWIPC
IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP, signal.SIGTERM)


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("socket", "life", "control"):
        parser.add_argument(f"--{name}", type=int, required=True)
    args = parser.parse_args()
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    # The command blocked some signals until they are ignored.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    linux.name_process("s2g-keeper")
    sock = socket.socket(fileno=args.socket)
    received = supervisor_messages.receive(sock)
    if received is None:
        return 0
    order = received[0]
    controllers = {name: cgroups.Controller.from_json(found) for name, found in order["controllers"].items()}
    limits = {host: cgroups.Limit.from_json(limit) for host, limit in order["limits"].items()}
    try:
        order["groups"] = cgroups.make(order["owner"], limits, controllers) if limits else {}
        return _keep(sock, args.life, args.control, order)
    except OSError as error:
        with contextlib.suppress(OSError):
            supervisor_messages.send(sock, explain_refusal(error))
        return 4
    finally:
        if limits:
            wait_until(
                lambda: cgroups.remove(order["owner"], controllers),
                timeout_s=5,
                reason="the run's cgroups to empty",
                every_s=0.005,
            )


def _keep(sock: socket.socket, life: int, control: int, order: dict[str, Any]) -> int:
    become_root_of_new_namespaces()
    alive_read, alive_write = os.pipe()
    supervisor = os.fork()
    if supervisor == 0:
        os.close(alive_write)
        os.close(life)
        from stream2gym.hosts import supervisor as inside

        inside.run(sock, control, alive_read, order)
    os.close(alive_read)
    os.close(control)
    sock.close()
    handle = os.pidfd_open(supervisor)
    select.select([life, handle], [], [])
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    _pid, status = os.waitpid(supervisor, 0)
    return 0 if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)


def become_root_of_new_namespaces() -> None:
    """Enter new namespaces of all kinds as root.

    A user without privileges enters a user namespace, too, whose root is that user outside.
    """
    if os.geteuid() == 0:
        try:
            linux.unshare(_NAMESPACES)
        except PermissionError:
            # Root of a container without CAP_SYS_ADMIN may still be allowed a user namespace.
            pass
        else:
            return
    uid, gid = os.geteuid(), os.getegid()
    linux.unshare(linux.CLONE_NEWUSER | _NAMESPACES)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")


if __name__ == "__main__":
    sys.exit(main())
