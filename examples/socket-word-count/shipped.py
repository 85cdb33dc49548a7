"""Runs a program that comes with Spark, as it is: shipped.py streaming/network_wordcount.py HOST PORT."""

import os
import runpy
import sys
from pathlib import Path

program = Path(os.environ["SPARK_HOME"]) / "examples" / "src" / "main" / "python" / sys.argv[1]
sys.argv = [str(program), *sys.argv[2:]]
runpy.run_path(str(program), run_name="__main__")
