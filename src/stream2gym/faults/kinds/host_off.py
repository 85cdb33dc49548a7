"""``host-off``: hosts lose power and come back."""

from __future__ import annotations

from contextlib import suppress

from stream2gym.components.component_process import ComponentProcess
from stream2gym.faults.action import Action, CannotApply, FaultContext
from stream2gym.faults.component_processes import start_again, wanted_on
from stream2gym.faults.link_changes import down


class HostOffFault(Action):
    """Every process of the host dies and its links are down. ``undo`` starts them, with or without their data."""

    HOLDS = True
    SLOW = True
    _units: list[ComponentProcess] = []  # noqa: RUF012 (replaced, never changed)

    def apply(self, context: FaultContext) -> None:
        names = [link.name for host in self.hit for link in context.links.links_of(host)]
        context.links.change(self, dict.fromkeys(names, (down, down)))
        self._processes = wanted_on(context, self.hit)
        for process in self._processes:
            process.expect_end("kill")
        if context.hosts is not None:
            for host in self.hit:
                context.hosts.power_off(host)
        for process in self._processes:
            process.send_kill()

    def undo(self, context: FaultContext) -> None:
        context.links.restore(self)
        if self.settings.data == "wipe":
            for process in self._processes:
                process.kill()  # no process may write while its data are removed
            for name in dict.fromkeys(process.component for process in self._processes):
                with suppress(CannotApply):  # some components keep no data
                    context.wipe(name)
        start_again(context, self._processes)

    def held(self, context: FaultContext) -> frozenset[str]:
        return frozenset(process.component for process in self._processes)
