"""What the user is told when the kernel refuses a step that builds the hosts: what was refused, and the remedy."""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path
from typing import Any


def explain_refusal(error: OSError) -> dict[str, Any]:
    """The message to the command about a refused step: what was refused, and the remedy."""
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
    """The remedy for refused user namespaces; the most common reason is looked for first."""
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
