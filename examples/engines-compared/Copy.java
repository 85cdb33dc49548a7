import java.io.FileReader;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;

/** Copies a topic into another with Kafka Streams. */
public class Copy {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        try (FileReader file = new FileReader(System.getenv("S2G_PROPERTIES"))) {
            settings.load(file);
        }
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream("in", Consumed.with(Serdes.ByteArray(), Serdes.ByteArray()))
            .to("out", Produced.with(Serdes.ByteArray(), Serdes.ByteArray()));
        new KafkaStreams(builder.build(), settings).start();
    }
}
