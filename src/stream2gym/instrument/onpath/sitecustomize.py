"""Python imports this module as it starts, because the run put its folder on the PYTHONPATH of the program.

It takes its folder off ``sys.path`` again, runs the ``sitecustomize`` that it stands before, if there is one, and
starts the recorder. The interpreter does not come here when it was started with -I, -E or -S.
"""


def _start() -> None:
    import importlib
    import os
    import sys
    from types import ModuleType

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        if ours is not None:
            sys.modules["sitecustomize"] = ours
    finally:
        # Our files under a name of their own: the program may have another stream2gym, or none.
        house = ModuleType("_s2g")
        house.__path__ = [os.path.dirname(os.path.dirname(here))]
        sys.modules["_s2g"] = house
        try:
            importlib.import_module("_s2g.instrument.start").start()
        except Exception as error:
            sys.stderr.write(f"stream2gym: not recorded: {type(error).__name__}: {error}\n")


_start()
