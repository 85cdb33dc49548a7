"""``schema``: print the JSON Schema of experiments or sweep files, for editors that complete and check YAML."""

from __future__ import annotations

import argparse
import json


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--compact", action="store_true", help="on one line")
    parser.add_argument("--sweep", action="store_true", help="that of sweep files")


def run(args: argparse.Namespace) -> int:
    from stream2gym.spec.model import Experiment
    from stream2gym.sweeps.sweep_file import SweepFile

    model = SweepFile if args.sweep else Experiment
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | model.model_json_schema()
    print(json.dumps(schema, indent=None if args.compact else 2))
    return 0
