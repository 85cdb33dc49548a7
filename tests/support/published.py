"""The published samples of the tests, in either spelling of their keys."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"


def copy_of(sample: str, folder: Path) -> Path:
    """The root folder of a sample, in a place of its own."""
    root = folder / "root"
    shutil.copytree(DATA / sample, root)
    return root


def spell_by_name(graph: Path) -> None:
    """Rewrite a GraphML: data name their key by its ``attr.name``, and keys are not declared."""
    text = graph.read_text()
    for key, name in re.findall(r'<key id="(\w+)"[^>]*attr\.name="(\w+)"', text):
        text = text.replace(f'<data key="{key}">', f'<data key="{name}">')
    graph.write_text(re.sub(r"\s*<key [^>]*/>", "", text))


def tree_of(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
