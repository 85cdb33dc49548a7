"""Into a run that goes on: its topics, the packets of a link, a shell on a host, ports. All tests share one run."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import confluent_kafka
import kafka
import pytest

from stream2gym.record.events import read_events
from stream2gym.record.folder import RunFolder
from stream2gym.wait import wait_until
from tests.support.users import User, myself, with_software

LOAD_S = 180  # it is killed when the tests are done
STRANGER = 65533
FROM_THE_START = {"auto.offset.reset": "earliest", "enable.auto.commit": False}


@dataclass(frozen=True)
class Going:
    """A run that goes on, and its user."""

    user: User
    path: Path

    def call(self, command: str, *words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        return self.user.run(command, *words, timeout=timeout, cwd=self.path.parent)


@pytest.fixture(scope="module", params=["root", pytest.param("ordinary", marks=pytest.mark.long)])
def going(
    request: pytest.FixtureRequest, users: dict[str, User], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Going]:
    is_mine = request.param == "root" or users["ordinary"].uid is None
    user = myself() if is_mine else with_software(users["ordinary"])
    folder = tmp_path_factory.mktemp("into") if is_mine else Path(user.env["HOME"])
    path = folder / "into-run"
    words = ("run", "hello", "--time", f"{LOAD_S}s", "--no-report", "--out", str(path))
    with (
        (tmp_path_factory.mktemp("output") / "run.txt").open("w+") as output,
        user.popen(*words, stdout=output, stderr=output, cwd=folder) as process,
    ):
        try:
            wait_until(
                lambda: is_loaded(path) or process.poll() is not None, timeout_s=180, reason="the load to begin"
            )
            assert process.poll() is None, Path(output.name).read_text()
            time.sleep(1)
            yield Going(user, path)
        finally:
            process.kill()  # nobody needs its verdict, and everything of the run ends with it


def is_loaded(path: Path) -> bool:
    return (path / "run.json").is_file() and RunFolder.open(path).info["phase"] == "load"


def test_topics_are_listed_with_their_messages_and_leaders(going: Going) -> None:
    listed = going.call("topic", "list", str(going.path))
    assert listed.returncode == 0, listed.stderr
    rows = [line.split() for line in listed.stdout.splitlines()[1:]]
    assert [row[0] for row in rows] == ["greetings/0", "greetings/1"]
    assert all(int(row[1].replace(",", "")) > 0 and row[2] == "broker-h2" for row in rows)


def test_the_last_messages_of_a_topic_are_shown(going: Going) -> None:
    shown = going.call("topic", "tail", str(going.path), "greetings", "-n", "3", "--json")
    assert shown.returncode == 0, shown.stderr
    messages = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [one["partition"] for one in messages].count(0) >= 3
    assert all("s2g" in one["headers"] for one in messages)
    unknown = going.call("topic", "tail", str(going.path), "nosuch")
    assert unknown.returncode == 3
    assert "there is no topic 'nosuch'" in unknown.stderr


def test_a_topic_is_followed(going: Going) -> None:
    words = ("topic", "tail", str(going.path), "greetings", "-n", "0", "-f")
    with going.user.popen(*words, stdout=subprocess.PIPE, cwd=going.path.parent) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(50)]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert all(line.count(b"/") >= 1 for line in lines)


def test_the_packets_of_a_link_are_captured(going: Going) -> None:
    target = going.path.parent / "packets.pcap"
    done = going.call("capture", str(going.path), "s1 -- h1", "--for", "2s", "--out", str(target))
    assert done.returncode == 0, done.stderr
    data = target.read_bytes()
    assert struct.unpack_from("=I", data)[0] == 0xA1B23C4D
    at, addresses, ports = 24, set(), set()
    while at < len(data):
        size = struct.unpack_from("=I", data, at + 8)[0]
        packet = data[at + 16 : at + 16 + size]
        addresses |= {packet[12:16], packet[16:20]}
        ports |= set(struct.unpack_from(">HH", packet, 20))
        at += 16 + size
    assert at == len(data)
    assert addresses == {bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2))}
    assert 9092 in ports
    check_with_tshark(target)
    wrong = going.call("capture", str(going.path), "h1 -- s9", "--for", "soon")
    assert wrong.returncode == 2
    assert "no such link" in wrong.stderr
    assert "--for" in wrong.stderr


def check_with_tshark(capture: Path) -> None:
    """Where tshark is installed, it reads the capture to its end and finds Kafka's port in it."""
    if (tshark := shutil.which("tshark")) is None:
        return
    words = ["-r", str(capture), "-T", "fields", "-e", "ip.src", "-e", "ip.dst", "-e", "tcp.port"]
    read = subprocess.run([tshark, *words], capture_output=True, text=True, check=False, timeout=60)
    assert read.returncode == 0, read.stderr
    rows = [line.split("\t") for line in read.stdout.splitlines()]
    assert {address for row in rows for address in row[:2]} == {"10.0.0.1", "10.0.0.2"}
    assert all("9092" in row[2].split(",") for row in rows)


def test_a_command_runs_on_a_host_and_names_resolve(going: Going) -> None:
    script = "hostname; getent hosts h2; exit 7"
    done = going.call("shell", str(going.path), "h1", "--", "sh", "-c", script)
    assert done.returncode == 7, done.stderr
    # A component is found by its name, too.
    assert done.stdout.split() == ["h1", "10.0.0.2", "h2", "broker-h2"]
    assert going.call("shell", str(going.path), "h9", "--", "true").returncode == 2
    assert going.call("shell", str(going.path), "h1", "--", "no-such-program").returncode == 2


def test_an_interactive_shell_has_a_terminal_with_job_control(going: Going) -> None:
    """Ctrl-C ends what runs in the shell, and not the shell."""
    ours, theirs = pty.openpty()
    process = going.user.popen(
        "shell", str(going.path), "h1", stdin=theirs, stdout=theirs, stderr=theirs, cwd=going.path.parent,
        env={"SHELL": "/bin/sh", "PS1": "ready> ", "ENV": ""}, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        talk(ours, "", "ready>")
        talk(ours, "sleep 1000; echo slept\n", "sleep 1000")
        time.sleep(1)
        assert "slept" not in talk(ours, "\x03", "ready>").replace("echo slept", "")
        assert "on h1" in talk(ours, "echo on $(hostname)\n", "on h1")
        os.write(ours, b"exit 5\n")
        assert process.wait(20) == 5
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def talk(fd: int, typed: str, until: str) -> str:
    os.write(fd, typed.encode())
    seen, deadline = "", time.monotonic() + 20
    while until not in seen:
        assert time.monotonic() < deadline, seen
        if select.select([fd], [], [], 0.2)[0]:
            seen += os.read(fd, 65536).decode(errors="replace")
    return seen


@contextmanager
def forwarded(going: Going, *words: str) -> Iterator[list[str]]:
    """What ``forward`` says first, while it forwards. Ctrl-C ends it without an error."""
    with going.user.popen(
        "forward", str(going.path), *words, stdout=subprocess.PIPE, cwd=going.path.parent, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline().decode()]
            while not lines[-1].startswith("bootstrap") and "until" not in lines[-1] and lines[-1]:
                lines.append(process.stdout.readline().decode())
            yield lines
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_a_port_of_a_host_is_reached_from_outside(going: Going) -> None:
    serve = ("shell", str(going.path), "h1", "--", "/usr/bin/python3", "-m", "http.server", "4040")
    with going.user.popen(*serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            with forwarded(going, "h1:4040") as lines:
                [line] = lines
                address = line.split()[0]
                assert line == f"{address} is port 4040 of h1, until Ctrl-C or the end of the run\n"
                wait_until(lambda: is_served(address), timeout_s=30, reason="the page of the host")
        finally:
            server.kill()
    wrong = going.call("forward", str(going.path), "h9:4040")
    assert wrong.returncode == 2
    assert "no host and no component 'h9'" in wrong.stderr


def is_served(address: str, words: bytes = b"Directory listing") -> bool:
    try:
        return words in urllib.request.urlopen(f"http://{address}/", timeout=10).read()
    except OSError:
        return False


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_page_of_spark_is_reached_from_outside(tmp_path: Path) -> None:
    user, path = myself(), tmp_path / "run"
    switch = "engines.split.config.spark.ui.enabled=true"
    words = ("run", "word-count", "--set", switch, "--time", "180s", "--no-report", "--out", str(path))
    with user.popen(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path) as process:
        try:
            wait_until(
                lambda: is_loaded(path) or process.poll() is not None, timeout_s=240, reason="the load to begin"
            )
            with forwarded(Going(user, path), "split:4040") as [line]:
                address = line.split()[0]
                wait_until(lambda: is_served(address, b"Spark"), timeout_s=120, reason="the page of Spark")
        finally:
            process.kill()  # nobody needs its verdict, and everything of the run ends with it


def test_clients_outside_find_the_brokers_at_the_forwarded_addresses(going: Going) -> None:
    """Two client libraries, each with its own idea of Kafka's protocol."""
    with forwarded(going, "--kafka") as lines:
        servers = lines[-1].strip().removeprefix("bootstrap.servers=")
        consumer = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": "outside", **FROM_THE_START})
        assert {f"{one.host}:{one.port}" for one in consumer.list_topics(timeout=20).brokers.values()} == {servers}
        consumer.subscribe(["greetings"])
        assert len(consumer.consume(20, 30)) == 20, "groups work, too"
        consumer.close()
        other = kafka.KafkaConsumer(
            "greetings", bootstrap_servers=servers, auto_offset_reset="earliest", consumer_timeout_ms=30_000
        )
        assert len(list(islice(other, 20))) == 20
        other.close()


THREE_BROKERS = """
s2g: 1
name: three
topology: {kind: star, hosts: 4, latency: 1 ms}
brokers: [{on: h1}, {on: h2}, {on: h3}]
topics: [{name: in, partitions: 3, replicas: 3}]
producers: [{name: gen, on: h4, topic: in, rate: 1/s}]
time: 180 s
"""


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_transaction_of_a_client_outside_reaches_every_broker(tmp_path: Path) -> None:
    user, path = myself(), tmp_path / "run"
    (tmp_path / "three.yaml").write_text(THREE_BROKERS)
    words = ("run", "three.yaml", "--no-report", "--out", str(path))
    with user.popen(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path) as process:
        try:
            wait_until(
                lambda: is_loaded(path) or process.poll() is not None, timeout_s=240, reason="the load to begin"
            )
            with forwarded(Going(user, path), "--kafka", "--port", "29292") as lines:
                servers = lines[-1].strip().removeprefix("bootstrap.servers=")
                assert servers == "127.0.0.1:29292,127.0.0.1:29293,127.0.0.1:29294"
                producer = confluent_kafka.Producer({"bootstrap.servers": servers, "transactional.id": "outside"})
                producer.init_transactions(60)
                producer.begin_transaction()
                for number in range(300):
                    producer.produce("in", b"from outside", partition=number % 3)
                producer.commit_transaction(60)
                consumer = confluent_kafka.Consumer(
                    {"bootstrap.servers": servers, "group.id": "outside", **FROM_THE_START}
                )
                leaders = {one.leader for one in consumer.list_topics("in", 20).topics["in"].partitions.values()}
                assert leaders == {1, 2, 3}, "each broker has a part of it"
                consumer.subscribe(["in"])
                seen: list[int | None] = []
                deadline = time.monotonic() + 60
                while len(seen) < 300 and time.monotonic() < deadline:
                    found = consumer.consume(100, 1)
                    seen += [one.partition() for one in found if one.value() == b"from outside"]
                assert {number: seen.count(number) for number in range(3)} == {0: 100, 1: 100, 2: 100}
                consumer.close()
        finally:
            process.kill()  # nobody needs its verdict, and everything of the run ends with it


def test_other_users_are_refused(going: Going) -> None:
    """They may read the folder of the run here, and still cannot enter it, nor use what its owner forwards."""
    if going.user.uid is None:
        pytest.skip("the folder of this run cannot be read by others")
    stranger = replace(going.user, uid=STRANGER)
    asked = (
        ["shell", "h1", "--", "true"], ["topic", "list"], ["capture", "h1 -- s1"], ["forward", "h1:80"],
        ["job", "list"], ["job", "stop", "listener"], ["fault", "list"],
    )  # fmt: skip
    for words in asked:
        run = [str(going.path)]
        command = [words[0], "list", *run] if words[0] == "topic" else [words[0], *run, *words[1:]]
        refused = stranger.run(*command, timeout=60, cwd="/tmp")
        assert refused.returncode == 2, refused.stderr
        assert "answers its owner" in refused.stderr
    with forwarded(going, "h2:9092") as [line]:
        host, port = line.split()[0].split(":")
        script = f"import socket; print(socket.create_connection(({host!r}, {port})).recv(1))"
        told = subprocess.run(
            ["/usr/bin/python3", "-I", "-c", script], user=STRANGER, group=STRANGER, capture_output=True, check=True
        )
        assert told.stdout == b"b''\n", "the connection is closed at once"


def test_what_was_done_by_hand_is_on_record(going: Going) -> None:
    events = list(read_events(going.path / "events.jsonl", 0))
    by_hand = [event["event"] for event in events if str(event["event"]).endswith("by-hand")]
    assert by_hand.count("capture-by-hand") == 1
    assert by_hand.count("command-by-hand") >= 4
    assert by_hand.count("forward-by-hand") >= 2
