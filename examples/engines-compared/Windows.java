import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileReader;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;
import org.apache.kafka.streams.kstream.TimeWindows;

/** Counts measurements in windows of two seconds, each measurement once, as long as the watermark waits for it. */
public class Windows {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final DateTimeFormatter CLOCK = DateTimeFormatter.ofPattern("HH:mm:ss").withZone(ZoneOffset.UTC);

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        try (FileReader file = new FileReader(System.getenv("S2G_PROPERTIES"))) {
            settings.load(file);
        }
        Duration grace = Duration.ofSeconds(Long.parseLong(System.getenv("WATERMARK")));
        StreamsBuilder builder = new StreamsBuilder(new TopologyConfig(new StreamsConfig(settings)));
        builder.stream("measurements", Consumed.with(Serdes.ByteArray(), Serdes.String())
                .withTimestampExtractor((record, time) -> timeOf(field((String) record.value(), "at"))))
            .groupBy((key, one) -> "all", Grouped.with(Serdes.String(), Serdes.String()))
            .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofSeconds(2), grace))
            .aggregate(() -> " ", (key, one, ids) -> add(ids, field(one, "id")),
                Materialized.with(Serdes.String(), Serdes.String()))
            .suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded()))
            .toStream()
            .map((window, ids) -> KeyValue.pair((String) null, String.format("{\"start\": \"%s\", \"count\": %d}",
                CLOCK.format(window.window().startTime()), ids.trim().split(" ").length)))
            .to(System.getenv("OUT"), Produced.with(Serdes.String(), Serdes.String()));
        new KafkaStreams(builder.build(), settings).start();
    }

    private static String add(String ids, String id) {
        return ids.contains(" " + id + " ") ? ids : ids + id + " ";
    }

    private static long timeOf(String at) {
        return LocalDateTime.parse(at).toInstant(ZoneOffset.UTC).toEpochMilli();
    }

    private static String field(String value, String name) {
        try {
            return JSON.readTree(value).get(name).asText();
        } catch (java.io.IOException error) {
            throw new IllegalArgumentException(value, error);
        }
    }
}
