"""The start of the command: ``python -P -m stream2gym`` and the scripts ``s2g`` and ``stream2gym``.

Python puts the folder of a script on the path. Until it is off the path again, nothing is imported here, not even
``__future__``, but what every interpreter has loaded when it starts.
"""

import sys

from stream2gym.own_python import leave_out_callers_folders


def main() -> None:
    """Run the command and end the process, whatever its threads still do. Signals are heard from first to last."""
    leave_out_callers_folders()
    from stream2gym.interrupts import Interrupts, leave

    with Interrupts(ends_process=True) as interrupts:
        try:
            from stream2gym.cli.main import run_command

            code = run_command(sys.argv[1:], interrupts)
        except BaseException:
            # A KeyboardInterrupt inside an import comes out as whatever the imported package makes of it.
            if not interrupts.asked:
                raise
            code = 130
        leave(code)


if __name__ == "__main__":
    main()
