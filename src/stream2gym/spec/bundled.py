"""The experiments that come with stream2gym, in a clone and in an installed package."""

from __future__ import annotations

from pathlib import Path

from stream2gym.errors import BadInput, Mistake
from stream2gym.spec.places import did_you_mean

PACKAGE = Path(__file__).resolve().parent.parent
FOLDERS = (PACKAGE / "examples", PACKAGE.parent.parent / "examples")


def bundled_examples() -> dict[str, Path]:
    """The experiment file of every example, by the name of its folder."""
    found: dict[str, Path] = {}
    for folder in FOLDERS:
        for example in sorted(folder.iterdir()) if folder.is_dir() else ():
            files = [example / "experiment.yaml", *sorted(example.glob("*.graphml"))]
            file = next((file for file in files if file.is_file()), None)
            if file is not None:
                found.setdefault(example.name, file)
    return found


def find_experiment(word: str) -> Path:
    """A path when it has a slash or a suffix, else a bundled example."""
    if "/" in word or Path(word).suffix:
        return Path(word)
    examples = bundled_examples()
    if word not in examples:
        hint = did_you_mean(word, examples) or "a path has a slash or a suffix"
        raise BadInput(Mistake("", f"there is no bundled example {word!r}", hint))
    return examples[word]
