"""The Python API of sweeps: ``sweep(...)`` runs an experiment at many points and returns a table of responses.

from stream2gym import sweep
result = sweep("sweep.yaml", jobs=1)
result = sweep(base="hello", axes={"producers.speaker.rate": ["100/s", "200/s"]}, responses=["latency.mean"])
assert result.verdict == "pass", result.summary
print(result.table.to_pandas())
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from stream2gym.analysis.session import check_master
from stream2gym.errors import BadInput, Mistake
from stream2gym.interrupts import Interrupts
from stream2gym.point_runners import RunnerHere, RunnerInProcesses
from stream2gym.spec.findings import did_you_mean
from stream2gym.spec.model import Experiment
from stream2gym.spec.readers.bundled_examples import find_bundled_files, find_experiment
from stream2gym.spec.readers.user_files import is_folder
from stream2gym.spec.writers.conversion import to_yaml
from stream2gym.sweep_cluster.cluster_runner import RunnerOnCluster
from stream2gym.sweep_cluster.experiment_files import collect_files
from stream2gym.sweep_cluster.worker_report import check_workers
from stream2gym.sweeps.check_points import CheckedPoints, check_points, check_size, find_input_files
from stream2gym.sweeps.job_limits import JobLimits, limit_jobs, read_free_bytes
from stream2gym.sweeps.load_sweep import LoadedSweep, check_sweep, load_sweep
from stream2gym.sweeps.point import Keep, PointRunner
from stream2gym.sweeps.run_points import PointLoop, SilentSweepView, SweepView, as_wanted
from stream2gym.sweeps.sweep_file import SweepFile
from stream2gym.sweeps.sweep_folder import InputFile, SweepFolder, find_sweep
from stream2gym.sweeps.sweep_plan import SweepPlan, count_points, make_sweep_plan, thin_for_quick
from stream2gym.sweeps.sweep_results import SweepResult, dump_file, finish_sweep
from stream2gym.version import __version__

SWEEP_FILE = "sweep.yaml"
KEEPS = ("all", "summaries")


def sweep(
    file: str | Path | None = None,
    *,
    base: Experiment | str | Path | None = None,
    quick: bool = False,
    jobs: int | None = None,
    master: str | None = None,
    keep: Keep = "all",
    retry: bool = False,
    resume: str | Path | None = None,
    out: str | Path | None = None,
    yes: bool = False,
    view: SweepView | None = None,
    interrupts: Interrupts | None = None,
    **settings: Any,
) -> SweepResult:
    """Run a sweep: a file, the name of a bundled one, or keys of the file as arguments (``axes``, ``responses`` ...).

    ``base`` is the experiment: a model, a path or the name of an example. ``quick`` makes a coarse pass. ``jobs``
    points run at once: 1 by default, and with ``master`` as many as the cluster has room for. ``master`` names a
    Spark cluster on whose workers the points run. ``retry`` runs once more what did not go
    through or is in doubt. ``resume`` names the folder of a sweep that goes on (or ``latest``). ``yes`` agrees to
    very many runs. BadInput names every mistake before anything starts.
    """
    model = base if isinstance(base, Experiment) else None
    _check_options(jobs, keep, resume, out)
    if model is not None:
        _check_model_options(jobs, master)
    loaded = load_settings(file, base, settings)
    plan = plan_sweep(loaded.file, quick=quick, yes=yes)
    checked = check_points(loaded, plan, model, is_run_here=master is None)
    shown = view or SilentSweepView()
    inputs = collect_inputs(loaded, checked, settings, model)
    with contextlib.ExitStack() as undo:
        heard = interrupts or undo.enter_context(Interrupts())
        folder = None if resume is None else _resume_folder(str(resume), loaded, plan, inputs, shown)
        if folder is not None:
            undo.callback(folder.release)
        # Nothing is left behind where no worker can run a point: the folder of a new sweep is made afterwards.
        cluster, limits = None, JobLimits(1)
        if master is None:
            limits = limit_jobs(jobs or 1, checked.run_bytes, read_free_bytes(), os.cpu_count() or 1)
        else:
            cluster = undo.enter_context(_open_cluster(master, loaded, checked, shown))
            limits = _check_cluster(cluster, plan, jobs, checked.run_bytes, shown)
        warnings = (*checked.warnings, *limits.warnings)
        for warning in warnings:
            shown.note(f"warning: {warning}")
        if folder is None:
            folder = _make_folder(loaded, plan, inputs, None if out is None else Path(out), keep)
            undo.callback(folder.release)
        # On a full disk no run begins, and the reason is told.
        with contextlib.suppress(OSError):
            folder.update(state="running", jobs=limits.jobs, keep=keep, warnings=list(warnings), stopped="")
        runner: Runner
        if cluster is not None:
            runner = cluster
        elif model is not None or limits.jobs == 1:
            runner = undo.enter_context(RunnerHere(model or _find_base(loaded), heard))
        else:
            runner = undo.enter_context(RunnerInProcesses(_find_base(loaded), limits.jobs, folder.path))
        loop = PointLoop(
            folder,
            folder.read_plan(),
            runner,
            as_wanted(loaded.file.responses),
            shown,
            lambda: heard.asked,
            keep,
            limits.jobs,
            retry,
            float(loaded.file.interval),
        )
        return _run(loop, runner, loaded, heard)


def plan_sweep(file: SweepFile, *, quick: bool, yes: bool) -> SweepPlan:
    """The runs of a sweep. BadInput for very many of them, before they are listed, unless the user agreed."""
    sized = thin_for_quick(file) if quick else file
    check_size(count_points(sized), sized.repeats, is_agreed=yes)
    return make_sweep_plan(file, is_quick=quick)


class Runner(PointRunner, Protocol):
    """A runner of points that can be asked to end."""

    def stop(self) -> None:
        """Ask the runs that are going on to end."""


def _run(loop: PointLoop, runner: Runner, loaded: LoadedSweep, interrupts: Interrupts) -> SweepResult:
    """Run what is left of a sweep, and judge it."""

    def stop() -> None:
        loop.view.note("stopping; press Ctrl-C again to stop at once")
        runner.stop()

    with interrupts.orderly(stop):
        end = loop.run()
        ended = datetime.now().astimezone().isoformat(timespec="seconds")
        return finish_sweep(loop.folder, loaded.file, end.state, end.reason, ended=ended)


def _find_base(loaded: LoadedSweep) -> str:
    """The absolute path of the base experiment."""
    return str(find_experiment(loaded.experiment).absolute())


def _open_cluster(master: str, loaded: LoadedSweep, checked: CheckedPoints, view: SweepView) -> RunnerOnCluster:
    """Start the Spark application that runs the points."""
    check_master(master, "to run the points here")
    files = collect_files(Path(_find_base(loaded)), checked.first, checked.texts)
    view.note(f"asking {master} for workers")
    return RunnerOnCluster(master, loaded.file.name, files)


def _check_cluster(
    cluster: RunnerOnCluster, plan: SweepPlan, jobs: int | None, run_bytes: int, view: SweepView
) -> JobLimits:
    """Check every worker. CannotHere names those that cannot run points."""
    first = plan.points()[0]
    reports = cluster.check_workers(first.overrides, first.seed)
    slots = sum(one.slots for one in reports)
    wanted = jobs or min(slots, len(plan.runs))
    at_once = min(wanted, slots)
    warnings = check_workers(reports, at_once, run_bytes)
    if at_once < wanted:
        warnings = (f"--jobs {wanted}: {at_once} at once, because the cluster has no more task slots", *warnings)
    shown = ", ".join(f"{one.label} ({one.slots})" for one in reports)
    view.note(f"{at_once} at once on the workers {shown}")
    return JobLimits(at_once, warnings)


def find_sweep_file(word: str) -> Path:
    """The file that a word on the command line means, as ``find_experiment`` does for experiments."""
    if "/" in word or Path(word).suffix:
        path = Path(word)
        return path / SWEEP_FILE if is_folder(path) else path
    known = bundled_sweeps()
    if word not in known:
        hint = did_you_mean(word, known) or "a path has a slash or a suffix"
        raise BadInput(Mistake("", f"there is no bundled sweep {word!r}", hint))
    return known[word]


def bundled_sweeps() -> dict[str, Path]:
    """The sweep file of every example that has one, by the name of its folder."""
    return find_bundled_files(f"*/{SWEEP_FILE}") | find_bundled_files(f"*/*/{SWEEP_FILE}")


def _check_options(jobs: int | None, keep: str, resume: str | Path | None, out: str | Path | None) -> None:
    mistakes = []
    if jobs is not None and jobs < 1:
        mistakes.append(Mistake("--jobs", f"{jobs} is not a number of runs", "1 or more"))
    if keep not in KEEPS:
        mistakes.append(Mistake("--keep", f"{keep!r} is not one of {', '.join(KEEPS)}"))
    if resume is not None and out is not None:
        mistakes.append(Mistake("--out", "a sweep that is resumed stays in its folder", "leave it out"))
    if mistakes:
        raise BadInput(mistakes)


def _check_model_options(jobs: int | None, master: str | None) -> None:
    """BadInput for options that an experiment built in Python does not have, because it cannot leave this process."""
    given = {"--jobs": (jobs or 1) > 1, "--master": master is not None}
    what = "an experiment built in Python runs here, one at a time"
    mistakes = [Mistake(option, what, "write it to a file") for option, is_given in given.items() if is_given]
    if mistakes:
        raise BadInput(mistakes)


def load_settings(
    file: str | Path | None, base: Experiment | str | Path | None, settings: Mapping[str, Any]
) -> LoadedSweep:
    """Read and check a sweep: a file or the name of a bundled one, with settings that replace keys of it."""
    if base is not None:
        word = "(a model)" if isinstance(base, Experiment) else str(base)
        settings = {**settings, "experiment": word}
    if file is None:
        return check_sweep(settings, Path.cwd())
    loaded = load_sweep(find_sweep_file(str(file)))
    if not settings:
        return loaded
    folder = Path.cwd() if base is not None else loaded.base
    return check_sweep({**loaded.data, **settings}, folder, loaded.path, loaded.origins)


def collect_inputs(
    loaded: LoadedSweep, checked: CheckedPoints, settings: Mapping[str, Any], model: Experiment | None = None
) -> list[InputFile]:
    """Everything that the results depend on: the sweep, the experiment, and the files that it names."""
    inputs = []
    if loaded.path is not None:
        inputs.append(InputFile.read(loaded.path.name, loaded.path))
    if loaded.file.published:
        inputs.append(InputFile.read(loaded.file.published, loaded.base / loaded.file.published))
    if settings:
        text = json.dumps(settings, indent=1, default=str, sort_keys=True)
        inputs.append(InputFile.of_bytes("arguments of sweep()", text.encode()))
    if model is not None:
        inputs.append(InputFile.of_bytes("experiment", to_yaml(model).encode()))
    for path in find_input_files(checked.first, checked.texts):
        name = os.path.relpath(path, checked.first.loaded.base)
        taken = {file.name for file in inputs}
        inputs.append(InputFile.read(name if name not in taken else f"experiment {name}", path))
    return inputs


def _make_folder(
    loaded: LoadedSweep, plan: SweepPlan, inputs: list[InputFile], out: Path | None, keep: Keep
) -> SweepFolder:
    word = loaded.file.experiment
    name = Path(word).name if Path(word).is_absolute() else word
    file = dump_file(loaded.file)
    published = loaded.published.to_json()
    return SweepFolder.create(
        loaded.file.name, plan, inputs, out, keep=keep, experiment=name, file=file, published=published
    )


def _resume_folder(
    reference: str, loaded: LoadedSweep, plan: SweepPlan, inputs: list[InputFile], view: SweepView
) -> SweepFolder:
    """The folder of a sweep that goes on. BadInput if its input has changed since it began."""
    folder = find_sweep(loaded.file.name if reference == "latest" else reference)
    info = folder.info
    if info["name"] != loaded.file.name:
        raise BadInput(
            Mistake("--resume", f"{folder.path} is a sweep called {info['name']!r}, not {loaded.file.name!r}")
        )
    if bool(info["quick"]) != plan.is_quick:
        words = ("with", "without") if info["quick"] else ("without", "with")
        raise BadInput(Mistake("--quick", f"the sweep began {words[0]} it", f"resume it {words[0]} it"))
    began = folder.read_plan().repeats
    if began != plan.repeats:
        what = f"the sweep began with {began} of every point, not with {plan.repeats}"
        raise BadInput(Mistake("--repeats", what, f"resume it with --repeats {began}"))
    folder.check_unchanged(inputs)
    folder.own()
    before = info["versions"]["stream2gym"]
    if before != __version__:
        view.note(f"warning: this sweep began with stream2gym {before}; its other runs are made with {__version__}")
    return folder
