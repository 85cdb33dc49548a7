"""Finds the experiments that come with stream2gym, in a clone and in an installed package."""

from __future__ import annotations

from pathlib import Path

from stream2gym.errors import BadInput, Mistake
from stream2gym.spec.findings import did_you_mean
from stream2gym.spec.readers.user_files import is_folder

PACKAGE = Path(__file__).resolve().parents[2]
FOLDERS = (PACKAGE / "examples", PACKAGE.parent.parent / "examples")


def find_bundled_files(pattern: str) -> dict[str, Path]:
    """The files of the examples that a glob pattern finds, by the name of their folder."""
    found: dict[str, Path] = {}
    for folder in FOLDERS:
        for file in sorted(folder.glob(pattern)):
            found.setdefault(file.parent.name, file)
    return found


def bundled_examples() -> dict[str, Path]:
    """The experiment file of every example, by the name of its folder."""
    found: dict[str, Path] = {}
    for folder in FOLDERS:
        for example in sorted(folder.iterdir()) if folder.is_dir() else ():
            file = experiment_in(example)
            if file is not None:
                found.setdefault(example.name, file)
    return found


def experiment_in(folder: Path) -> Path | None:
    """The experiment in a folder: experiment.yaml, or else its first GraphML file."""
    files = [folder / "experiment.yaml", *sorted(folder.glob("*.graphml"))]
    return next((file for file in files if file.is_file()), None)


def find_experiment(word: str) -> Path:
    """The file that a word on the command line means.

    A word with a slash or a suffix is a path (a folder means the experiment in it); any other word is the name of an
    example.
    """
    if "/" in word or Path(word).suffix:
        path = Path(word)
        return (experiment_in(path) if is_folder(path) else None) or path
    examples = bundled_examples()
    if word not in examples:
        if is_folder(Path(word)):
            hint = f"for the folder {word} here, write ./{word}"
        else:
            hint = did_you_mean(word, examples) or "a path has a slash or a suffix"
        raise BadInput(Mistake("", f"there is no bundled example {word!r}", hint))
    return examples[word]
