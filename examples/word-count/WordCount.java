import java.io.FileReader;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;

/** A message is a file: how often each word occurs in all files so far, whenever that changes. */
public class WordCount {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        try (FileReader file = new FileReader(System.getenv("S2G_PROPERTIES"))) {
            settings.load(file);
        }
        StreamsBuilder builder = new StreamsBuilder(new TopologyConfig(new StreamsConfig(settings)));
        builder.stream("files", Consumed.with(Serdes.ByteArray(), Serdes.String()))
            .flatMapValues(message -> Arrays.asList(textOf(message).toLowerCase().split("[^a-z]+")))
            .filter((key, word) -> !word.isEmpty())
            .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
            .count()
            .toStream()
            .mapValues((word, total) -> "{\"word\": \"" + word + "\", \"total\": " + total + "}")
            .to("top", Produced.with(Serdes.String(), Serdes.String()));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }

    /** A message is a file's text and a trailer that names topic and file. */
    private static String textOf(String message) {
        int end = message.lastIndexOf(" Topic: ");
        return end < 0 ? "" : message.substring(0, end);
    }
}
