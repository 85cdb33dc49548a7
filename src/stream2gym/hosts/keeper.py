"""The keeper: a small process between the command and the supervisor, outside the run's namespaces.

It makes the cgroups, starts the supervisor as PID 1 of new namespaces and waits. Whoever dies first, the rest
follows: the command's death closes a pipe the keeper watches, the keeper's death kills the supervisor (parent
death signal), the supervisor's death ends its whole PID namespace. Last, the keeper removes the cgroups, which
no namespace takes along.

Run as ``python -m stream2gym.hosts.keeper``; descriptors: --socket (messages with the command), --life (end of
the command), --control (the fabric's channel, handed on).
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from stream2gym import linux
from stream2gym.hosts import cgroups, wire
from stream2gym.wait import wait_until

_NAMESPACES = (
    linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWUTS | linux.CLONE_NEWNET | linux.CLONE_NEWIPC
)
IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP, signal.SIGTERM)


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("socket", "life", "control"):
        parser.add_argument(f"--{name}", type=int, required=True)
    args = parser.parse_args()
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # the command blocked some until they are ignored
    linux.name_process("s2g-keeper")
    sock = socket.socket(fileno=args.socket)
    received = wire.receive(sock)
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
            wire.send(sock, explain(error))
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
    """Unshare everything; who lacks the privilege becomes root of a user namespace that maps only to themselves."""
    if os.geteuid() == 0:
        try:
            linux.unshare(_NAMESPACES)
        except PermissionError:
            pass  # root of a container without CAP_SYS_ADMIN: may still be allowed a user namespace
        else:
            return
    uid, gid = os.geteuid(), os.getegid()
    linux.unshare(linux.CLONE_NEWUSER | _NAMESPACES)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")


def explain(error: OSError) -> dict[str, Any]:
    """What a refused step means, and the remedy, as a message to the command."""
    what = f"the kernel refused {error.filename or 'a step'}: {error.strerror}"
    return {"op": "cannot", "what": what, "remedy": remedy_for(error)}


def remedy_for(error: OSError) -> str:
    """One line that says what to change."""
    step = str(error.filename or "")
    if error.errno == errno.ENOSPC and step.startswith("unshare"):
        return "raise user.max_user_namespaces and user.max_net_namespaces with sysctl"
    if step.startswith("mount proc"):
        return (
            "in a container: --cap-add SYS_ADMIN --security-opt seccomp=unconfined "
            "--security-opt systempaths=unconfined"
        )
    if step.startswith(("veth", "/dev/net/tun", "queue of")):
        return (
            "make /dev/net/tun readable and writable (chmod 666; in a container --device /dev/net/tun), "
            "or load the kernel module veth"
        )
    if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS):
        return refused_namespaces_remedy()
    return "run `s2g doctor` for a list of what this machine allows"


def refused_namespaces_remedy() -> str:
    """Why user namespaces are refused, most common reason first."""
    for setting, bad, remedy in (
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (or an AppArmor profile with userns)",
        ),
        (
            "kernel/unprivileged_userns_clone",
            "0",
            "sudo sysctl -w kernel.unprivileged_userns_clone=1",
        ),
        ("user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=10000"),
    ):
        with contextlib.suppress(OSError):
            if Path("/proc/sys", setting).read_text().strip() == bad:
                return remedy
    return (
        "allow user namespaces; in a container: --device /dev/net/tun --cap-add SYS_ADMIN --cap-add NET_ADMIN "
        "--security-opt seccomp=unconfined --security-opt apparmor=unconfined"
    )


if __name__ == "__main__":
    sys.exit(main())
