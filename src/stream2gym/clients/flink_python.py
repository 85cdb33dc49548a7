"""Starts a PyFlink program, in the Python that has PyFlink; Flink's own driver in the JVM of the job runs this file.

    python flink_python.py GATE FOLDER PROGRAM ARGS...

CONTRACT
  in    GATE               a named pipe: the program starts when a byte is in it; ``-``: at once
        FOLDER             the working directory of the program
        PYFLINK_GATEWAY_PORT  where the JVM listens (set by Flink's driver)
  out   standard error     of a program that fails: its traceback, and ``Python error in PROGRAM, line N: ERROR``
  exit  0 the program has ended; otherwise its own exit code, 1 after an exception

PyFlink is imported and connected before the gate, because that takes seconds. This file runs in an interpreter that
does not have our package: standard library and PyFlink only.
"""

from __future__ import annotations

import os
import runpy
import sys
import traceback


def main(argv: list[str]) -> None:
    gate, folder, program, *arguments = argv
    os.chdir(folder)
    from pyflink.java_gateway import get_gateway  # type: ignore[import-not-found]

    get_gateway()
    if gate != "-":
        with open(gate, "rb") as pipe:
            pipe.read(1)
    sys.argv = [program, *arguments]
    # Modules beside the program are found as if Python had been called with it.
    sys.path.insert(0, os.path.dirname(program))
    try:
        runpy.run_path(program, run_name="__main__")
    except Exception as error:
        traceback.print_exc()
        print(explain(error, program), file=sys.stderr, flush=True)
        sys.exit(1)


def explain(error: BaseException, program: str) -> str:
    """Why the program failed, in one line, with the line of the program that it was in."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == program]
    if isinstance(error, SyntaxError) and error.filename == program:
        lines.append(error.lineno)
    place = f", line {lines[-1]}" if lines else ""
    return f"Python error in {os.path.basename(program)}{place}: {innermost(error)}"


def innermost(error: BaseException) -> str:
    """The words of an error. Of one that came from the JVM: the last cause that its Java stack trace names."""
    own = "".join(traceback.format_exception_only(type(error), error)).strip()
    causes = [line for line in own.splitlines() if line.startswith("Caused by: ")]
    if causes:
        return causes[-1][len("Caused by: ") :]
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    first, *rest = own.splitlines()
    # "An error occurred while calling o1.x." stands alone in the first line; the Java exception follows.
    java = [line[2:] for line in rest[:1] if line.startswith(": ")]
    return java[0] if java else first


if __name__ == "__main__":
    main(sys.argv[1:])
