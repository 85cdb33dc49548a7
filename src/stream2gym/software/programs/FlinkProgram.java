package stream2gym;

import java.io.FileInputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.apache.flink.client.deployment.executors.LocalExecutor;
import org.apache.flink.client.program.StreamContextEnvironment;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.GlobalConfiguration;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.core.execution.PipelineExecutor;
import org.apache.flink.core.execution.PipelineExecutorFactory;
import org.apache.flink.core.execution.PipelineExecutorServiceLoader;
import org.apache.flink.runtime.client.JobStatusMessage;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.minicluster.RpcServiceSharing;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.StatementSet;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.internal.TableEnvironmentInternal;
import org.apache.flink.table.operations.ModifyOperation;
import org.apache.flink.table.operations.Operation;
import org.apache.flink.table.operations.command.SetOperation;

/**
 * Runs a program of the user's as one Flink job: a file of SQL statements, or a Java class.
 *
 * <pre>
 * in    sql FILE            statements with their line numbers, each ended by a NUL character (see below)
 *       class NAME ARGS...  a class with a main method
 *       -Ds2g.mini=FOLDER   start a mini-cluster in this process, with the config.yaml of this folder; without it the
 *                           program runs in the environment that Flink's application mode has made
 *       -Ds2g.gate=PIPE     a named pipe: one byte in it lets the job start; everything before it is done meanwhile
 *       -Ds2g.name=NAME     the file of the statements as messages name it
 * out   standard error      "SQL error in NAME, line N (STATEMENT): REASON" for a statement that is not accepted
 * exit  0 the program has ended and its jobs have finished; 1 it has failed, with Flink's stack trace on standard error
 * </pre>
 *
 * A statement is written as its line number, a blank and its text. INSERT statements become one job.
 */
public final class FlinkProgram {
    private FlinkProgram() {}

    public static void main(String[] args) throws Throwable {
        String folder = System.getProperty("s2g.mini");
        if (folder == null) {
            run(args, false);
            return;
        }
        int code = 1;
        try {
            EarlyCluster cluster = EarlyCluster.of(GlobalConfiguration.loadConfiguration(folder));
            Thread starting = new Thread(cluster::startEarly, "mini-cluster");
            starting.start();
            ClassLoader loader = FlinkProgram.class.getClassLoader();
            Thread.currentThread().setContextClassLoader(loader);
            StreamContextEnvironment.setAsContext(
                    new OnCluster(cluster), cluster.configuration, loader, 1, 1, true, null, null, List.of());
            run(args, true);
            cluster.awaitJobs(loader);
            code = 0;
        } catch (Throwable error) {
            error.printStackTrace();
        }
        // The cluster is not closed: that may take seconds, and the results of the job are where they belong.
        System.err.flush();
        Runtime.getRuntime().halt(code);
    }

    private static void run(String[] args, boolean waits) throws Throwable {
        if (args[0].equals("sql")) {
            runStatements(Path.of(args[1]), waits);
            return;
        }
        Class<?> program = Class.forName(args[1], true, Thread.currentThread().getContextClassLoader());
        String[] rest = new String[args.length - 2];
        System.arraycopy(args, 2, rest, 0, rest.length);
        awaitGate();
        runClass(program, rest);
    }

    /** As Java does: the main method may have no arguments, and it may be that of an instance. */
    private static void runClass(Class<?> program, String[] arguments) throws Throwable {
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
            Constructor<?> make = program.getDeclaredConstructor();
            make.setAccessible(true);
            instance = make.newInstance();
        }
        try {
            main.invoke(instance, given);
        } catch (InvocationTargetException error) {
            throw error.getCause();
        }
    }

    private static void runStatements(Path file, boolean waits) throws Throwable {
        TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.newInstance().inStreamingMode().build());
        List<Statement> inserts = new ArrayList<>();
        for (Statement statement : Statement.read(file)) {
            try {
                List<Operation> parsed = ((TableEnvironmentInternal) tables).getParser().parse(statement.text);
                Operation operation = parsed.get(0);
                if (operation instanceof SetOperation) {
                    SetOperation set = (SetOperation) operation;
                    if (set.getKey().isPresent() && set.getValue().isPresent()) {
                        tables.getConfig().set(set.getKey().get().trim(), set.getValue().get().trim());
                    }
                } else if (operation instanceof ModifyOperation) {
                    // Plans it, so that what is wrong with it is known before the gate opens.
                    tables.explainSql(statement.text);
                    inserts.add(statement);
                } else {
                    tables.executeSql(statement.text);
                }
            } catch (Exception | LinkageError error) {
                System.err.println(statement.refusal(error));
                throw error;
            }
        }
        StatementSet job = tables.createStatementSet();
        for (Statement insert : inserts) {
            job.addInsertSql(insert.text);
        }
        awaitGate();
        TableResult result = job.execute();
        if (waits) {
            result.await();
        }
    }

    private static void awaitGate() throws Exception {
        String gate = System.getProperty("s2g.gate");
        if (gate != null) {
            try (FileInputStream pipe = new FileInputStream(gate)) {
                pipe.read();
            }
        }
    }

    /** One statement. Its text begins with as many line ends as there are lines before it in the user's file. */
    private static final class Statement {
        final int line;
        final String text;

        private Statement(int line, String own) {
            this.line = line;
            this.text = "\n".repeat(line - 1) + own;
        }

        static List<Statement> read(Path file) throws Exception {
            List<Statement> found = new ArrayList<>();
            for (String one : new String(Files.readAllBytes(file), StandardCharsets.UTF_8).split("\0")) {
                int blank = one.indexOf(' ');
                if (blank > 0) {
                    found.add(new Statement(Integer.parseInt(one.substring(0, blank)), one.substring(blank + 1)));
                }
            }
            return found;
        }

        /** What is wrong with it, in one line. Lines that Flink names are those of the user's file. */
        String refusal(Throwable error) {
            Throwable root = error;
            while (root.getCause() != null && root.getCause().getMessage() != null) {
                root = root.getCause();
            }
            String why = firstLine(error.getMessage());
            String deeper = firstLine(root.getMessage());
            if (!why.contains(deeper) && !deeper.contains("Encountered")) {
                why = why.isEmpty() ? deeper : why + " " + deeper;
            }
            String[] words = text.strip().split("\\s+");
            StringBuilder start = new StringBuilder(words[0]);
            for (int number = 1; number < Math.min(words.length, 3); number++) {
                start.append(' ').append(words[number]);
            }
            String name = System.getProperty("s2g.name", "the file");
            return "SQL error in " + name + ", line " + line + " (" + start + " ...): " + why;
        }

        private static String firstLine(String message) {
            return message == null ? "" : message.strip().split("\n")[0].strip();
        }
    }

    /** A mini-cluster that is started while the program is prepared, and that serves the one job of the program. */
    private static final class EarlyCluster extends MiniCluster {
        final Configuration configuration;

        private EarlyCluster(Configuration configuration, MiniClusterConfiguration cluster) {
            super(cluster);
            this.configuration = configuration;
        }

        static EarlyCluster of(Configuration configuration) {
            return new EarlyCluster(
                    configuration,
                    new MiniClusterConfiguration.Builder()
                            .setConfiguration(configuration)
                            .setNumTaskManagers(configuration.get(TaskManagerOptions.MINI_CLUSTER_NUM_TASK_MANAGERS))
                            .setNumSlotsPerTaskManager(configuration.get(TaskManagerOptions.NUM_TASK_SLOTS))
                            .setRpcServiceSharing(RpcServiceSharing.SHARED)
                            .build());
        }

        void startEarly() {
            try {
                start();
            } catch (Exception error) {
                error.printStackTrace();
                System.err.flush();
                Runtime.getRuntime().halt(1);
            }
        }

        @Override
        public synchronized void start() throws Exception {
            if (!isRunning()) {
                super.start();
            }
        }

        /** Waits for jobs that the program has started and has not waited for itself. */
        void awaitJobs(ClassLoader loader) throws Exception {
            Collection<JobStatusMessage> jobs;
            try {
                jobs = listJobs().get();
            } catch (IllegalStateException | ExecutionException ended) {
                return; // the cluster ends with the job that a program has waited for
            }
            for (JobStatusMessage job : jobs) {
                if (!job.getJobState().isGloballyTerminalState()) {
                    requestJobResult(job.getJobId()).get().toJobExecutionResult(loader);
                }
            }
        }
    }

    /** Hands jobs to the mini-cluster that runs already. */
    private static final class OnCluster implements PipelineExecutorServiceLoader, PipelineExecutorFactory {
        private final EarlyCluster cluster;

        OnCluster(EarlyCluster cluster) {
            this.cluster = cluster;
        }

        @Override
        public PipelineExecutorFactory getExecutorFactory(Configuration configuration) {
            return this;
        }

        @Override
        public Stream<String> getExecutorNames() {
            return Stream.of(getName());
        }

        @Override
        public String getName() {
            return "local";
        }

        @Override
        public boolean isCompatibleWith(Configuration configuration) {
            return true;
        }

        @Override
        public PipelineExecutor getExecutor(Configuration configuration) {
            return LocalExecutor.createWithFactory(configuration, ignored -> cluster);
        }
    }
}
