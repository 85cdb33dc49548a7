import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

/**
 * A program of a user's that knows nothing of us. {@code write} sends plain messages to t and transactions to tx, of
 * which the second is aborted; {@code read} reads both, committed messages only. Each says what Kafka told it.
 */
public class Shop {
    static final String BOOTSTRAP = System.getenv("S2G_BOOTSTRAP");
    static final int PLAIN = 300, IN_A_TRANSACTION = 10;
    static volatile boolean isOver = false;

    public static void main(String[] args) throws Exception {
        if (args[0].equals("write")) {
            write();
        } else {
            read();
        }
    }

    static KafkaProducer<String, String> producer(Map<String, Object> more) {
        Map<String, Object> settings = new HashMap<>(more);
        settings.put("bootstrap.servers", BOOTSTRAP);
        settings.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        return new KafkaProducer<>(settings);
    }

    static void write() throws Exception {
        int acknowledged = 0;
        try (KafkaProducer<String, String> producer = producer(Map.of("compression.type", "zstd", "linger.ms", 20))) {
            List<Future<RecordMetadata>> futures = new ArrayList<>();
            for (int number = 0; number < PLAIN; number++) {
                // The same content many times over: what is sent again must not be taken for what is new.
                futures.add(producer.send(new ProducerRecord<>("t", "k" + number % 3, "order " + number / 50)));
                Thread.sleep(5);
            }
            for (Future<RecordMetadata> future : futures) {
                future.get();
                acknowledged++;
            }
        }
        try (KafkaProducer<String, String> producer = producer(Map.of("transactional.id", "shop"))) {
            producer.initTransactions();
            for (int number = 0; number < 3; number++) {
                producer.beginTransaction();
                for (int part = 0; part < IN_A_TRANSACTION; part++)
                    producer.send(new ProducerRecord<>("tx", "transaction " + number + " " + part));
                producer.flush();
                if (number == 1) {
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                    acknowledged += IN_A_TRANSACTION;
                }
            }
        }
        System.out.printf("S2G {\"acknowledged\": %d}%n", acknowledged);
    }

    static void read() throws Exception {
        int handed = 0;
        Thread reader = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            isOver = true;
            try {
                reader.join();
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }));
        String text = "org.apache.kafka.common.serialization.StringDeserializer";
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(Map.of(
                "bootstrap.servers", BOOTSTRAP, "group.id", "office", "auto.offset.reset", "earliest",
                "isolation.level", "read_committed", "key.deserializer", text, "value.deserializer", text))) {
            consumer.subscribe(List.of("t", "tx"));
            while (!isOver)
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200)))
                    handed++;
        }
        System.out.printf("S2G {\"handed\": %d}%n", handed);
        System.out.flush();
    }
}
