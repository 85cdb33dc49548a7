"""``schema``: print the JSON Schema of the experiment format, for editors that complete and check YAML."""

from __future__ import annotations

import argparse
import json


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--compact", action="store_true", help="on one line")


def run(args: argparse.Namespace) -> int:
    from stream2gym.spec.meanings import described
    from stream2gym.spec.model import Experiment

    known = described(Experiment.model_json_schema())
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | known
    print(json.dumps(schema, indent=None if args.compact else 2))
    return 0
