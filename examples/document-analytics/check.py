"""The right answer in plain Python: what each document is by its id, lengths and keywords from its text."""

import json
import math
import re
from collections import Counter
from statistics import median

from stream2gym.check_api import compare, objects, values

KINDS = ("mails", "invoices", "articles")
received = values("scans") + values("uploads")
documents: dict[str, list[str]] = {kind: [] for kind in KINDS}
for text in received:
    documents[json.loads(text)["id"].partition("-")[0] + "s"].append(text)

words = {
    kind: [re.findall("[a-z]+", json.loads(text)["text"].lower()) for text in texts]
    for kind, texts in documents.items()
}
times = {kind: Counter(word for text in texts for word in text) for kind, texts in words.items()}
expected: dict[object, object] = {}
for kind in (kind for kind in KINDS if documents[kind]):
    expected |= {(kind, text): number for text, number in Counter(documents[kind]).items()}
    lengths = [len(text) for text in words[kind]]
    expected[kind, "lengths"] = (len(lengths), min(lengths), float(median(lengths)), max(lengths))
    scores = {
        word: round(number * math.log(len(KINDS) / sum(word in times[other] for other in KINDS)), 3)
        for word, number in times[kind].items()
    }
    best = sorted((-score, word) for word, score in scores.items() if score > 0)[:5]
    expected[kind, "keywords"] = [(word, -less) for less, word in best]

found: dict[object, object] = {}
for kind in KINDS:
    found |= {(kind, text): number for text, number in Counter(values(kind)).items()}
for row in objects("lengths"):  # the last word on each kind counts
    found[row["kind"], "lengths"] = (row["documents"], row["shortest"], row["median"], row["longest"])
for row in objects("keywords"):
    found[row["kind"], "keywords"] = [(one["word"], one["score"]) for one in row["keywords"]]
for kind in KINDS:
    print(f"{kind}: {found.get((kind, 'lengths'))}, {found.get((kind, 'keywords'))}")
compare(expected, found)
