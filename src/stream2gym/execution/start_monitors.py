"""The monitors of a run: started with the network, sampled until the stop."""

from __future__ import annotations

from functools import partial

from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl
from stream2gym.monitors.clock import ClockMonitor
from stream2gym.monitors.fabric_counters import FabricMonitor
from stream2gym.monitors.machine import MachineMonitor
from stream2gym.monitors.monitor import Monitor, MonitoredRun, find_plug_in_monitors, make_sample
from stream2gym.monitors.processes import ProcessMonitor
from stream2gym.monitors.sampler import HasLook, Sampler


class RunMonitors:
    """Handle of the monitors: more can be added, and they are told when the load ends."""

    def __init__(self, fabric: FabricMonitor, sampler: Sampler) -> None:
        self._fabric = fabric
        self._sampler = sampler

    def add(self, name: str, monitor: HasLook) -> None:
        """Sample this monitor, too, from now on."""
        self._sampler.add(name, lambda: monitor)

    def end_load(self) -> None:
        """Read the drops of every device at the next sample: their counts of the load are complete."""
        self._fabric.end_load()


def start_monitors(run: RunControl, components: RunComponents) -> RunMonitors:
    """Start to sample the fabric, the processes, the machine, its clock and the engines, and start plug-ins."""
    recorder = run.recorder
    context = components.context

    def show_run_to(monitor: type[Monitor]) -> MonitoredRun:
        sample = make_sample(monitor, recorder.sample)
        return MonitoredRun(context.plan, context.network, components.processes, sample, recorder.tell)

    sampler = Sampler(recorder.sample, recorder.tell)
    run.undo.callback(sampler.stop)
    fabric = FabricMonitor(show_run_to(FabricMonitor))
    monitors = RunMonitors(fabric, sampler)
    monitors.add(FabricMonitor.KIND.name, fabric)
    for engine in components.engines:
        monitors.add(f"engine {engine.name}", engine)
    plug_ins, unusable = find_plug_in_monitors()
    for name, reason in unusable.items():
        recorder.tell("monitor-failed", monitor=name, reason=reason)
    built_in: list[type[Monitor]] = [ProcessMonitor, MachineMonitor, ClockMonitor]
    for monitor in [*built_in, *plug_ins]:
        sampler.add(monitor.KIND.name, partial(monitor, show_run_to(monitor)))
    return monitors
