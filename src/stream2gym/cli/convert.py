"""``convert``: GraphML into an experiment YAML, or back; names what GraphML cannot express."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stream2gym.cli.arguments import add_experiment
from stream2gym.errors import BadInput, Mistake


def add(parser: argparse.ArgumentParser) -> None:
    add_experiment(parser)
    parser.add_argument(
        "-o", "--out", type=Path, metavar="PATH", help="the .yaml file, or the folder for GraphML, to write"
    )
    parser.add_argument("--to", choices=("yaml", "graphml"), help="what to write (default: the other form)")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")


def run(args: argparse.Namespace) -> int:
    from stream2gym.spec.loading import load_experiment
    from stream2gym.spec.readers.bundled_examples import find_experiment
    from stream2gym.spec.writers.conversion import rebase, to_yaml
    from stream2gym.spec.writers.graphml_writer import to_graphml

    loaded = load_experiment(find_experiment(args.experiment), tolerant=args.tolerant)
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    wanted = args.to or ("yaml" if loaded.input_format == "graphml" else "graphml")
    if wanted == "yaml":
        folder = args.out.parent if args.out else Path.cwd()
        text = to_yaml(rebase(loaded.experiment, loaded.base, folder))
        if args.out is None:
            print(text, end="")
        else:
            _refuse_to_overwrite(args.out, force=args.force)
            folder.mkdir(parents=True, exist_ok=True)
            args.out.write_text(text, encoding="utf-8")
        return 0
    folder = args.out or Path(f"{loaded.experiment.name}-graphml")
    _refuse_to_overwrite(folder / f"{loaded.experiment.name}.graphml", force=args.force)
    unsaid = to_graphml(rebase(loaded.experiment, loaded.base, folder), folder)
    print(folder / f"{loaded.experiment.name}.graphml")
    for line in unsaid:
        print(f"GraphML cannot say: {line}", file=sys.stderr)
    return 0


def _refuse_to_overwrite(path: Path, *, force: bool) -> None:
    if path.exists() and not force:
        raise BadInput(Mistake("", "is there already", "--force writes over it", file=str(path)))
