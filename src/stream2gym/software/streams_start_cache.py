"""The start-up cache of the JVM of a Kafka Streams program, which ``setup`` makes.

The rehearsal is a real program between two topics of a real broker on loopback, with a store and with transactions.
"""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

from stream2gym.errors import StartFailed
from stream2gym.software import child_process
from stream2gym.software.cache import Cache
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.fetch import Progress, silent
from stream2gym.software.kafka_config import properties_text
from stream2gym.software.kafka_software import JVM_FLAGS
from stream2gym.software.loopback_broker import exercise, loopback_broker
from stream2gym.software.start_cache import StartCache
from stream2gym.software.streams_software import LOG_FLAGS, StreamsSoftware
from stream2gym.wait import wait_until

HEAP_MB = 256
REHEARSE_S = 120.0
# The cache is written when the program ends, which takes seconds.
END_S = 120.0
_RUNS = "to RUNNING"
_REPORTED = '"processed": '
_REHEARSAL = """
import java.io.FileReader;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;

public class Rehearsal {
    public static void main(String[] words) throws Exception {
        Properties settings = new Properties();
        settings.load(new FileReader(System.getenv("S2G_PROPERTIES")));
        StreamsBuilder builder = new StreamsBuilder(new TopologyConfig(new StreamsConfig(settings)));
        builder.stream("warm", Consumed.with(Serdes.String(), Serdes.String()))
            .groupBy((key, value) -> value.substring(0, 1), Grouped.with(Serdes.String(), Serdes.String()))
            .count()
            .toStream()
            .mapValues(count -> "count " + count)
            .to("warm", Produced.with(Serdes.String(), Serdes.String()));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }
}
"""


def streams_start_cache(software: StreamsSoftware, cache: Cache | None = None) -> StartCache:
    """The start-up cache of Kafka Streams programs. It fits all of them: what is their own comes last."""
    folder = (cache or Cache.here()).path("streams")
    depends_on = [_REHEARSAL, *JVM_FLAGS, *LOG_FLAGS]
    return StartCache.of(
        "Kafka Streams programs", software.java, folder, "streams", depends_on=depends_on, files=software.jars, kept=4
    )


def with_start_cache(software: StreamsSoftware, cache: Cache | None = None) -> StreamsSoftware:
    """The software with its start-up cache, where there is one."""
    return replace(software, start_cache=streams_start_cache(software, cache).find())


def make_start_cache(progress: Progress = silent, cache: Cache | None = None) -> Path | None:
    """Make the start-up cache of Kafka Streams programs; None where this Java has none, or the rehearsal failed."""
    software = StreamsSoftware.ensure(progress, cache=cache)
    found = streams_start_cache(software, cache)
    found.forget_failure()
    return found.ensure(lambda folder, flags: _rehearse(software, folder, flags, cache), progress)


def _rehearse(software: StreamsSoftware, scratch: Path, flags: list[str], cache: Cache | None) -> str:
    source, settings, log = scratch / "Rehearsal.java", scratch / "streams.properties", scratch / "program.log"
    source.write_text(_REHEARSAL)
    program = software.program(source, None, cache=cache)
    (scratch / "broker").mkdir()
    environment = os.environ | {"S2G_PROPERTIES": str(settings), "S2G_GATE": ""}
    with loopback_broker(ensure_kafka(cache=cache), scratch / "broker") as broker:
        exercise(broker)
        properties = {
            "application.id": "rehearsal",
            "bootstrap.servers": f"127.0.0.1:{broker.port}",
            "state.dir": str(scratch / "state"),
            "processing.guarantee": "exactly_once_v2",
            "dsl.store.suppliers.class": (
                "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers"
            ),
        }
        settings.write_text(properties_text(properties), "ascii")
        command = software.command(program, heap_mb=HEAP_MB, flags=[*flags, f"-Djava.io.tmpdir={scratch}"])
        process = child_process.start(command, log, scratch, environment)
        try:
            wait_until(
                lambda: process.poll() is not None or _has_worked(log),
                timeout_s=REHEARSE_S,
                reason="the rehearsal of Kafka Streams to process messages",
            )
            process.send_signal(signal.SIGTERM)
            process.wait(END_S)
        except (subprocess.TimeoutExpired, TimeoutError) as error:
            raise StartFailed(f"the rehearsal did not end: {error}") from error
        finally:
            child_process.end(process)
    return log.read_text("utf-8", errors="replace")


def _has_worked(log: Path) -> bool:
    """Whether the program ran and has reported that it processed something."""
    text = log.read_text("utf-8", errors="replace")
    counts = [part.partition(",")[0] for part in text.split(_REPORTED)[1:]]
    return _RUNS in text and any(float(count) > 0 for count in counts if count.replace(".", "").isdigit())
