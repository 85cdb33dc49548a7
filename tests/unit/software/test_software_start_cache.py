"""The start-up cache of a JVM: made once by a rehearsal, by one process at a time, and never in the way."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stream2gym.errors import Interrupted, StartFailed
from stream2gym.software.java import JavaRuntime
from stream2gym.software.start_cache import StartCache

Make = Callable[..., StartCache]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    program = tmp_path / "java"
    program.touch()

    def of(*depends_on: str, version: str = "25.0.1", kept: int = 2) -> StartCache:
        java = JavaRuntime(str(tmp_path), str(program), version)
        return StartCache.of("it", java, tmp_path / "made", "kind", depends_on=depends_on, files=[], kept=kept)

    return of


def rehearse(_folder: Path, flags: list[str]) -> str:
    Path(flags[0].partition("=")[2]).write_text("classes")
    return "said"


def fail(_folder: Path, _flags: list[str]) -> str:
    raise StartFailed("it did not come up")


def test_it_is_made_once_and_found_from_then_on(make: Make) -> None:
    cache = make()
    assert cache.find() is None
    assert cache.ensure(rehearse) == cache.file
    assert cache.ensure(fail) == cache.find() == cache.file
    assert cache.file.read_text() == "classes"


def test_a_rehearsal_that_failed_is_not_tried_again_until_it_is_forgotten(make: Make) -> None:
    cache, words = make(), list[str]()
    assert cache.ensure(fail, lambda what, *_: words.append(what)) is None
    assert words[-1] == "no start-up cache, it starts slower: it did not come up"
    assert cache.ensure(rehearse) is None
    cache.forget_failure()
    assert cache.ensure(rehearse) == cache.file


def test_a_rehearsal_that_leaves_nothing_has_failed_and_its_words_are_kept(make: Make) -> None:
    cache = make()
    assert cache.ensure(lambda _folder, _flags: "no room") is None
    assert "no room" in cache.failure_file.read_text()


def test_an_interrupted_rehearsal_leaves_nothing_and_is_no_failure(make: Make) -> None:
    def interrupted(folder: Path, _flags: list[str]) -> str:
        (folder / "half").touch()
        raise Interrupted("stopped by the user")

    cache = make()
    with pytest.raises(Interrupted):
        cache.ensure(interrupted)
    assert not list((cache.file.parent / "tmp").iterdir())
    assert cache.can_be_made()


def test_what_a_killed_rehearsal_left_is_swept(make: Make) -> None:
    cache = make()
    left = cache.file.parent / "tmp" / "left"
    left.mkdir(parents=True)
    cache.ensure(rehearse)
    assert not left.exists()


def test_a_java_that_is_too_old_makes_none(make: Make) -> None:
    old = make(version="17.0.1")
    assert not old.can_be_made()
    assert old.ensure(rehearse) is None
    assert replace(old, oldest_java=17).ensure(rehearse) == old.file


def test_the_least_recently_used_beyond_a_few_go(make: Make) -> None:
    first, second, third = make("1"), make("2"), make("3")
    for age, cache in ((2, first), (1, second)):
        cache.ensure(rehearse)
        os.utime(cache.file, (1000 - age, 1000 - age))
    first.find()
    third.ensure(rehearse)
    assert [cache.file.is_file() for cache in (first, second, third)] == [True, False, True]
