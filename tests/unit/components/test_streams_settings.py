"""The properties, the command and the causes of death of Kafka Streams programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream2gym.components.kafka_streams import MEMORY_STORES, application_of, explain_cause, streams_properties
from stream2gym.errors import BadInput
from stream2gym.software.java import JavaRuntime
from stream2gym.software.streams_software import LAUNCHER, StreamsProgram, StreamsSoftware
from stream2gym.spec.model import Engine
from tests.unit.software.class_files import MAIN, class_file, write_jar

JAVA = JavaRuntime("/java", "/java/bin/java", "25.0.1")
SOFTWARE = StreamsSoftware(
    JAVA, (Path("launcher.jar"), Path("streams.jar")), (Path("rocksdb.jar"),), (Path("more.jar"),)
)


def engine(**keys: Any) -> Engine:
    return Engine.model_validate({"name": "count", "type": "kstreams", "app": "Count.java", **keys})


def properties(**keys: Any) -> dict[str, str]:
    return streams_properties(engine(**keys), servers="10.0.0.1:9092", state="/state")


@pytest.mark.parametrize("type_", ["kafka-streams", "kstreams", "KStream"])
def test_the_type_has_several_names(type_: str) -> None:
    assert engine(type=type_).checked_settings.store == "memory"


def test_the_application_is_the_engine_unless_it_is_named() -> None:
    assert application_of(engine()) == "count"
    assert application_of(engine(application="words")) == "words"


def test_a_program_is_given_its_application_brokers_and_state() -> None:
    found = properties()
    assert found["application.id"] == "count"
    assert found["bootstrap.servers"] == "10.0.0.1:9092"
    assert found["state.dir"] == "/state"
    assert found["commit.interval.ms"] == "1000"
    assert found["dsl.store.suppliers.class"] == MEMORY_STORES
    assert "processing.guarantee" not in found


def test_exactly_once_has_kafkas_own_interval_of_commits() -> None:
    found = properties(guarantee="exactly-once")
    assert found["processing.guarantee"] == "exactly_once_v2"
    assert "commit.interval.ms" not in found


def test_rocksdb_is_kafkas_own_default() -> None:
    assert "dsl.store.suppliers.class" not in properties(store="rocksdb")


def test_the_experiment_has_the_last_word() -> None:
    found = properties(threads=2, config={"commit.interval.ms": 50, "topology.optimization": "all"})
    assert found["commit.interval.ms"] == "50"
    assert found["topology.optimization"] == "all"
    assert found["num.stream.threads"] == "2"


def test_what_all_programs_have_comes_first_on_the_class_path() -> None:
    program = StreamsProgram(Path("count.jar"), "org.Count")
    plain = SOFTWARE.command(program, heap_mb=256)
    assert plain[plain.index("-cp") + 1 :] == ["launcher.jar:streams.jar:more.jar:count.jar", LAUNCHER, "org.Count"]
    assert "-Xmx256m" in plain
    with_store = SOFTWARE.command(program, heap_mb=256, rocksdb=True)
    assert with_store[with_store.index("-cp") + 1] == "launcher.jar:streams.jar:rocksdb.jar:more.jar:count.jar"


def test_a_jar_is_a_program_if_it_has_the_class(tmp_path: Path) -> None:
    jar = write_jar(tmp_path / "app.jar", [class_file("org.Count", [MAIN])], ["org.Count"])
    assert SOFTWARE.program(jar, None) == StreamsProgram(jar, "org.Count")
    with pytest.raises(
        BadInput, match=r"engine count: there is no class org.Other in it \(can be started: org.Count\)"
    ):
        SOFTWARE.program(jar, "org.Other", where="engine count")


def test_other_files_are_no_programs(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is no program of Kafka Streams"):
        SOFTWARE.program(tmp_path / "count.py", None)


TRACE = """[ERROR] org.apache.kafka.streams.KafkaStreams - stream-client [x] Encountered the following exception
org.apache.kafka.streams.errors.StreamsException: Exception caught in process. taskId=0_0
\tat org.apache.kafka.streams.processor.internals.StreamTask.process(StreamTask.java:700)
Caused by: java.lang.IllegalStateException: a word that nobody knows
\tat Count.lambda$main$0(Count.java:12)
[INFO] org.apache.kafka.streams.KafkaStreams - stream-client [x] State transition from PENDING_ERROR to ERROR
"""


def test_the_cause_is_the_innermost_in_its_own_words() -> None:
    assert explain_cause(TRACE, [], 256) == "java.lang.IllegalStateException: a word that nobody knows"


def test_an_exception_of_the_main_thread_is_a_cause() -> None:
    log = (
        'Exception in thread "main" java.lang.IllegalArgumentException: no topic given\n\tat Count.main(Count.java:3)'
    )
    assert explain_cause(log, [], 256) == "java.lang.IllegalArgumentException: no topic given"


def test_a_store_of_rocksdb_without_rocksdb_has_its_remedy() -> None:
    log = "java.lang.NoClassDefFoundError: org/rocksdb/RocksDBException\n\tat org.apache.kafka.streams.state"
    assert "say 'store: rocksdb'" in explain_cause(log, [], 256)


def test_a_topic_that_nobody_made_is_told_with_those_that_exist() -> None:
    log = "org.apache.kafka.streams.errors.MissingSourceTopicException: One or more source topics were missing"
    assert explain_cause(log, ["in", "out"], 256).endswith("(it reads a topic that nobody made; there are: in, out)")


def test_out_of_memory_says_how_much_it_has() -> None:
    log = "Terminating due to java.lang.OutOfMemoryError: Java heap space"
    assert "it has 64 MiB" in explain_cause(log, [], 64)
