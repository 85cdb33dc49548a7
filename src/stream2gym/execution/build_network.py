"""Phase ``network``: build hosts and links, and give the user's programs a folder to work in."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from stream2gym.components.cluster import plan_nodes
from stream2gym.components.line_reader import LineReader
from stream2gym.components.rabbitmq_cluster import plan_rabbitmq_nodes
from stream2gym.components.run_context import RunContext
from stream2gym.execution.link_startup import unshaped_links
from stream2gym.execution.program_folder import make_private_view, make_root, remove_root, root_of
from stream2gym.execution.run_control import RunControl
from stream2gym.hosts.emulation import EmulatedNetwork, start_network
from stream2gym.hosts.limits import limitable_hosts
from stream2gym.software.cache import Cache


def build_network(run: RunControl) -> RunContext:
    """Start the emulated network. Returns what the components of the run are made with."""
    run.recorder.phase("network")
    planned = run.planned
    recorder = run.recorder
    base = planned.base.absolute()
    cache = Cache.here().path().absolute()
    lines = LineReader()
    run.undo.callback(lines.close)
    has_programs = any(getattr(part, "app", None) for _, part in planned.experiment.components())
    run.undo.callback(remove_root, run.folder)
    network = start_network(
        planned.plan.network,
        keep=[base, Path.cwd(), run.folder.path.absolute(), cache],
        limitable=limitable_hosts(planned.plan),
        private=make_private_view(run.folder, base, [cache]) if has_programs else None,
    )
    run.undo.callback(network.close)
    run.waiter.failure_checks += [lambda: network.failure, lambda: recorder.failure]
    for limit, warning in network.limits.unenforced.items():
        recorder.tell("warning", what=warning, unenforced=limit)
    root = base if has_programs else root_of(run.folder)
    if network.not_private:
        what = f"programs can change {base}: no private view of it ({network.not_private})"
        recorder.tell("warning", what=what)
        root = make_root(run.folder, base)
    if planned.plan.startup == "fast":
        network.fabric.set_links(unshaped_links(planned.plan.network))
        network.limits.lift_cpu()
    network.name_components({part.name: part.host for part in planned.plan.components})
    if planned.captured_links():
        _capture_links(run, network)
    return RunContext(
        experiment=planned.experiment,
        plan=planned.plan,
        base=base,
        nodes=(*plan_nodes(planned.experiment, planned.plan), *plan_rabbitmq_nodes(planned.experiment, planned.plan)),
        network=network,
        folder=run.folder,
        lines=lines,
        tell=recorder.tell,
        sample=recorder.sample,
        root=root,
    )


def _capture_links(run: RunControl, network: EmulatedNetwork) -> None:
    """Write the packets of links to ``captures/`` of the run folder."""
    captures = run.folder.path.absolute() / "captures"
    captures.mkdir()
    for name in run.planned.captured_links():
        run.undo.callback(run.attempt, partial(network.fabric.stop_capture, name))
        network.fabric.capture(name, captures / f"{name.replace(' ', '')}.pcap")
