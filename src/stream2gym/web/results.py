"""The results of a pipeline as far as its record has them while it goes on: numbers that programs and stores report.

These are the latest values of the topics that our consumers read, the last rows of the tables of stores, what
programs print as ``S2G {json}``, what the engines report about their queries, what is sampled of stores, and how many
messages topics have.
"""

from __future__ import annotations

from typing import Any

from stream2gym.web.run_story import RunStory
from stream2gym.web.time_buckets import Key

SOURCES = ("program", "spark", "flink", "kafka-streams", "store", "value")
MOST = 200
POINTS = 60
SHOWN_VALUES = 8


def latest_values(story: RunStory, at_ns: int) -> dict[str, list[dict[str, Any]]]:
    """The latest values of each topic at a moment, newest first."""
    found = {}
    for topic, values in story.values.items():
        # At the end a message may be read again.
        places = {(row["partition"], row["offset"]): row for row in values if int(row["at_ns"]) <= at_ns}
        rows = list(places.values())[-SHOWN_VALUES:]
        if rows:
            found[topic] = [
                {key: row.get(key) for key in ("partition", "offset", "key", "value")} for row in reversed(rows)
            ]
    return found


def latest_rows(story: RunStory, at_ns: int) -> list[dict[str, Any]]:
    """The last rows of each table of a store at a moment."""
    tables = [steps.at(at_ns) for _, steps in sorted(story.rows.items())]
    keys = ("store", "table", "by", "columns", "rows")
    return [{key: table.get(key) for key in keys} for table in tables if table is not None]


def is_result(key: Key) -> bool:
    """Whether a series tells of results: what programs, queries and stores report, and how far topics have grown."""
    return key[0] in SOURCES or (key[0], key[2]) == ("kafka", "end_offset")


def list_results(story: RunStory, at_ns: int) -> list[dict[str, Any]]:
    """The latest value of each reported number at a moment, with the values before it."""
    buckets = story.buckets
    bucket = buckets.bucket(at_ns)
    found = []
    for key in buckets.list_keys():
        if not is_result(key) or (value := buckets.latest(key, bucket)) is None:
            continue
        history = buckets.carried(key, max(0, bucket - POINTS + 1), bucket)
        found.append({"source": key[0], "object": key[1], "metric": key[2], "value": value, "history": history})
        if len(found) == MOST:
            break
    return sorted(found, key=lambda one: (one["source"], one["object"], one["metric"]))
