"""The right answer in plain Python: the words of every file that Kafka holds, counted."""

import re
from collections import Counter

from stream2gym.check_api import compare, objects, values


def words_of(message: str) -> list[str]:
    """A message is a file's text and a trailer that names topic and file."""
    return re.findall(r"[a-z]+", message.rpartition(" Topic: ")[0].lower())


expected = Counter(word for message in values("files") for word in words_of(message))
last = {row["word"]: row["total"] for row in objects("top")}  # the last word on each word counts
compare(expected, last)
