"""Published files run as they are, with their own programs, and the user's tree stays as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.play import play
from tests.support.published import copy_of, spell_by_name, tree_of

PATIENT = {"drain": "150 s"}  # it ends as soon as everything has been read


def test_a_published_file_runs_with_its_own_old_program_and_leaves_the_users_tree_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copy_of("published-spark", tmp_path)
    graph = Path("use-cases/app-testing/words/input.graphml")
    spell_by_name(root / graph)
    before = tree_of(root)
    monkeypatch.chdir(root)
    run = play(graph, tmp_path, overrides=PATIENT)
    assert run.outcome.error is None
    assert run.outcome.counts["received"] > 40
    said = (run.folder.work / "logs" / "output" / "spark1.log").read_text()
    assert "first of three: 1" in said
    assert "a cast that fails gives None" in said
    assert (run.folder.work / "logs" / "output" / "words_checkpoint").is_dir()
    assert tree_of(root) == before


@pytest.mark.long
def test_a_published_cluster_fills_a_published_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = copy_of("published-shop", tmp_path)
    before = tree_of(root)
    monkeypatch.chdir(root)
    run = play(Path("use-cases/shop/input.graphml"), tmp_path, overrides=PATIENT)
    assert run.outcome.error is None
    assert run.outcome.counts["sent"] == 24
    assert run.outcome.counts["received"] == 24
    (audit,) = run.events("audited", table="opinions")
    assert audit["store"] == "store-h3-1"
    assert (audit["expected"], audit["present"], audit["missing"], audit["doubled"]) == (8, 8, 0, 0)
    assert run.events("ready", component="engine-h2-1-worker-2")
    said = (run.folder.work / "logs" / "output" / "spark1.log").read_text()
    assert "master spark://10.0.0.2:7077" in said
    assert tree_of(root) == before


@pytest.mark.parametrize("spelling", ["ids", pytest.param("names", marks=pytest.mark.long)])
def test_every_kind_of_published_client_does_what_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    root = copy_of("published-shop", tmp_path)
    graph = Path("use-cases/kinds/input.graphml")
    if spelling == "names":
        spell_by_name(root / graph)
    before = tree_of(root)
    monkeypatch.chdir(root)
    run = play(graph, tmp_path, overrides=PATIENT)
    assert run.outcome.error is None
    assert not run.events("died")
    stock, custom = 5 + 3 + 4 * 2, 2 * 10
    assert run.outcome.counts["sent"] == stock + custom, "SFST, MFST, ELTT, and the programs as they were observed"
    assert run.outcome.counts["received"] == 2 * stock + custom, "each stock instance gets every message of its topic"
    output = run.folder.work / "logs" / "output"
    for instance in (1, 2):
        assert f"Message: {instance}-9" in (output / f"prod/prod-node1-instance{instance}.log").read_text()
        note = run.folder.work / "files" / "use-cases" / "kinds" / f"note-{instance}.txt"
        assert note.read_text() == "done"
    eaten = (output / "cons/cons-node1-instance1.log").read_text().splitlines()
    assert sorted(eaten) == sorted(f"Message received: {i}-{n}" for i in (1, 2) for n in range(10))
    assert (output / "prod/arguments.txt").read_text().split("\n") == [
        "h5", "1", "0", "12", "2", "2", "gzip", "16384", "0", "30000", "33554432", "2", "None", "letters", "STANDARD",
    ]  # fmt: skip
    assert tree_of(root) == before
