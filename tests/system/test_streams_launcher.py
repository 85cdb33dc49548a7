"""The launcher of Kafka Streams programs on a real Java, with programs that only say what Kafka Streams would say."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from stream2gym.software.cache import Cache
from stream2gym.software.java import find_java
from stream2gym.software.java_compiler import compile_java
from stream2gym.software.streams_software import LAUNCHER, LAUNCHER_SOURCE

TALKS = """
public class Talks {
    public static void main(String[] words) throws Exception {
        for (String state : words) {
            System.err.println("12:00 [INFO] org.apache.kafka.streams.KafkaStreams - stream-client [a] "
                + "State transition from CREATED to " + state);
        }
        System.out.println("done");
        Thread.ofPlatform().daemon(false).start(() -> {
            try { Thread.sleep(300); } catch (InterruptedException e) { }
            System.out.println("later");
        });
    }
}
"""
# A client registers several MBeans of this type, of which one has the name of the application.
MEASURES = """
import java.lang.management.ManagementFactory;
import java.util.Map;
import javax.management.*;
public class Measures {
    public static void main(String[] words) throws Exception {
        for (int number = 0; number < 40; number++) {
            Map<String, Object> values = number == 20 ? Map.of("application-id", "words") : Map.of("state", "UP");
            ObjectName name = new ObjectName("kafka.streams:type=stream-metrics,client-id=words-" + number);
            ManagementFactory.getPlatformMBeanServer().registerMBean(new Values(values), name);
        }
        ObjectName thread = new ObjectName("kafka.streams:type=stream-thread-metrics,thread-id=1");
        ManagementFactory.getPlatformMBeanServer().registerMBean(new Values(Map.of("process-total", 7.0)), thread);
        Thread.sleep(1500);
    }
    record Values(Map<String, Object> values) implements DynamicMBean {
        public Object getAttribute(String name) throws AttributeNotFoundException {
            if (!values.containsKey(name)) { throw new AttributeNotFoundException(name); }
            return values.get(name);
        }
        public void setAttribute(Attribute attribute) { }
        public AttributeList getAttributes(String[] names) { return new AttributeList(); }
        public AttributeList setAttributes(AttributeList attributes) { return attributes; }
        public Object invoke(String action, Object[] arguments, String[] signature) { return null; }
        public MBeanInfo getMBeanInfo() { return new MBeanInfo("Values", "", null, null, null, null); }
    }
}
"""
# Java 25 starts it, too: no class is declared, and its main method is that of an instance.
COMPACT = 'void main() { throw new IllegalStateException("as it likes"); }'


def run(folder: Path, name: str, text: str, *words: str, gate: str = "") -> subprocess.CompletedProcess[str]:
    source = folder / f"{name}.java"
    source.write_text(text)
    cache = Cache.here()
    jar = compile_java(source, (), cache=cache)
    launcher = compile_java(LAUNCHER_SOURCE, (), cache=cache)
    try:
        return subprocess.run(
            [find_java().java, "-cp", f"{launcher}:{jar}", LAUNCHER, name, *words],
            env=os.environ | {"S2G_GATE": gate}, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    finally:
        jar.unlink()


def reports(output: str) -> list[str]:
    lines = [line for line in output.splitlines() if line.startswith("S2G ")]
    return [json.loads(line[4:])["kstreams"]["state"] for line in lines]


def test_every_state_is_reported_and_the_program_ends_when_its_last_thread_has(tmp_path: Path) -> None:
    done = run(tmp_path, "Talks", TALKS, "REBALANCING", "RUNNING")
    assert done.returncode == 0
    assert reports(done.stdout) == ["REBALANCING", "RUNNING"]
    assert done.stdout.splitlines()[-1] == "later"
    assert done.stderr.count("State transition") == 2, "the log is passed on"


@pytest.mark.parametrize("last", ["PENDING_ERROR", "ERROR"])
def test_a_program_whose_streams_had_failed_when_it_ended_has_not_ended_well(tmp_path: Path, last: str) -> None:
    done = run(tmp_path, "Talks", TALKS, "RUNNING", last)
    assert done.returncode == 1
    assert reports(done.stdout)[-1] == last
    assert "later" in done.stdout


def test_an_exception_of_the_program_is_its_own(tmp_path: Path) -> None:
    if find_java().major < 25:
        pytest.skip("this Java knows no such programs")
    done = run(tmp_path, "Compact", COMPACT)
    assert done.returncode == 1
    assert 'Exception in thread "main" java.lang.IllegalStateException: as it likes' in done.stderr


def test_the_name_of_the_application_is_found_whichever_measurement_has_it(tmp_path: Path) -> None:
    done = run(tmp_path, "Measures", MEASURES)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line[4:])["kstreams"] for line in done.stdout.splitlines() if line.startswith("S2G ")]
    numbers = [one for one in told if "numbers" in one]
    assert numbers
    assert numbers[-1]["numbers"]["processed"] == 7.0
    assert numbers[-1]["application"] == "words"


def test_the_program_waits_at_the_gate(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    held = os.open(gate, os.O_RDWR)
    try:
        os.write(held, b"\n")
        assert "done" in run(tmp_path, "Talks", TALKS, gate=str(gate)).stdout
        os.set_blocking(held, False)
        with pytest.raises(BlockingIOError):
            os.read(held, 1)
    finally:
        os.close(held)
