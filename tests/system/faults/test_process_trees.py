"""Faults reach a program with all its descendants: workers, the child of a shell, a daemon that forked twice."""

from __future__ import annotations

import sys
import time

from stream2gym.components.component_process import ComponentProcess, RestartPolicy
from tests.system.faults.scene import PATIENCE_S, Part, Scene, until

MEGABYTES = 40
# A main process, two workers of multiprocessing, a program below a shell, and a daemon in a session of its own. Each
# has the word s2g-family in its command line, and each but the shell holds some memory.
FAMILY = f"""
import multiprocessing, os, signal, subprocess, sys, time  # s2g-family
MEMORY = "data = bytearray(os.urandom(1 << 20)) * {MEGABYTES}"
REST = "import os, time; " + MEMORY + "; time.sleep(600)  # s2g-family"
def work():
    exec(MEMORY)
    time.sleep(600)
context = multiprocessing.get_context("fork")
for _ in range(2):
    context.Process(target=work, daemon=True).start()
below = [sys.executable, "-S", "-E", "-c", REST]
subprocess.Popen(["/bin/sh", "-c", '"$@"; true', "sh", *below])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(below[0], below)
    os._exit(0)
os.wait()
exec(MEMORY)
while True:
    time.sleep(600)
"""
MEMBERS = 6
LIST = """
import json, os
found = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        command = open(f"/proc/{pid}/cmdline", "rb").read()
        state = open(f"/proc/{pid}/stat", "rb").read().rpartition(b")")[2].split()[0].decode()
    except OSError:
        continue
    if b"s2g-family" in command and int(pid) != os.getpid() and b"listing" not in command:
        found.append(state)
print(json.dumps({"states": found}), flush=True)  # listing
"""
NAMES = """
import json, os
pids = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()]
names = [open(f"/proc/{pid}/comm").read().strip() for pid in pids]
print(json.dumps({"names": sorted(names)}), flush=True)
"""


def states(scene: Scene, host: str) -> str:
    """The states of the family's processes on a host, sorted, as one word; zombies do not count."""
    found = scene.lab.program(host, LIST).result()["states"]
    return "".join(sorted(state for state in found if state not in "ZX"))


def start_family(scene: Scene, host: str, program: str = FAMILY) -> ComponentProcess:
    sleeper = scene.sleeper("family", host, program)
    until(lambda: len(states(scene, host)) == MEMBERS and memory(scene, sleeper) > 5 * MEGABYTES << 20)
    return sleeper


def memory(scene: Scene, sleeper: ComponentProcess) -> float:
    assert sleeper.handle is not None
    return scene.lab.emulation.usage()[sleeper.handle.number]["rss_bytes"]


def test_the_memory_of_all_descendants_counts(scene: Scene) -> None:
    sleeper = scene.sleeper("family", "h1", FAMILY)

    assert until(lambda: memory(scene, sleeper) >= 5 * MEGABYTES << 20)


def test_a_host_is_told_with_the_memory_threads_and_files_of_all_its_processes(scene: Scene) -> None:
    start_family(scene, "h1")

    emulation = scene.lab.emulation
    # A page that several processes share counts once, unlike in what the family was waited for with.
    assert until(lambda: emulation.host_memory()["h1"] > 5 * MEGABYTES << 20)
    used = emulation.host_usage()["h1"]
    assert used["threads"] >= MEMBERS
    assert used["open_files"] >= 3 * MEMBERS
    assert used["tcp_connections"] == 0
    observer = scene.lab.emulation.network.observer
    assert observer is None or observer.name not in emulation.host_usage()


def test_the_cpu_time_of_descendants_counts_also_after_their_end(scene: Scene) -> None:
    # The kernel tells CPU times in ticks of 10 ms, rounded down for every process. The bound leaves room for that,
    # and none for a descendant that was forgotten.
    busy = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
    daemon = f"""
import os, subprocess, sys, time
subprocess.run([sys.executable, "-S", "-c", {busy!r}])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        exec({busy!r})
    os._exit(0)
time.sleep(600)
"""
    sleeper = scene.sleeper("busy", "h1", daemon)
    process = sleeper.handle
    assert process is not None

    assert until(lambda: scene.lab.emulation.usage()[process.number]["cpu_s"] >= 0.9)


def test_a_kill_leaves_no_descendant_and_a_restart_adds_no_second_copy(scene: Scene) -> None:
    start_family(scene, "h1")

    with scene.fault("kill", "family"):
        scene.wait_for("stopped")
        during = states(scene, "h1")
    after = until(lambda: len(states(scene, "h1")) >= MEMBERS)
    with scene.runner("restart", "family", 0.0, down="100 ms"):
        scene.wait_for("fault-healed")
        scene.settle()

    assert (during, after) == ("", True)
    assert until(lambda: len(states(scene, "h1")) >= MEMBERS)
    assert len(states(scene, "h1")) == MEMBERS


def test_a_pause_stops_every_descendant_and_all_go_on_afterwards(scene: Scene) -> None:
    start_family(scene, "h1")

    with scene.fault("pause", "family"):
        assert until(lambda: states(scene, "h1") == "T" * MEMBERS)

    assert until(lambda: states(scene, "h1") == "S" * MEMBERS)


def test_a_stop_lets_the_program_below_a_shell_end_in_its_own_time(scene: Scene) -> None:
    flush = (
        "import os, signal, sys, time  # s2g-family\n"
        "def leave(*_):\n"
        "    open('/tmp/work/flushed', 'a').write('once\\n')\n"
        "    time.sleep(0.3)\n"
        "    open('/tmp/work/flushed', 'a').write('over\\n')\n"
        "    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, leave)\n"
        "open('/tmp/work/ready', 'w').close()\n"
        "while True: time.sleep(600)\n"
    )
    wrapper = ["/bin/sh", "-c", '"$@"; true', "sh", sys.executable, "-S", "-E", "-c", flush]
    scene.parts["wrapped"] = Part(scene, "wrapped", "h2", wrapper)
    look = "import os, sys; sys.exit(not os.path.exists('/tmp/work/ready'))"
    until(lambda: scene.code("h2", look) == 0)

    with scene.runner("stop", "wrapped", 600.0):
        scene.wait_for("stopped")
        left = states(scene, "h2")
        read = "import sys; sys.exit(open('/tmp/work/flushed').read() != 'once\\nover\\n')"
        flushed_once = scene.code("h2", read) == 0

    assert (left, flushed_once) == ("", True)
    assert not scene.told("died")


def test_a_program_that_dies_takes_its_descendants_along(scene: Scene) -> None:
    sleeper = start_family(scene, "h1")
    assert sleeper.handle is not None
    kill = f"import os; os.kill({sleeper.handle.pid}, 9)"

    assert scene.code("h1", kill) == 0
    scene.wait_for("died")

    assert states(scene, "h1") == ""
    assert scene.told("died")[0]["how"] == "killed by SIGKILL"


def test_a_program_has_ended_when_nothing_of_it_is_left_with_the_code_of_its_main_process(
    scene: Scene,
) -> None:
    leaves = (
        "import os, subprocess, sys  # s2g-family\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)  # s2g-family'])\n"
        "os._exit(0)\n"
    )
    sleeper = scene.sleeper("leaver", "h1", leaves)

    until(lambda: sleeper.over)

    assert sleeper.state == "finished"
    assert states(scene, "h1") == ""


def test_a_host_without_power_runs_nothing_at_all(scene: Scene) -> None:
    start_family(scene, "h3")
    stranger = scene.lab.emulation.spawn("h3", ["/bin/sh", "-c", "sleep 600 & sleep 600"])
    fails = [sys.executable, "-c", "raise SystemExit(3)"]
    scene.parts["tireless"] = Part(scene, "tireless", "h3", fails, RestartPolicy(times=1000, delay_s=0.1))
    [tireless] = scene.parts["tireless"].processes
    until(lambda: tireless.starts > 1)

    with scene.fault("host-off", "h3"):
        how = stranger.wait(PATIENCE_S)
        until(lambda: not scene.parts["family"].processes[0].running and tireless.over)
        starts = tireless.starts
        names = scene.lab.program("h3", NAMES).result()["names"]
        time.sleep(0.3)
        again = tireless.starts - starts

    assert str(how) == "killed by SIGKILL"
    assert names == ["s2g-host", "s2g-reaper"]
    assert again == 0
    assert until(lambda: len(states(scene, "h3")) >= MEMBERS and tireless.starts > starts)


def test_a_program_can_neither_see_nor_signal_the_processes_of_another_host(scene: Scene) -> None:
    victim = scene.sleeper("victim", "h2", "import time; time.sleep(600)  # s2g-family")
    seen = states(scene, "h1")

    murder = scene.lab.emulation.spawn("h1", [sys.executable, "-S", "-c", "import os; os.kill(-1, 9)"])
    murder.wait(PATIENCE_S)

    assert seen == ""
    assert states(scene, "h2") in ("R", "S")  # it may still be starting
    assert victim.running
    assert scene.lab.emulation.failure is None
