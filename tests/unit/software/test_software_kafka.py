import base64
import os
from dataclasses import replace
from pathlib import Path

import pytest

from stream2gym.errors import BadInput
from stream2gym.software.cache import Cache
from stream2gym.software.ensure_kafka import with_start_cache
from stream2gym.software.java import JavaRuntime
from stream2gym.software.kafka_config import broker_defaults, properties_text
from stream2gym.software.kafka_software import KafkaSoftware, check_version, kafka_start_cache
from stream2gym.software.kafka_storage import format_folder, new_id
from stream2gym.software.start_cache import make_flags


@pytest.fixture
def software(tmp_path: Path) -> KafkaSoftware:
    for name in ("java", "a.jar", "b.jar"):
        (tmp_path / name).write_text(name)
    java = JavaRuntime(str(tmp_path), str(tmp_path / "java"), "25.0.2", bundled=True)
    return KafkaSoftware("4.3.1", java, (tmp_path / "a.jar", tmp_path / "b.jar"), Cache(tmp_path / "cache"))


def test_the_command_starts_a_broker_with_its_heap(software: KafkaSoftware) -> None:
    command = software.command("broker.properties", heap_mb=300)
    assert command[0] == software.java.java
    assert "-Xmx300m" in command
    assert "-Xms32m" in command
    assert "-Xms20m" in software.command("broker.properties", heap_mb=20)
    assert command[-2:] == ["kafka.Kafka", "broker.properties"]
    assert command[command.index("-cp") + 1] == ":".join(str(jar) for jar in software.jars)


def test_the_start_up_cache_is_used_when_there_is_one(software: KafkaSoftware) -> None:
    assert not any("AOTCache" in word for word in software.command("x"))
    assert "-XX:AOTCache=/some/file" in replace(software, start_cache=Path("/some/file")).command("x")


def test_an_older_java_gets_the_archive_that_it_knows(software: KafkaSoftware) -> None:
    older = replace(software, java=replace(software.java, version="17.0.1"), start_cache=Path("/some/file"))
    assert "-XX:SharedArchiveFile=/some/file" in older.command("x")
    assert make_flags(older.java, Path("/f")) == ["-XX:ArchiveClassesAtExit=/f"]


def test_the_same_java_in_another_place_has_the_same_start_up_cache(software: KafkaSoftware, tmp_path: Path) -> None:
    linked = tmp_path / "elsewhere"
    linked.hardlink_to(software.java.java)
    moved = replace(software, java=replace(software.java, home="other", java=str(linked)))
    assert kafka_start_cache(moved).file == kafka_start_cache(software).file


def test_the_start_up_cache_is_another_one_when_java_jars_or_flags_change(
    software: KafkaSoftware, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [kafka_start_cache(software).file]
    files.append(kafka_start_cache(replace(software, jars=software.jars[::-1])).file)
    files.append(kafka_start_cache(replace(software, java=replace(software.java, version="25.0.3"))).file)
    monkeypatch.setattr("stream2gym.software.kafka_software.JVM_FLAGS", ("-XX:+UseG1GC",))
    files.append(kafka_start_cache(software).file)
    monkeypatch.undo()
    os.utime(software.jars[0], ns=(1, 1))
    files.append(kafka_start_cache(software).file)
    assert len(set(files)) == len(files)


def test_the_heap_does_not_change_the_start_up_cache(software: KafkaSoftware) -> None:
    assert kafka_start_cache(software) == kafka_start_cache(replace(software, start_cache=Path("x")))


def test_without_a_start_up_cache_a_broker_still_starts(
    software: KafkaSoftware, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream2gym.software.kafka_storage.ensure_checkpoint", lambda _: software.jars[0])
    words: list[str] = []
    found = with_start_cache(software, lambda what, *_: words.append(what))
    assert found.start_cache is None
    assert any("Kafka 4.3.1 starts slower" in what for what in words)
    assert software.cache.leftovers() == []


@pytest.mark.parametrize("version", ["3.9.0", "4.0.0", "4.3.1", "5.1.12", "4.4.0-rc1"])
def test_a_version_from_3_9_on_can_be_named(version: str) -> None:
    check_version(version)


@pytest.mark.parametrize(
    ("version", "words"), [("3.8.1", "3.9 or later"), ("latest", "is not a version"), ("4", "4.3")]
)
def test_another_version_is_refused_with_what_would_be_right(version: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        check_version(version)


@pytest.mark.parametrize(("brokers", "replicas"), [(1, "1"), (2, "2"), (3, "3"), (20, "3")])
def test_internal_topics_fit_the_number_of_brokers(brokers: int, replicas: str) -> None:
    defaults = broker_defaults(brokers)
    factors = [value for key, value in defaults.items() if key.endswith("replication.factor")]
    assert factors == [replicas] * 3
    assert all(int(value) <= int(replicas) for key, value in defaults.items() if key.endswith("min.isr"))


def test_properties_are_written_so_that_java_reads_them_back() -> None:
    text = properties_text({"a b": " c\\d", "k=:": "x=y:z", "u": "é😀", "n": "1\n2"})
    assert text.splitlines() == [
        "a\\ b=\\ c\\\\d",
        "k\\=\\:=x=y:z",
        "u=\\u00e9\\ud83d\\ude00",
        "n=1\\n2",
    ]


def test_ids_are_as_kafka_writes_them() -> None:
    assert len(base64.urlsafe_b64decode(new_id() + "==")) == 16
    assert not new_id(b"\xfb" * 16).startswith("-")


def test_a_folder_is_formatted_without_a_jvm(software: KafkaSoftware, tmp_path: Path) -> None:
    software.cache.write(software.cache.path("kafka", "4.3.1", "bootstrap.checkpoint"), b"features")
    format_folder(software, tmp_path / "d", cluster_id="c" * 22, node_id=7)
    assert (tmp_path / "d" / "bootstrap.checkpoint").read_bytes() == b"features"
    meta = dict(line.split("=", 1) for line in (tmp_path / "d" / "meta.properties").read_text().splitlines())
    assert meta["version"] == "1"
    assert meta["cluster.id"] == "c" * 22
    assert meta["node.id"] == "7"
    assert len(meta["directory.id"]) == 22
