"""Jobs by hand while a run goes on: requests at a socket in its folder, JSON lines both ways.

    {"do": "list"}                                             {"ok": [{name, kind, host, state, listens ...}]}
    {"do": "submit", "folder": FOLDER, "parts": {SECTION: [...as in an experiment...]}}   {"ok": [NAME, ...]}
    {"do": "stop", "name": NAME}                               {"ok": {name, host}}
    {"do": "move", "name": NAME, "to": HOST}                   {"ok": {name, host, from}}

The answer to a wrong request is ``{"mistakes": [...]}``. The socket exists from the start of the load until the stop;
after the load only ``list`` is answered.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stream2gym.errors import BadInput, Mistake
from stream2gym.execution.drive_load import Load
from stream2gym.execution.request_socket import RequestServer, ask_run
from stream2gym.execution.run_control import RunControl
from stream2gym.execution.run_jobs import RunJobs
from stream2gym.execution.start_monitors import RunMonitors

SOCKET = "jobs.sock"


def start_jobs(run: RunControl, load: Load, monitors: RunMonitors) -> RunJobs:
    """Take jobs by hand from now on until the run stops."""
    jobs = RunJobs(run, load, monitors)
    server = RequestServer(run.folder.path, SOCKET, lambda request: _answer(jobs, request))
    run.undo.callback(server.close)
    return jobs


def _answer(jobs: RunJobs, request: dict[str, Any]) -> Any:
    match request["do"]:
        case "list":
            return jobs.overview()
        case "submit":
            return jobs.submit(request["parts"], Path(request["folder"]))
        case "stop":
            return jobs.stop(str(request["name"]))
        case "move":
            return jobs.move(str(request["name"]), str(request["to"]))
    raise BadInput(f"no such request: {request['do']!r}")


def ask_jobs(folder: Path, question: dict[str, Any]) -> Any:
    """Send a request to the run in this folder and return its answer. BadInput has what the run found wrong."""
    hint = "a run takes jobs from the start of its load until its end"
    return ask_run(folder, SOCKET, question, Mistake(folder.name, "takes no jobs now", hint))
