"""The right answer in plain Python: the words of every file that Kafka holds, counted."""

import json
import re
from collections import Counter

from stream2gym.check_api import compare, topic, values


def words_of(message: str) -> list[str]:
    """A message is a file's text and a trailer that names topic and file."""
    return re.findall(r"[a-z]+", message.rpartition(" Topic: ")[0].lower())


expected = Counter(word for message in values("files") for word in words_of(message))
last: dict[str, int] = {}
for message in topic("top"):  # the last word on each word counts; a message without a value takes it back
    if message["value"] is None:
        last.pop(message["key"], None)
    else:
        row = json.loads(message["value"])
        last[row["word"]] = row["total"]
compare(expected, last)
