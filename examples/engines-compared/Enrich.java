import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileReader;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.Produced;

/** Joins every order with the price of its product, the latest message of a compacted topic, with Kafka Streams. */
public class Enrich {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        try (FileReader file = new FileReader(System.getenv("S2G_PROPERTIES"))) {
            settings.load(file);
        }
        StreamsBuilder builder = new StreamsBuilder(new TopologyConfig(new StreamsConfig(settings)));
        GlobalKTable<String, String> prices =
            builder.globalTable("prices", Consumed.with(Serdes.String(), Serdes.String()));
        builder.stream("orders", Consumed.with(Serdes.String(), Serdes.String()))
            .join(prices, (key, order) -> read(order).get("product").asText(), Enrich::enrich)
            .to("enriched", Produced.with(Serdes.String(), Serdes.String()));
        new KafkaStreams(builder.build(), settings).start();
    }

    private static String enrich(String order, String price) {
        JsonNode one = read(order);
        return String.format("{\"id\": %d, \"product\": \"%s\", \"price\": %d}",
            one.get("id").asInt(), one.get("product").asText(), read(price).get("price").asInt());
    }

    private static JsonNode read(String value) {
        try {
            return JSON.readTree(value);
        } catch (java.io.IOException error) {
            throw new IllegalArgumentException(value, error);
        }
    }
}
