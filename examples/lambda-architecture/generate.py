"""Writes views.jsonl: who viewed which page. Their number is no multiple of 50, so the last slice is not full."""

import json
import random
from pathlib import Path

PAGES = {"home": 30, "search": 20, "news": 15, "sport": 10, "weather": 9, "shop": 8, "help": 5, "about": 3}
rng = random.Random(3)
views = [
    {"view": number, "page": rng.choices([*PAGES], [*PAGES.values()])[0], "user": f"u{rng.randrange(60)}"}
    for number in range(930)
]
(Path(__file__).parent / "views.jsonl").write_text("".join(json.dumps(view) + "\n" for view in views))
