"""Runs a program that comes with Spark, as it is: shipped.py streaming/network_wordcount.py HOST PORT."""

import runpy
import sys
from pathlib import Path

import pyspark

program = Path(pyspark.__file__).parent / "examples" / "src" / "main" / "python" / sys.argv[1]
sys.argv = [str(program), *sys.argv[2:]]
runpy.run_path(str(program), run_name="__main__")
