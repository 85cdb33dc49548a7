"""``convert``: GraphML into an experiment YAML, or back; what GraphML cannot say is named."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stream2gym.errors import BadInput, Mistake


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment", help="a .graphml or .yaml file, or a bundled example")
    parser.add_argument("-o", "--out", type=Path, help="the .yaml file, or the folder for GraphML, to write")
    parser.add_argument("--to", choices=("yaml", "graphml"), help="default: the other form")
    parser.add_argument("--tolerant", action="store_true", help="leave out what refers to missing files")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")


def run(args: argparse.Namespace) -> int:
    from stream2gym.spec.bundled import find_experiment
    from stream2gym.spec.convert import rebase, to_graphml, to_yaml
    from stream2gym.spec.load import load_experiment

    loaded = load_experiment(find_experiment(args.experiment), tolerant=args.tolerant)
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    wanted = args.to or ("yaml" if loaded.door == "graphml" else "graphml")
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
