"""A component: one piece of real software on a host, in one or more processes of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stream2gym.components.component_process import ComponentProcess, RestartPolicy, Tell
from stream2gym.hosts.process import Process
from stream2gym.spec.model import Consumer, Producer


class BaseComponent:
    """What all components have in common: they start, say when they are ready, and stop.

    ``kind`` is broker, producer, consumer, engine, store, sink or source. Subclasses override what differs.
    """

    def __init__(self, name: str, kind: str, host: str, processes: list[ComponentProcess]) -> None:
        self.name = name
        self.kind = kind
        self.host = host
        self.processes = processes

    def start(self) -> None:
        """Start its processes; returns at once."""
        for process in self.processes:
            process.start()

    def ready(self) -> bool:
        """Whether it has been seen to do what others wait for."""
        return all(process.running for process in self.processes)

    def stop(self) -> None:
        """Ask its processes to end, and kill those that do not."""
        for process in self.processes:
            process.ask_to_stop()
        for process in self.processes:
            process.wait_for_stop()

    def move_to(self, host: str) -> None:
        """Let its next start be on another host. Its processes have ended."""
        self.host = host
        for process in self.processes:
            process.host = host

    def why_not_movable(self) -> str:
        """Why it cannot be moved to another host while the run goes on; empty if it can."""
        return ""

    @property
    def is_retired(self) -> bool:
        """Whether it was stopped by hand: nobody waits for it any more."""
        return all(process.is_retired for process in self.processes)

    @property
    def hopeless(self) -> bool:
        """Whether one of its processes died, so that it will not get ready."""
        return any(process.state == "died" for process in self.processes)

    @property
    def over(self) -> bool:
        """Whether every process has ended and none will be started again."""
        return all(process.over for process in self.processes)


def make_processes(
    part: Producer | Consumer, host: str, launch: Callable[[int], Process], tell: Tell, *, grace_s: float
) -> list[ComponentProcess]:
    """The processes of a client, one for each instance. ``launch`` starts the instance of a number."""
    return [
        ComponentProcess(
            str(part.name),
            host,
            lambda _start, instance=instance: launch(instance),  # type: ignore[misc]
            tell,
            instance=instance,
            policy=RestartPolicy.of(part.restart),
            grace_s=grace_s,
        )
        for instance in range(1, part.instances + 1)
    ]


def ask_running_to_stop(components: Sequence[BaseComponent]) -> None:
    """Ask the processes that run to end, without waiting. Those that a fault keeps down may be started again."""
    for component in components:
        for process in component.processes:
            if process.running:
                process.ask_to_stop()


def stop_together(components: Sequence[BaseComponent]) -> None:
    """Stop several components. All are asked to end before any is waited for, so that they end at the same time."""
    for component in components:
        for process in component.processes:
            process.ask_to_stop()
    for component in components:
        component.stop()
