"""Flink programs and the experiments around them, as several suites use them."""

from __future__ import annotations

from typing import Any

from tests.support.play import star

COPY = """-- copies messages, exactly once
CREATE TABLE lines (line BYTES) WITH (
  'connector' = 'kafka', 'topic' = 'in', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}',
  'properties.group.id' = 'job', 'scan.startup.mode' = 'earliest-offset', 'format' = 'raw');
CREATE TABLE copies (line BYTES) WITH (
  'connector' = 'kafka', 'topic' = 'out', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}', 'format' = 'raw',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'job',
  'properties.transaction.timeout.ms' = '600000');
INSERT INTO copies SELECT line FROM lines;
"""

# The same in PyFlink, through a function in Python that needs a module beside the program. The program does not
# wait for its job, which goes on all the same.
COPY_PY = """
import os

import beside
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udf


@udf(result_type=DataTypes.BYTES())
def keep(line):
    return beside.same(line)


brokers = f"'properties.bootstrap.servers' = '{os.environ['S2G_BOOTSTRAP']}'"
tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
tables.execute_sql(f\"\"\"CREATE TABLE lines (line BYTES) WITH (
    'connector' = 'kafka', 'topic' = 'in', {brokers}, 'properties.group.id' = 'job',
    'scan.startup.mode' = 'earliest-offset', 'format' = 'raw')\"\"\")
tables.execute_sql(f\"\"\"CREATE TABLE copies (line BYTES) WITH (
    'connector' = 'kafka', 'topic' = 'out', {brokers}, 'format' = 'raw',
    'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'job',
    'properties.transaction.timeout.ms' = '600000')\"\"\")
tables.from_path("lines").select(keep(col("line"))).execute_insert("copies")
"""
BESIDE_PY = "def same(line):\n    return bytes(line)\n"

UPPER = """
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

public class Upper {
    public static void main(String[] args) throws Exception {
        String brokers = System.getenv("S2G_BOOTSTRAP");
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        KafkaSource<String> in = KafkaSource.<String>builder().setBootstrapServers(brokers).setTopics("in")
            .setGroupId("upper").setStartingOffsets(OffsetsInitializer.latest())
            .setValueOnlyDeserializer(new SimpleStringSchema()).build();
        KafkaSink<String> out = KafkaSink.<String>builder().setBootstrapServers(brokers)
            .setRecordSerializer(KafkaRecordSerializationSchema.builder()
                .setTopic("out").setValueSerializationSchema(new SimpleStringSchema()).build()).build();
        env.fromSource(in, WatermarkStrategy.noWatermarks(), "in").map(line -> line.toUpperCase()).sinkTo(out);
        env.execute("upper");
    }
}
"""


def between_topics(app: str = "job.sql", **engine: Any) -> dict[str, Any]:
    return {
        "topology": star(3),
        "brokers": [{"on": "h2"}],
        "topics": [{"name": "in", "partitions": 2}, {"name": "out", "partitions": 2}],
        "producers": [{"name": "gen", "on": "h1", "topic": "in", "rate": "50/s", "messages": 300}],
        "engines": [{"name": "job", "on": "h3", "type": "flink", "app": app, **engine}],
        "consumers": [{"name": "see", "on": "h1", "topics": ["out"], "isolation": "read_committed"}],
        "time": "10 s",
        "drain": "90 s",
    }


def on_a_cluster(app: str = "job.sql", *, slots: int = 1, **manager: Any) -> dict[str, Any]:
    """The same job on a job manager and two task managers."""
    keys = between_topics(app, **manager) | {"topology": star(4)}
    keys["engines"][0] |= {"type": "flink-jobmanager", "on": "h2"}
    worker = {"type": "flink-taskmanager", "jobmanager": "job", "slots": slots}
    keys["engines"] += [{"name": "t3", "on": "h3", **worker}, {"name": "t4", "on": "h4", **worker}]
    return keys
