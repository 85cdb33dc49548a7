"""``examples``: list the bundled experiments, with the first sentence of what each shows."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(args: argparse.Namespace) -> int:
    from stream2gym.spec.bundled import bundled_examples

    found = {name: (path, _summary(path)) for name, path in bundled_examples().items()}
    if args.json:
        rows = [{"name": n, "path": str(path), "summary": text} for n, (path, text) in found.items()]
        print(json.dumps(rows, indent=2))
        return 0
    if not found:
        print("there are no bundled examples here")
    width = max(map(len, found), default=0)
    for name, (_, text) in found.items():
        print(f"{name:<{width}}  {text}".rstrip())
    return 0


def _summary(path: Path) -> str:
    """The first line of prose of the example's README, else the experiment's opening comment."""
    for file, comment in ((path.parent / "README.md", ""), (path, "#")):
        if not file.is_file():
            continue
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            text = line.strip()
            if comment and text.startswith(comment):
                return text.lstrip("# ")
            if not comment and text and text[0] not in "#<![`":
                return text
    return ""
