"""stream2gym: system-test stream processing applications on an emulated network.

Importing this package stays cheap on purpose: every process inside a run imports it.
"""

from stream2gym.version import __version__

TYPE_CHECKING = False  # as type checkers know it; typing itself may be shadowed by a file of the caller this early
if TYPE_CHECKING:
    from stream2gym.api import run
    from stream2gym.recorded_run import load_run
    from stream2gym.sweep_api import sweep

__all__ = ["__version__", "load_run", "run", "sweep"]


def __getattr__(name: str) -> object:
    """``stream2gym.run``, ``load_run`` and ``sweep``, which are loaded when they are asked for."""
    if name == "run":
        from stream2gym.api import run

        return run
    if name == "load_run":
        from stream2gym.recorded_run import load_run

        return load_run
    if name == "sweep":
        from stream2gym.sweep_api import sweep

        return sweep
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
