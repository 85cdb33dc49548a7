"""Shows the progress of fetching on standard error: a bar for each step on a terminal, else a line for each step."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stream2gym.software.fetch import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bars


@contextlib.contextmanager
def fetch_progress() -> Iterator[Progress]:
    """A callback that shows the progress that it is given."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False, markup=False)
    if console.is_terminal:
        from rich import progress as rich

        columns = [
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(),
            rich.TextColumn("{task.fields[size]}"),
        ]
        with rich.Progress(*columns, rich.TimeElapsedColumn(), console=console) as bars:
            tasks: dict[str, rich.TaskID] = {}

            def bar(what: str, done: int, total: int) -> None:
                if what not in tasks:
                    _finish(bars)
                    tasks[what] = bars.add_task(what, total=total or None, size="")
                size = f"{done / 1e6:.0f} of {total / 1e6:.0f} MB" if total else ""
                bars.update(tasks[what], completed=done, size=size)

            yield bar
            _finish(bars)
    else:
        seen: set[str] = set()

        def line(what: str, _done: int, total: int) -> None:
            if what not in seen:
                seen.add(what)
                console.print(f"{what} ({total / 1e6:.0f} MB)" if total else what, soft_wrap=True)

        yield line


def _finish(bars: Bars) -> None:
    """Fill the bars of steps without a known size: they have ended, because another step began."""
    for task in bars.tasks:
        if task.total is None:
            bars.update(task.id, total=1, completed=1)
        bars.stop_task(task.id)
