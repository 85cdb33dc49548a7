"""``validate``: check an experiment and show every mistake at once.

Exit code 0, or 2 with mistakes, or 4 when the experiment is valid and this machine cannot run it."""

from __future__ import annotations

import argparse
import json
import sys

from stream2gym.cli.arguments import add_experiment, add_json, add_set
from stream2gym.errors import BadInput, CannotHere


def add(parser: argparse.ArgumentParser) -> None:
    add_experiment(parser)
    parser.add_argument("--only-spark", action="store_true", help="as in the published format: read no topics")
    add_set(parser, "change one value, such as producers.gen.rate=50/s (may be given several times)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from stream2gym.prepare import prepare_experiment
    from stream2gym.spec.readers.overrides import pairs

    try:
        prepared = prepare_experiment(
            args.experiment, tolerant=args.tolerant, overrides=pairs(args.set), only_spark=args.only_spark
        )
    except BadInput as error:
        if args.json:
            print(json.dumps({"valid": False, "mistakes": [m.as_json() for m in error.mistakes]}, indent=2))
        else:
            print(error, file=sys.stderr)
            count = len(error.mistakes)
            print(f"{count} mistake{'s' if count > 1 else ''}", file=sys.stderr)
        return error.exit_code
    experiment, later, obstacles = prepared.experiment, prepared.plan.not_runnable, prepared.obstacles
    if args.json:
        warnings = [warning.as_json() for warning in prepared.loaded.warnings]
        result = {
            "valid": True, "name": experiment.name, "warnings": warnings,
            "undecidable": prepared.undecidable, "not_runnable": later,
        }  # fmt: skip
        if obstacles:
            result["not_here"] = [{"what": one.what, "remedy": one.remedy} for one in obstacles]
        print(json.dumps(result, indent=2))
        return CannotHere.exit_code if obstacles else 0
    for warning in (*prepared.loaded.warnings, *prepared.undecidable):
        print(f"warning: {warning}", file=sys.stderr)
    topology = experiment.topology
    parts = [(len(topology.hosts), "host"), (len(topology.switches), "switch"), (len(topology.links), "link")]
    parts += [(len(experiment.components()), "component"), (len(experiment.faults), "fault")]
    counted = ", ".join(f"{n} {noun}{'' if n == 1 else 'es' if noun == 'switch' else 's'}" for n, noun in parts if n)
    print(f"{experiment.name} is valid: {counted}")
    for sentence in later:
        print(f"note: {sentence}")
    prepared.check_machine()
    return 0
