"""The processes of components as faults need them: finding them, and starting them again."""

from __future__ import annotations

from collections.abc import Iterator

from stream2gym.components.component_process import ComponentProcess
from stream2gym.errors import S2gError
from stream2gym.faults.action import Action, CannotApply, FaultContext


def processes_of(context: FaultContext, names: tuple[str, ...]) -> Iterator[ComponentProcess]:
    """The processes of the components. A process that is just being started is waited for."""
    for name in names:
        for process in context.component(name).processes:
            process.wait_for_restart()
            yield process


def running_processes(context: FaultContext, names: tuple[str, ...]) -> list[ComponentProcess]:
    """The running processes of the components. CannotApply for a component that has none."""
    processes = []
    for name in names:
        alive = [process for process in processes_of(context, (name,)) if process.running]
        if not alive:
            raise CannotApply(f"{name} is not running")
        processes += alive
    return processes


def running_on(context: FaultContext, hosts: tuple[str, ...]) -> list[ComponentProcess]:
    """Every running process of these hosts."""
    names = tuple(part.name for host in hosts for part in context.on_host(host))
    return [process for process in processes_of(context, names) if process.running]


def wanted_on(context: FaultContext, hosts: tuple[str, ...]) -> list[ComponentProcess]:
    """Every process of these hosts that runs, or that its restart policy will start."""
    names = tuple(part.name for host in hosts for part in context.on_host(host))
    return [process for process in processes_of(context, names) if process.state in ("running", "waiting")]


def start_again(context: FaultContext, processes: list[ComponentProcess]) -> None:
    """Start the processes that have ended. All are tried before a failure is raised as CannotApply.

    Producers are not started after the load. The start is not waited for, because other faults may be due.
    """
    problems = []
    for process in processes:
        if context.load_over and context.component(process.component).kind == "producer":
            continue
        try:
            if process.handle is not None and process.handle.poll() is None:
                process.kill()
            process.restart()
        except (S2gError, TimeoutError, OSError) as error:
            problems.append(f"{process.component}: {error}")
    if problems:
        raise CannotApply("; ".join(problems))


class DeadlyAction(Action):
    """A fault of hosts that their processes may die of. Such deaths are expected, and ``undo`` starts them again."""

    SLOW = True
    _units: list[ComponentProcess] = []  # noqa: RUF012 (replaced, never changed)

    def apply(self, context: FaultContext) -> None:
        self._processes = running_on(context, self.hit)
        for process in self._processes:
            process.expect_end("fault")

    def undo(self, context: FaultContext) -> None:
        for process in self._processes:
            process.expect_running()
        start_again(context, [process for process in self._processes if not process.running])
