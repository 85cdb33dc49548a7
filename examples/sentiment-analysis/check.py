"""Every post judged once, the same without Spark; and the lexicon agrees with what people meant.

A post of ``posts.txt`` ends with ``:)`` or ``:(`` where its writer left no doubt.
"""

from collections import Counter

from textblob import TextBlob

from stream2gym.check_api import compare, objects, values

posts = values("posts")
expected: dict[object, object] = {}
for text, times in Counter(posts).items():
    mood = TextBlob(text).sentiment
    expected[text] = (times, round(mood.polarity, 4), round(mood.subjectivity, 4))

rows = objects("moods")
times = Counter(row["text"] for row in rows)
found: dict[object, object] = {
    row["text"]: (times[row["text"]], row["polarity"], row["subjectivity"]) for row in rows
}
meant = [(row["polarity"] > 0) == (":)" in row["text"]) for row in rows if ":)" in row["text"] or ":(" in row["text"]]
print(f"{sum(meant)} of {len(meant)} moods are as meant")
expected["nine of ten are as meant"] = True
found["nine of ten are as meant"] = bool(meant) and sum(meant) >= 0.9 * len(meant)
compare(expected, found)
