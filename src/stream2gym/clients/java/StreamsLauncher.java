package stream2gym;

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * Starts a Kafka Streams program and reports from inside its process: {@code StreamsLauncher MAIN ARGUMENTS...}.
 *
 * <pre>
 * CONTRACT
 *   in    S2G_GATE   a named pipe; one byte in it opens the gate; without it the program starts at once
 *   then  runs the main method of MAIN, which need not know of this class
 *   out   S2G {"kstreams": {"state": NAME}}                           whenever a client of Kafka Streams changes its state
 *         S2G {"kstreams": {"numbers": {...}, "assigned": [[T, P]], "application": ID}}
 *                                                                   twice a second: Kafka's own metrics
 *   exit  the program's own; 1 instead of 0 if its streams had failed when it ended
 * </pre>
 *
 * The state comes from the log of Kafka Streams, which tells every transition, ERROR included. Its metrics are removed
 * before it gets there. The numbers are read from the MBeans that Kafka registers in every program.
 */
public final class StreamsLauncher {
    private static final long EVERY_MS = 500;
    private static final long LOOK_FOR_END_MS = 50;
    /** Domain, type and attribute of a metric, how several are combined, and its name in the report. */
    private static final String[][] NUMBERS = {
        {"kafka.streams", "stream-thread-metrics", "process-total", "sum", "processed"},
        {"kafka.streams", "stream-thread-metrics", "commit-total", "sum", "commits"},
        {"kafka.streams", "stream-thread-metrics", "commit-latency-avg", "max", "commit_ms"},
        {"kafka.streams", "stream-metrics", "alive-stream-threads", "sum", "threads"},
        {"kafka.streams", "stream-metrics", "failed-stream-threads", "sum", "failed_threads"},
        {"kafka.streams", "stream-task-metrics", "dropped-records-total", "sum", "dropped"},
        {"kafka.streams", "stream-processor-node-metrics", "record-e2e-latency-avg", "max", "e2e_ms"},
        {"kafka.streams", "stream-state-updater-metrics", "active-restoring-tasks", "sum", "restoring_tasks"},
        {"kafka.streams", "stream-state-metrics", "estimate-num-keys", "sum", "state_rows"},
        {"kafka.streams", "stream-state-metrics", "total-sst-files-size", "sum", "state_bytes"},
        {"kafka.consumer", "consumer-coordinator-metrics", "rebalance-total", "sum", "rebalances"},
        {"kafka.consumer", "consumer-coordinator-metrics", "assigned-partitions", "sum", "partitions"},
        {"kafka.consumer", "consumer-fetch-manager-metrics", "records-lag-max", "max", "lag"},
        {"kafka.producer", "producer-metrics", "record-send-total", "sum", "sends"},
    };
    private static final PrintStream REPORTS =
            new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    private static volatile String state = "";

    private StreamsLauncher() {}

    public static void main(String[] words) throws Throwable {
        String gate = System.getenv("S2G_GATE");
        if (gate != null && !gate.isEmpty()) {
            try (FileInputStream pipe = new FileInputStream(gate)) {
                pipe.read();
            }
        }
        System.setErr(new PrintStream(new LogWatch(System.err), true, StandardCharsets.UTF_8));
        Thread sampler = new Thread(StreamsLauncher::reportNumbers, "s2g-sampler");
        sampler.setDaemon(true);
        sampler.start();
        run(Class.forName(words[0]), java.util.Arrays.copyOfRange(words, 1, words.length));
        waitForOtherThreads();
        // The thread that closes failed streams is a daemon, so that the program may end before they are in ERROR.
        if (state.endsWith("ERROR")) {
            System.exit(1);
        }
    }

    private static void run(Class<?> program, String[] arguments) throws Throwable {
        Method main;
        Object[] given = {arguments};
        try {
            main = program.getDeclaredMethod("main", String[].class);
        } catch (NoSuchMethodException withArguments) {
            try {
                main = program.getDeclaredMethod("main");
                given = new Object[0];
            } catch (NoSuchMethodException without) {
                main = program.getMethod("main", String[].class); // an inherited one
            }
        }
        main.setAccessible(true);
        Object instance = null;
        if (!Modifier.isStatic(main.getModifiers())) {
            var make = program.getDeclaredConstructor();
            make.setAccessible(true);
            instance = make.newInstance();
        }
        try {
            main.invoke(instance, given);
        } catch (InvocationTargetException wrapped) {
            throw wrapped.getCause();
        }
    }

    /** As Java does before it ends: a program lives as long as it has a thread that is no daemon. */
    private static void waitForOtherThreads() throws InterruptedException {
        ThreadGroup all = Thread.currentThread().getThreadGroup();
        while (all.getParent() != null) {
            all = all.getParent();
        }
        boolean others = true;
        while (others) {
            Thread[] threads = new Thread[all.activeCount() + 64];
            int count = all.enumerate(threads);
            others = false;
            for (int number = 0; number < count; number++) {
                others |= threads[number] != Thread.currentThread() && !threads[number].isDaemon();
            }
            if (others) {
                Thread.sleep(LOOK_FOR_END_MS);
            }
        }
    }

    private static void reportNumbers() {
        try {
            MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
            while (true) {
                Thread.sleep(EVERY_MS);
                String report = numbersReport(beans);
                if (report != null) {
                    say(report);
                }
            }
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        } catch (Exception error) {
            System.err.println("S2G no metrics from here on: " + error);
        }
    }

    private static String numbersReport(MBeanServer beans) throws Exception {
        Map<String, Double> found = new TreeMap<>();
        Set<String> assigned = new TreeSet<>();
        String application = "";
        for (String domain : new String[] {"kafka.streams", "kafka.consumer", "kafka.producer"}) {
            for (ObjectName name : beans.queryNames(new ObjectName(domain + ":*"), null)) {
                read(beans, name, found);
                if (application.isEmpty() && "stream-metrics".equals(name.getKeyProperty("type"))) {
                    application = applicationOf(beans, name);
                }
                String topic = name.getKeyProperty("topic");
                String partition = name.getKeyProperty("partition");
                boolean isOwn = name.getKeyProperty("type").equals("consumer-fetch-manager-metrics") && isMain(name);
                if (isOwn && topic != null && partition != null) {
                    assigned.add("[\"" + unquoted(topic) + "\", " + unquoted(partition) + "]");
                }
            }
        }
        if (found.isEmpty()) {
            return null;
        }
        StringBuilder text = new StringBuilder("{\"numbers\": {");
        String comma = "";
        for (Map.Entry<String, Double> number : found.entrySet()) {
            text.append(comma).append('"').append(number.getKey()).append("\": ").append(number.getValue());
            comma = ", ";
        }
        text.append("}, \"assigned\": ").append(assigned);
        return text.append(", \"application\": \"").append(application).append("\"}").toString();
    }

    /**
     * The application that a program says to be, which is its group; Kafka allows neither quotes nor spaces in it. Empty
     * if this MBean does not tell: of those of a client, in no order, only one does.
     */
    private static String applicationOf(MBeanServer beans, ObjectName name) {
        try {
            return String.valueOf(beans.getAttribute(name, "application-id"));
        } catch (javax.management.JMException absent) {
            return "";
        }
    }

    private static void read(MBeanServer beans, ObjectName name, Map<String, Double> found) {
        for (String[] wanted : NUMBERS) {
            boolean fits = name.getDomain().equals(wanted[0]) && wanted[1].equals(name.getKeyProperty("type"));
            if (!fits || (wanted[0].equals("kafka.consumer") && !isMain(name))) {
                continue;
            }
            try {
                Object value = beans.getAttribute(name, wanted[2]);
                if (value instanceof Number number && Double.isFinite(number.doubleValue())) {
                    double one = number.doubleValue();
                    found.merge(wanted[4], one, wanted[3].equals("sum") ? Double::sum : Math::max);
                }
            } catch (javax.management.JMException absent) {
                // Not every MBean of a type has every attribute, and some go while they are read.
            }
        }
    }

    /** Whether a metric is of a consumer that processes messages; others only restore state. */
    private static boolean isMain(ObjectName name) {
        String client = name.getKeyProperty("client-id");
        return client != null && !client.contains("-restore-consumer") && !client.contains("-global-consumer");
    }

    private static String unquoted(String value) {
        return value.startsWith("\"") ? ObjectName.unquote(value) : value;
    }

    private static synchronized void say(String report) {
        REPORTS.println("S2G {\"kstreams\": " + report + "}");
    }

    /** Passes the log on, and finds the transitions of clients in it. */
    private static final class LogWatch extends FilterOutputStream {
        private static final Pattern TRANSITION = Pattern.compile("stream-client .* State transition from \\w+ to (\\w+)");
        private static final int LONGEST = 4096;
        private final StringBuilder line = new StringBuilder();

        LogWatch(OutputStream log) {
            super(log);
        }

        @Override
        public synchronized void write(byte[] data, int from, int length) throws IOException {
            out.write(data, from, length);
            for (int at = from; at < from + length; at++) {
                look((char) data[at]);
            }
        }

        @Override
        public synchronized void write(int one) throws IOException {
            out.write(one);
            look((char) one);
        }

        private void look(char letter) {
            if (letter != '\n') {
                if (line.length() < LONGEST) {
                    line.append(letter);
                }
                return;
            }
            Matcher found = TRANSITION.matcher(line);
            if (found.find()) {
                state = found.group(1);
                say("{\"state\": \"" + state + "\"}");
            }
            line.setLength(0);
        }
    }
}
