"""``validate``: check an experiment and tell every mistake at once. Exit code 0, or 2 when there is any."""

from __future__ import annotations

import argparse
import json
import sys

from stream2gym.errors import BadInput


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment", help="a path (it has a slash or a suffix) or a bundled example")
    parser.add_argument("--tolerant", action="store_true", help="leave out what refers to missing files")
    parser.add_argument("--only-spark", action="store_true", help="do not read topics (published flag)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change one value")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    from stream2gym.plan.make import make_plan
    from stream2gym.spec.bundled import find_experiment
    from stream2gym.spec.load import load_experiment
    from stream2gym.spec.overrides import pairs
    from stream2gym.spec.running import not_runnable

    try:
        loaded = load_experiment(
            find_experiment(args.experiment),
            tolerant=args.tolerant,
            overrides=pairs(args.set),
            only_spark=args.only_spark,
        )
        make_plan(loaded.experiment)
    except BadInput as error:
        if args.json:
            print(json.dumps({"valid": False, "mistakes": [m.as_json() for m in error.mistakes]}, indent=2))
        else:
            print(error, file=sys.stderr)
            count = len(error.mistakes)
            print(f"{count} mistake{'s' if count > 1 else ''}", file=sys.stderr)
        return error.exit_code
    experiment = loaded.experiment
    later = not_runnable(experiment)
    if args.json:
        warnings = [warning.as_json() for warning in loaded.warnings]
        result = {"valid": True, "name": experiment.name, "warnings": warnings, "not_runnable": later}
        print(json.dumps(result, indent=2))
        return 0
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    topology = experiment.topology
    parts = [(len(topology.hosts), "host"), (len(topology.switches), "switch"), (len(topology.links), "link")]
    parts += [(len(experiment.components()), "component"), (len(experiment.faults), "fault")]
    counted = ", ".join(
        f"{n} {noun}{'' if n == 1 else 'es' if noun == 'switch' else 's'}" for n, noun in parts if n
    )
    print(f"{experiment.name} is valid: {counted}")
    for sentence in later:
        print(f"note: {sentence}")
    return 0
