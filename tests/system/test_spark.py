"""Real Spark programs on emulated hosts: between topics, over sockets, on a cluster."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from stream2gym.errors import BadInput
from stream2gym.software.spark_software import SparkSoftware
from tests.support.play import Played, play, star
from tests.support.sparkjobs import UPPER, between_topics

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_a_job_between_two_topics_that_reads_from_latest_misses_nothing_and_is_watched(
    tmp_path: Path,
) -> None:
    run = play(between_topics(), tmp_path, {"job.py": UPPER.replace("START", "latest")})
    assert run.outcome.error is None
    assert run.outcome.counts["received"] == 150
    assert sum(run.samples("spark", "job.upper", "rows")) == 150
    assert len(run.samples("spark", "job.upper", "batch_ms")) > 1
    assert run.samples("spark", "job.upper", "batch_id")[0] == 0
    assert len(run.samples("spark", "job.upper", "processed_a_second")) > 1
    assert run.samples("spark", "job", "executors") == [1, 0], "the driver's own"
    (started,) = run.events("query-started", component="job")
    (ready,) = run.events("ready", component="job")
    (load,) = run.events("phase", phase="load")
    assert started["at_ns"] < ready["at_ns"] < load["at_ns"]
    assert (run.folder.work / "job" / "checkpoints" / "upper" / "offsets").is_dir()


@pytest.mark.long
def test_sparks_own_network_word_count_runs_unmodified_over_a_slow_link(tmp_path: Path) -> None:
    name = "structured_network_wordcount.py"
    home = SparkSoftware.ensure().home
    shutil.copyfile(home / "examples/src/main/python/sql/streaming" / name, tmp_path / name)
    run = play(
        {
            "topology": star(2, "20 ms, 1 Mbps"),
            "sources": [{"name": "talk", "on": "h1", "port": 9999, "lines": 40, "rate": "20/s"}],
            "engines": [{"name": "job", "on": "h2", "app": name, "args": ["h1", "9999"]}],
            "time": "20 s",
            "drain": "60 s",
        },
        tmp_path,
    )
    assert run.outcome.error is None
    lines = (run.folder.work / "talk" / "lines.txt").read_text().splitlines()
    assert len(lines) == 40
    assert sum(run.samples("spark", "job.query-1", "rows")) == 40
    last_table = run.log("h2.job.log").rpartition("Batch: ")[2]
    shown = dict(row.strip("|").split("|") for row in last_table.splitlines() if row.count("|") == 3)
    counts = {word.strip(): int(count) for word, count in shown.items() if count.strip().isdigit()}
    words = [word for line in lines for word in line.split()]
    assert counts == {word: words.count(word) for word in set(words)}


SHUFFLE = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
rows = spark.range(0, 200000, 1, 4).selectExpr("id % 5000 as k", "sha2(cast(id as string), 256) as v")
print('S2G {"rows": %d}' % rows.repartition(4, "k").selectExpr("count(*)", "max(v)").first()[0], flush=True)
"""


@pytest.mark.long
def test_what_executors_shuffle_crosses_the_links_between_their_hosts(tmp_path: Path) -> None:
    worker = {"type": "spark-worker", "master": "master", "memory": "700 MiB"}
    run = play(
        {
            "topology": star(3, "2 ms, 200 Mbps"),
            "engines": [
                {"name": "master", "on": "h1", "type": "spark-master"},
                {"name": "w2", "on": "h2", **worker},
                {"name": "w3", "on": "h3", **worker},
                {"name": "job", "on": "h1", "app": "job.py", "master": "master", "ready": "exit"},
            ],
            "time": "1 s",
        },
        tmp_path,
        {"job.py": SHUFFLE},
    )
    assert run.outcome.error is None
    assert run.samples("program", "job", "rows") == [200000]
    ends = [event for event in spark_events(run, "job") if event["Event"] == "SparkListenerTaskEnd"]
    assert {event["Task Info"]["Host"] for event in ends} == {"10.0.0.2", "10.0.0.3"}
    reads = [event["Task Metrics"]["Shuffle Read Metrics"] for event in ends]
    shuffled = sum(read["Remote Bytes Read"] for read in reads)
    assert shuffled > 500_000
    for_each = [
        max(run.samples("fabric", f"{host} -- s1 {way}", "delivered_bytes"))
        for host in ("h2", "h3")
        for way in ("forward", "backward")
    ]
    assert sum(for_each) / 2 >= shuffled, "every byte between workers crosses two links"


def spark_events(run: Played, engine: str) -> list[dict[str, Any]]:
    files = (run.folder.work / engine / "events").iterdir()
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


# the applications


@pytest.mark.parametrize(
    "name",
    [
        "word-count",
        pytest.param("ride-selection", marks=pytest.mark.long),
        pytest.param("maritime-monitoring", marks=pytest.mark.long),
    ],
)
def test_an_application_gives_the_right_answer(tmp_path: Path, name: str) -> None:
    run = play(EXAMPLES / name / "experiment.yaml", tmp_path)
    assert run.outcome.error is None
    checks = run.events("checked")
    assert checks
    assert all(check["compared"] > 0 and check["mismatches"] == 0 for check in checks)


def test_real_time_mode_with_too_few_slots_is_refused_before_anything_runs(tmp_path: Path) -> None:
    keys = between_topics(mode="real-time", master="local[1]")
    keys["topics"] = [{"name": "in", "partitions": 2}, "out"]
    with pytest.raises(BadInput, match="a task slot for each of the 3 partitions"):
        play(keys, tmp_path, {"job.py": UPPER})


@pytest.mark.long
def test_sparks_own_dstream_word_count_runs_unmodified(tmp_path: Path) -> None:
    name = "network_wordcount.py"
    shutil.copyfile(SparkSoftware.ensure().home / "examples/src/main/python/streaming" / name, tmp_path / name)
    run = play(
        {
            "topology": star(2, "20 ms, 1 Mbps"),
            "sources": [{"name": "talk", "on": "h1", "file": "few.txt", "rate": "20/s"}],
            "engines": [{"name": "job", "on": "h2", "app": name, "args": ["h1", "9999"], "master": "local[2]"}],
            "time": "10 s",
            "drain": "15 s",
        },
        tmp_path,
        {"few.txt": "one two\nthree two one\nfour\n" * 13},  # the program shows ten words at most
    )
    assert run.outcome.error is None
    counts: dict[str, int] = {}
    for word, count in re.findall(r"^\('(\w+)', (\d+)\)$", run.log("h2.job.log"), re.MULTILINE):
        counts[word] = counts.get(word, 0) + int(count)
    words = (run.folder.work / "talk" / "lines.txt").read_text().split()
    assert counts == {word: words.count(word) for word in set(words)}


PACKAGED = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
sign = spark._jvm.org.apache.commons.csv.CSVFormat.TDF.getDelimiterString()
print('S2G {"sign": %d}' % ord(sign), flush=True)
"""


@pytest.mark.long
def test_a_package_is_resolved_before_the_run_and_found_by_the_job(tmp_path: Path) -> None:
    job = {"name": "job", "on": "h1", "app": "job.py", "packages": ["org.apache.commons:commons-csv:1.10.0"]}
    run = play({"topology": star(1), "engines": [job], "time": "1 s"}, tmp_path, {"job.py": PACKAGED})
    assert run.outcome.error is None
    assert run.samples("program", "job", "sign") == [9]


def test_a_package_that_is_no_coordinate_is_told_before_anything_starts(tmp_path: Path) -> None:
    job = {"name": "job", "on": "h1", "app": "job.py", "packages": ["org.apache.commons"]}
    with pytest.raises(BadInput, match="group:name:version"):
        play({"topology": star(1), "engines": [job], "time": "1 s"}, tmp_path, {"job.py": PACKAGED})
