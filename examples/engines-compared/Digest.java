import java.io.FileReader;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;

/** Replaces every message by the digest of what it is 16,000 times over, with Kafka Streams: it needs a CPU. */
public class Digest {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        try (FileReader file = new FileReader(System.getenv("S2G_PROPERTIES"))) {
            settings.load(file);
        }
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream("in", Consumed.with(Serdes.ByteArray(), Serdes.String()))
            .mapValues(message -> digest(message.repeat(16000)))
            .to("out", Produced.with(Serdes.ByteArray(), Serdes.String()));
        new KafkaStreams(builder.build(), settings).start();
    }

    private static String digest(String text) {
        try {
            byte[] found = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(found);
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }
}
