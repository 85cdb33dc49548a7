import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

/** Produces and consumes with Kafka's own client; says on standard output what it got acknowledged and was handed. */
public class Talk {
    public static void main(String[] args) throws Exception {
        String bootstrap = args[0], topic = args[1], compression = args[2], group = args[3], protocol = args[4];
        String text = "org.apache.kafka.common.serialization.StringSerializer";
        String back = "org.apache.kafka.common.serialization.StringDeserializer";
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(Map.of(
                "bootstrap.servers", bootstrap, "compression.type", compression, "linger.ms", "30",
                "key.serializer", text, "value.serializer", text));
             KafkaConsumer<String, String> consumer = new KafkaConsumer<>(Map.of(
                "bootstrap.servers", bootstrap, "group.id", group, "auto.offset.reset", "earliest",
                "group.protocol", protocol, "key.deserializer", back, "value.deserializer", back))) {
            consumer.subscribe(List.of(topic));
            int sent = 0, received = 0;
            for (int part = 0; part < 3; part++) {
                List<Future<RecordMetadata>> futures = new ArrayList<>();
                for (int number = 10 * part; number < 10 * part + 10; number++)
                    futures.add(producer.send(new ProducerRecord<>(topic, "k" + number, args[5] + number)));
                producer.flush();
                for (Future<RecordMetadata> future : futures) {
                    RecordMetadata told = future.get();
                    System.out.printf("sent %d %d %d%n", told.partition(), told.offset(), sent++);
                }
                while (received < sent)
                    for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                        System.out.printf("received %d %d %s %s%n", record.partition(), record.offset(), record.key(),
                            record.value());
                        received++;
                    }
            }
        }
    }
}
