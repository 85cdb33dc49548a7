"""Holds a program until it may start: ``python start_gate.py PROGRAM ARGUMENTS...``.

CONTRACT
  in    S2G_GATE   a named pipe; one byte in it opens the gate
  then  becomes ``python PROGRAM ARGUMENTS...`` (the same process): nothing of this program is left
  exit  the program's own

Spark starts it in place of the user's program, so that the slow start of Spark overlaps with that of the brokers.
"""

import os
import sys


def main() -> None:
    with open(os.environ.pop("S2G_GATE"), "rb", buffering=0) as gate:
        gate.read(1)
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])


if __name__ == "__main__":
    main()
