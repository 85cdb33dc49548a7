import errno
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream2gym.errors import CannotHere
from stream2gym.software import fetch, ivy
from stream2gym.software.cache import Cache, WrongSum
from stream2gym.software.download import Downloads
from stream2gym.software.java import JavaRuntime
from stream2gym.software.lock_list import Artifact, LockList
from stream2gym.software.resolve import record_list
from tests.unit.software.fake_repository import FakeRepository

JAVA = JavaRuntime("/nowhere", "/nowhere/bin/java", "25")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeRepository:
    repository = FakeRepository(tmp_path / "repository")
    monkeypatch.setattr(ivy, "start", repository.start)
    return repository


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_the_jars_come_in_the_order_of_the_list(repository: FakeRepository, cache: Cache) -> None:
    locks = repository.publish_list("b", "a", "c", "d", "e")
    jars = fetch.ensure_list(locks, cache, JAVA)
    assert [jar.name for jar in jars] == ["b-1.0.jar", "a-1.0.jar", "c-1.0.jar", "d-1.0.jar", "e-1.0.jar"]
    assert all(jar.read_bytes() for jar in jars)
    assert cache.leftovers() == []


def test_what_is_there_is_not_asked_for_again(repository: FakeRepository, cache: Cache) -> None:
    locks = repository.publish_list("a", "b")
    fetch.ensure_list(locks, cache, JAVA)
    more = LockList("more", (), (*locks.artifacts, repository.publish("c")))
    fetch.ensure_list(locks, cache, JAVA)
    fetch.ensure_list(more, cache, JAVA)
    assert sorted(repository.asked()) == sorted(artifact.path for artifact in more.artifacts)


def test_progress_ends_with_everything(repository: FakeRepository, cache: Cache) -> None:
    locks = repository.publish_list("a", "b")
    heard: list[tuple[str, int, int]] = []
    fetch.ensure_list(locks, cache, JAVA, lambda *words: heard.append(words))
    assert heard[-1] == ("fetching fake", locks.size, locks.size)


def test_a_wrong_sum_is_tried_again_then_told_and_the_rest_is_kept(repository: FakeRepository, cache: Cache) -> None:
    locks = repository.publish_list("good", "bad")
    (repository.folder / locks.artifacts[1].path).write_bytes(b"tampered")
    with pytest.raises(WrongSum, match=r"org\.example:bad:1\.0"):
        fetch.ensure_list(locks, cache, JAVA)
    assert repository.asked().count(locks.artifacts[1].path) == 2
    assert fetch.missing_of(locks, cache) == [locks.artifacts[1]]
    assert cache.leftovers() == []


def test_a_jar_that_the_repository_lacks_is_named(repository: FakeRepository, cache: Cache) -> None:
    locks = LockList("fake", (), (repository.publish("a"), Artifact("org.example", "gone", "2.0", "0" * 64, 9)))
    with pytest.raises(CannotHere, match=r"does not have org.example:gone:2.0") as told:
        fetch.ensure_list(locks, cache, JAVA)
    assert told.value.exit_code == 4
    assert fetch.missing_of(locks, cache) == [locks.artifacts[1]]


def test_what_a_killed_fetch_left_is_kept(repository: FakeRepository, cache: Cache) -> None:
    locks = repository.publish_list("a", "b")
    left = cache.path("tmp", "dead", "0", "got", "somewhere", locks.artifacts[0].file_name)
    left.parent.mkdir(parents=True)
    left.write_bytes((repository.folder / locks.artifacts[0].path).read_bytes())
    half = left.with_name(locks.artifacts[1].file_name)
    half.write_bytes(b"half")
    fetch.ensure_list(locks, cache, JAVA)
    assert repository.asked() == [locks.artifacts[1].path]
    assert fetch.missing_of(locks, cache) == []
    assert cache.leftovers() == []


def test_an_interrupted_fetch_keeps_what_is_whole_and_leaves_nothing_else(
    repository: FakeRepository, cache: Cache
) -> None:
    locks = repository.publish_list("a")

    def interrupt(_what: str, done: int, total: int) -> None:
        if repository.asked():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch.ensure_list(locks, cache, JAVA, interrupt)
    assert cache.leftovers() == []
    with cache.lock(on_wait=lambda _: pytest.fail("the lock must be free")):
        pass


def test_no_room_is_told_before_fetching(
    repository: FakeRepository, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks = repository.publish_list("a")
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10})())
    with pytest.raises(CannotHere, match="disk is full"):
        fetch.ensure_list(locks, cache, JAVA)
    assert repository.asked() == []


def test_two_at_once_fetch_every_jar_once(tmp_path: Path) -> None:
    repository = FakeRepository(tmp_path / "repository", delay_s=0.4)
    locks = repository.publish_list("a", "b", "c", "d")
    (tmp_path / "list.json").write_text(locks.dumps())
    program = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.unit.software.fake_repository import FakeRepository
from stream2gym.software import fetch, ivy
from stream2gym.software.cache import Cache
from stream2gym.software.java import JavaRuntime
from stream2gym.software.lock_list import LockList
here = Path(sys.argv[1])
ivy.start = FakeRepository(here / "repository", 0.4).start
locks = LockList.from_json(json.loads((here / "list.json").read_text()))
words = set()
jars = fetch.ensure_list(locks, Cache(here / "cache"), JavaRuntime("", "", "25"), lambda what, *_: words.add(what))
print(json.dumps({"words": sorted(words), "jars": [jar.read_text() for jar in jars]}))
"""
    command = [sys.executable, "-c", program, str(tmp_path), str(Path(__file__).parent)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=30)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(repository.asked()) == sorted(artifact.path for artifact in locks.artifacts)
    assert sum("waiting: process" in words for words in said) == 1
    assert sum("fetching fake" in words for words in said) == 1


@pytest.fixture
def served(repository: FakeRepository, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRepository]:
    """The repository answers over HTTP."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with repository.serve():
        yield repository


def test_ivy_finds_the_repository_with_the_smallest_jar_and_the_rest_is_downloaded(
    served: FakeRepository, cache: Cache
) -> None:
    locks = served.publish_list("three", "two22", "one")
    heard: list[tuple[str, int, int]] = []
    jars = fetch.ensure_list(locks, cache, JAVA, lambda *words: heard.append(words))
    paths = [artifact.path for artifact in locks.artifacts]
    assert sorted(served.asked()) == sorted([f"http {paths[0]}", f"http {paths[1]}", f"ivy {paths[2]}"])
    assert [jar.read_text() for jar in jars] == ["three" * 100, "two22" * 100, "one" * 100]
    assert heard[-1] == ("fetching fake", locks.size, locks.size)
    assert cache.leftovers() == []


def test_what_cannot_be_downloaded_without_a_password_is_fetched_by_ivy(served: FakeRepository, cache: Cache) -> None:
    locks = served.publish_list("a", "open", "closed")
    served.denied.add("closed-1.0.jar")
    fetch.ensure_list(locks, cache, JAVA)
    assert fetch.missing_of(locks, cache) == []
    assert served.asked()[-1] == f"ivy {locks.artifacts[2].path}"


def test_a_download_that_was_altered_is_told_after_a_second_try(served: FakeRepository, cache: Cache) -> None:
    locks = served.publish_list("a", "good", "altered")
    (served.folder / locks.artifacts[2].path).write_bytes(b"tampered")
    with pytest.raises(WrongSum, match=r"org\.example:altered:1\.0"):
        fetch.ensure_list(locks, cache, JAVA)
    assert fetch.missing_of(locks, cache) == [locks.artifacts[2]]
    assert cache.leftovers() == []


def test_an_interrupted_download_keeps_what_is_whole(served: FakeRepository, cache: Cache) -> None:
    locks = served.publish_list("a", "large", "larger")

    def interrupt(_what: str, done: int, _total: int) -> None:
        if done > locks.artifacts[0].size:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch.ensure_list(locks, cache, JAVA, interrupt)
    assert locks.artifacts[0] not in fetch.missing_of(locks, cache)
    assert cache.leftovers() == []
    with cache.lock(on_wait=lambda _: pytest.fail("the lock must be free")):
        pass


def test_a_full_disk_is_told_and_ivy_does_not_try_it_too(
    served: FakeRepository, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_self: Downloads, _address: str, _target: Path) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(Downloads, "_download", full)
    locks = served.publish_list("a", "large")
    with pytest.raises(CannotHere, match="disk is full"):
        fetch.ensure_list(locks, cache, JAVA)
    assert served.asked() == [f"ivy {locks.artifacts[0].path}"]


def test_a_list_that_is_recorded_leaves_jars_that_are_there_as_they_are(
    repository: FakeRepository, cache: Cache
) -> None:
    locks = repository.publish_list("a", "b")
    [jar] = fetch.ensure_list(LockList("first", (), locks.artifacts[:1]), cache, JAVA)
    before = jar.stat()
    recorded = record_list("second", [artifact.coordinate for artifact in locks.artifacts], cache, JAVA)
    assert recorded.artifacts == locks.artifacts
    assert fetch.missing_of(recorded, cache) == []
    assert jar.stat().st_ino == before.st_ino
