"""stream2gym: system-test stream processing applications on an emulated network.

Importing this package stays cheap on purpose: every process inside a run imports it.
"""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """``stream2gym.run`` is the Python door; what stands behind it is loaded when somebody opens it."""
    if name != "run":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from stream2gym.api import run

    return run
