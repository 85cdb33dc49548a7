"""Published files with Flink and with KStream run for real; so does an engine that names its application itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from stream2gym.record.messages import hash64
from tests.support.play import play
from tests.support.published import copy_of, spell_by_name, tree_of

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

PASSES = 3


@pytest.mark.parametrize(("name", "spelling"), [("kstream", "ids"), ("flink", "names")])
def test_a_published_file_names_its_engine_and_every_word_of_every_line_comes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, spelling: str
) -> None:
    root = copy_of("published-engines", tmp_path)
    folder = Path("use-cases/app-testing/words")
    graph = folder / f"{name}.graphml"
    if spelling == "names":
        spell_by_name(root / graph)
    before = tree_of(root)
    monkeypatch.chdir(root)
    run = play(graph, tmp_path, overrides={"drain": "90 s"})
    assert run.outcome.error is None
    assert run.events("died") == []
    assert run.events("query-started", component="engine-h3-1")
    words = (root / folder / "lines.txt").read_text().split()
    expected = Counter({hash64(word.encode()): PASSES * count for word, count in Counter(words).items()})
    received = pq.read_table(run.folder.data / "received.parquet").to_pylist()
    assert Counter(row["value_hash"] for row in received if row["topic"] == "outTopic") == expected
    (drained,) = run.events("drained")
    assert drained["complete"] is True, "how far the engine is was known"
    assert tree_of(root) == before
