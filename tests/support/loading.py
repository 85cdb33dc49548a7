"""Types of the fixtures that load an experiment from its text."""

from __future__ import annotations

from collections.abc import Callable

from stream2gym.errors import Mistake
from stream2gym.spec.loading import Loaded

Load = Callable[..., Loaded]
Mistakes = Callable[..., list[Mistake]]
