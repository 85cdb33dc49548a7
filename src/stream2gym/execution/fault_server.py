"""Faults by hand while a run goes on: requests at a socket in its folder, JSON lines both ways.

    {"do": "apply", "fault": {...as in an experiment...}}   {"ok": {fault, do, on ...}}
    {"do": "heal", "name": NAME}                             {"ok": [...]}
    {"do": "list"}                                           {"ok": {active, planned, waiting}}

The answer to a wrong request is ``{"mistakes": [...]}``. The socket exists while faults can happen.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from stream2gym.errors import BadInput, Mistake
from stream2gym.execution.request_socket import RequestServer, ask_run
from stream2gym.faults.fault_runner import FaultRunner
from stream2gym.kinds.registry import registry
from stream2gym.plan.fault_schedule import plan_without_times
from stream2gym.plan.planned import PlannedFault
from stream2gym.spec.checks.experiment_checks import check_experiment
from stream2gym.spec.model import Experiment
from stream2gym.spec.model.experiment import Fault

SOCKET = "control.sock"


class FaultServer:
    """Handle of the faults of a run. A thread answers requests at the socket.

    ``experiment`` tells the experiment as it is now: components may have joined the run.
    """

    def __init__(self, runner: FaultRunner, folder: Path, experiment: Callable[[], Experiment], base: Path) -> None:
        self._runner = runner
        self._experiment = experiment
        self._base = base
        self._server = RequestServer(folder, SOCKET, self._answer)

    @property
    def held(self) -> frozenset[str]:
        """Components that faults keep from running and will start again: the load waits for them."""
        return self._runner.held

    def end_load(self) -> None:
        """Let no new fault of the plan begin."""
        self._runner.end_load()

    def close(self) -> None:
        """Undo every fault and remove the socket; may be called twice."""
        self._runner.close()
        self._server.close()

    def _answer(self, request: dict[str, Any]) -> Any:
        match request["do"]:
            case "apply":
                return self._runner.apply(self._plan_fault(request["fault"]))
            case "heal":
                return self._runner.heal(str(request["name"]))
            case "list":
                return self._runner.overview()
        raise BadInput(f"no such request: {request['do']!r}")

    def _plan_fault(self, said: dict[str, Any]) -> PlannedFault:
        """Check the fault like one in a file, and return it as the plan would hold it."""
        try:
            fault = Fault.model_validate({"at": "0 s", **said})
        except ValidationError as error:
            raise BadInput([Mistake("fault", problem["msg"]) for problem in error.errors()]) from error
        alone = Experiment.model_validate(
            self._experiment().model_dump(by_alias=True) | {"faults": [fault.model_dump(by_alias=True)], "expect": []}
        )
        # The rest of the experiment was checked before the run; its files may have changed since.
        mistakes = check_experiment(alone, self._base, section="faults")
        if mistakes:
            raise BadInput(mistakes)
        [whole] = alone.faults
        kind = registry("fault").find(whole.do)
        assert kind is not None, "an unknown kind is a mistake"
        return plan_without_times(whole, kind)


def send_request(folder: Path, question: dict[str, Any]) -> Any:
    """Send a request to the run in this folder and return its answer.

    Raises BadInput with the mistakes that the run found in the request, or when the run takes no requests now.
    """
    hint = "a run takes faults from the start of its load until it stops"
    return ask_run(folder, SOCKET, question, Mistake(folder.name, "takes no faults now", hint))
