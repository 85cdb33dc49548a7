"""Helpers that write an experiment's text to a file and load it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream2gym.errors import BadInput, Mistake
from stream2gym.spec.loading import Loaded, load_experiment
from tests.support.loading import Load, Mistakes

PUBLISHED = Path(__file__).parents[2] / "data" / "published"


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load an experiment YAML given as text; the opening line is added when it is missing."""

    def loader(text: str, name: str = "experiment.yaml", **options: Any) -> Loaded:
        if name.endswith(".yaml") and not text.startswith("s2g:"):
            text = f"s2g: 1\n{text}"
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return load_experiment(path, cwd=tmp_path, **options)

    return loader


@pytest.fixture
def mistakes(load: Load) -> Mistakes:
    """The mistakes of an experiment that must not load."""

    def loader(text: str, name: str = "experiment.yaml", **options: Any) -> list[Mistake]:
        with pytest.raises(BadInput) as caught:
            load(text, name, **options)
        return list(caught.value.mistakes)

    return loader


@pytest.fixture
def published() -> Load:
    """Load one of the published samples from their root folder."""

    def loader(name: str, **options: Any) -> Loaded:
        path = PUBLISHED / "use-cases" / name / "input.graphml"
        return load_experiment(path, **({"cwd": PUBLISHED} | options))

    return loader
