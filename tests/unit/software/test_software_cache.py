import os
import subprocess
import sys
from pathlib import Path

import pytest

from stream2gym.errors import CannotHere, Defect
from stream2gym.software.cache import Cache, WrongSum
from stream2gym.software.lock_list import Artifact
from tests.unit.software.fake_repository import FakeRepository


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def jar(tmp_path: Path) -> tuple[Artifact, Path]:
    repository = FakeRepository(tmp_path / "repository")
    artifact = repository.publish("thing", b"content")
    return artifact, repository.folder / artifact.path


def test_the_cache_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("S2G_CACHE", raising=False)
    assert Cache.here().folder == tmp_path / "stream2gym"
    monkeypatch.setenv("S2G_CACHE", str(tmp_path / "mine"))
    assert Cache.here().folder == tmp_path / "mine"


def test_a_relative_xdg_folder_is_ignored_as_its_standard_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("S2G_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    assert Cache.here().folder == Path("~/.cache/stream2gym").expanduser()


def test_an_adopted_jar_is_there_and_known(cache: Cache, jar: tuple[Artifact, Path]) -> None:
    artifact, source = jar
    assert not cache.has(artifact)
    assert cache.adopt(artifact, source).read_bytes() == b"content"
    assert cache.has(artifact)
    assert cache.verify(artifact)


def test_a_jar_with_a_wrong_sum_never_enters(cache: Cache, jar: tuple[Artifact, Path]) -> None:
    artifact, source = jar
    source.write_bytes(b"tampered")
    with pytest.raises(WrongSum, match=r"org.example:thing:1.0.*\n.*what to do"):
        cache.adopt(artifact, source)
    assert not cache.jar(artifact).exists()
    assert not cache.has(artifact)


def test_a_jar_that_was_touched_since_is_not_trusted(cache: Cache, jar: tuple[Artifact, Path]) -> None:
    artifact, source = jar
    kept = cache.adopt(artifact, source)
    os.utime(kept, ns=(1, 1))
    assert not cache.has(artifact)


def test_the_quick_check_follows_the_sum_of_the_list(cache: Cache, jar: tuple[Artifact, Path]) -> None:
    artifact, source = jar
    cache.adopt(artifact, source)
    other = Artifact(artifact.group, artifact.name, artifact.version, "0" * 64, artifact.size)
    assert not cache.has(other)


def test_verify_finds_and_removes_a_jar_that_rotted_unseen(cache: Cache, jar: tuple[Artifact, Path]) -> None:
    artifact, source = jar
    kept = cache.adopt(artifact, source)
    stat = kept.stat()
    kept.write_bytes(b"CONTENT")
    os.utime(kept, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert cache.has(artifact), "size and time are as they were"
    assert not cache.verify(artifact)
    assert not cache.has(artifact)
    assert not kept.exists()


def test_a_write_that_fails_leaves_the_old_file(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    path = cache.write(cache.path("a", "file"), b"old")

    def fail(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(CannotHere, match="S2G_CACHE"):
        cache.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == ["file"]


def test_a_file_size_limit_is_told_like_a_full_disk(tmp_path: Path) -> None:
    program = """
import resource, sys
from pathlib import Path
from stream2gym.errors import CannotHere
from stream2gym.software.cache import Cache
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
cache = Cache(Path(sys.argv[1]))
try:
    cache.write(cache.path("big"), b"x" * 5000)
except CannotHere as error:
    print(error.what, list(cache.folder.iterdir()))
"""
    said = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "cache")], capture_output=True, text=True, check=True
    ).stdout
    assert "the disk is full" in said
    assert said.strip().endswith("[]")


def test_too_little_room_is_said_before_anything_is_written(cache: Cache) -> None:
    with pytest.raises(CannotHere, match=r"no room for 1000000000000000 MB"), cache.disk(needed=10**21):
        pytest.fail("must not get here")


def test_a_folder_that_is_not_ours_names_the_way_out(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "locked")
    with pytest.raises(CannotHere, match="S2G_CACHE"), cache.disk():
        raise PermissionError(13, "Permission denied")


def test_scratch_is_gone_afterwards_also_after_a_failure(cache: Cache) -> None:
    seen: list[Path] = []

    def fail_half_way() -> None:
        with cache.lock(), cache.scratch() as scratch:
            seen.append(scratch)
            (scratch / "half").write_text("made")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert not seen[0].exists()
    assert cache.leftovers() == []


def test_scratch_without_the_lock_is_a_defect(cache: Cache) -> None:
    with pytest.raises(Defect), cache.scratch():
        pytest.fail("must not get here")


def test_whoever_comes_second_waits_and_says_so(cache: Cache) -> None:
    program = """
import sys
from pathlib import Path
from stream2gym.software.cache import Cache
with Cache(Path(sys.argv[1])).lock():
    print("held", flush=True)
    sys.stdin.read()
"""
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(cache.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    words: list[str] = []

    def release(what: str) -> None:
        words.append(what)
        holder.communicate()

    with cache.lock(on_wait=release):
        assert holder.returncode == 0
    assert len(words) == 1
    assert str(holder.pid) in words[0]


def test_the_lock_of_a_killed_process_is_free(cache: Cache) -> None:
    program = """
import os, signal, sys
from pathlib import Path
from stream2gym.software.cache import Cache
with Cache(Path(sys.argv[1])).lock():
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", program, str(cache.folder)], check=False)
    words: list[str] = []
    with cache.lock(on_wait=words.append):
        assert words == []
