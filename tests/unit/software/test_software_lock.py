import re
from importlib import resources

import pytest

from stream2gym.software.lock_list import Artifact, LockList, shipped
from stream2gym.software.software_lists import KAFKA, OPTIONAL, SHIPPED, kafka_list

LISTS = SHIPPED | OPTIONAL


def test_every_wished_list_is_shipped_and_no_other() -> None:
    files = (resources.files("stream2gym.software") / "locks").iterdir()
    assert sorted(file.name for file in files) == sorted(f"{name}.json" for name in LISTS)


@pytest.mark.parametrize("name", sorted(LISTS))
def test_a_shipped_list_names_exact_jars_with_sums(name: str) -> None:
    locks = shipped(name)
    assert locks is not None
    assert locks.name == name
    assert locks.roots == LISTS[name].roots
    coordinates = [artifact.coordinate for artifact in locks.artifacts]
    assert set(locks.roots) <= set(coordinates)
    assert len(set(coordinates)) == len(coordinates)
    for artifact in locks.artifacts:
        assert re.fullmatch(r"[0-9a-f]{64}", artifact.sha256), artifact
        assert re.match(r"\d", artifact.version), artifact
        assert artifact.size > 1000, artifact


def test_no_two_jars_of_a_list_share_a_file_name() -> None:
    for name in LISTS:
        locks = shipped(name)
        assert locks is not None
        names = [artifact.file_name for artifact in locks.artifacts]
        assert len(set(names)) == len(names)


def test_kafka_comes_with_exactly_one_binding_for_its_log() -> None:
    locks = shipped(kafka_list(KAFKA))
    assert locks is not None
    bindings = [
        a.name for a in locks.artifacts if a.name.startswith(("slf4j-", "log4j-slf4j")) and a.name != "slf4j-api"
    ]
    assert bindings == ["slf4j-simple"]


def test_a_list_survives_being_written_and_read() -> None:
    locks = LockList("x", ("a:b:1",), (Artifact("a", "b", "1", "0" * 64, 5),), origin="first use")
    assert LockList.from_json(locks.to_json()) == locks


@pytest.mark.parametrize("text", ["a:b", "a:b:", "a:b:c:d", ""])
def test_what_is_no_coordinate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="group:name:version"):
        Artifact.parse(text)


def test_a_list_that_nobody_made_is_not_there() -> None:
    assert shipped("kafka-0.1") is None
