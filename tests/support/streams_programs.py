"""Kafka Streams programs and the experiments around them, as several suites use them."""

from __future__ import annotations

from typing import Any

from tests.support.play import star

# Counts messages by key; every new count of a key becomes a message.
COUNT = """
import java.io.FileReader;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;

public class Count {
    public static void main(String[] words) throws Exception {
        Properties settings = new Properties();
        settings.load(new FileReader(System.getenv("S2G_PROPERTIES")));
        StreamsBuilder builder = new StreamsBuilder(new TopologyConfig(new StreamsConfig(settings)));
        builder.stream("in", Consumed.with(Serdes.String(), Serdes.ByteArray()))
            .peek((key, value) -> { LOOK })
            .groupByKey(Grouped.with(Serdes.String(), Serdes.ByteArray()))
            .count()
            .toStream()
            .mapValues(count -> Long.toString(count))
            .to("counts", Produced.with(Serdes.String(), Serdes.String()));
        new KafkaStreams(builder.build(), settings).start();
        FOREVER
    }
}
"""

# Every key has been counted from 1 to the number of its messages, each number once.
CHECK = """
from collections import Counter
from stream2gym.check_api import compare, topic

sent = Counter(message["key"] for message in topic("in"))
expected = {(key, number): 1 for key, total in sent.items() for number in range(1, total + 1)}
compare(expected, Counter((message["key"], int(message["value"])) for message in topic("counts")))
"""


def count_program(look: str = "", forever: bool = False) -> str:
    """The program, with a statement that is run for every message; ``forever`` lets its main thread never end."""
    return COUNT.replace("LOOK", look).replace("FOREVER", "Thread.currentThread().join();" if forever else "")


def counting(*engines: dict[str, Any], messages: int = 1200, **keys: Any) -> dict[str, Any]:
    """Messages with ten keys in two partitions, counted by engines on h2, h3 and so on."""
    common = {"type": "kstreams", "app": "Count.java", "application": "counts"}
    config = {"statestore.cache.max.bytes": 0, "consumer.session.timeout.ms": 6000}
    hosts = [f"h{number}" for number in range(2, 2 + len(engines))]
    return {
        "topology": star(1 + len(engines)),
        "brokers": [{"on": "h1"}],
        "topics": [{"name": "in", "partitions": 2}, {"name": "counts", "partitions": 2}],
        "producers": [
            {
                "name": "gen",
                "on": "h1",
                "topic": "in",
                "rate": "200/s",
                "messages": messages,
                "keys": 10,
                "acks": "all",
            }
        ],
        "engines": [
            {"on": host, **common, "config": config, **engine} for host, engine in zip(hosts, engines, strict=True)
        ],
        "consumers": [{"name": "see", "on": "h1", "topics": ["counts"], "isolation": "read_committed"}],
        "checks": [{"name": "counts", "app": "check.py"}],
        "time": "30 s",
        "drain": "60 s",
        **keys,
    }
