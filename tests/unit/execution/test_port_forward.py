"""A forwarded port carries bytes both ways, and only those of its owner."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Iterator

import pytest

from stream2gym.cli.forward import find_mistakes, find_place
from stream2gym.clients import host_connector
from stream2gym.errors import BadInput
from stream2gym.execution import port_forward
from stream2gym.execution.port_forward import ForwardedPort, find_owner, listen_on
from stream2gym.hosts import supervisor_messages
from tests.unit.report.synthetic import plan

LINE = "   3: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 12345 1"


@pytest.fixture
def echo() -> Iterator[tuple[str, int]]:
    """A server that sends everything back, and ends when its client does."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                while data := client.recv(65536):
                    client.sendall(data)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_bytes_go_both_ways_and_the_end_does_too(echo: tuple[str, int]) -> None:
    said: list[str] = []
    listener = listen_on(None, 0)
    forwarded = ForwardedPort(listener, lambda: socket.create_connection(echo), said.append)
    with socket.create_connection(listener.getsockname()) as client:
        client.sendall(b"hello")
        client.shutdown(socket.SHUT_WR)
        assert client.makefile("rb").read() == b"hello"
    forwarded.close()
    assert said == []


def test_a_host_where_nobody_listens_is_told_and_the_client_sees_the_end() -> None:
    said: list[str] = []

    def refuse() -> socket.socket:
        raise ConnectionRefusedError("Connection refused")

    listener = listen_on(None, 0)
    forwarded = ForwardedPort(listener, refuse, said.append)
    with socket.create_connection(listener.getsockname()) as client:
        assert client.recv(10) == b""
    forwarded.close()
    assert said == ["no connection: Connection refused"]


def test_another_user_is_refused(echo: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(port_forward, "find_owner", lambda *_rest: 12345)
    listener = listen_on(None, 0)
    forwarded = ForwardedPort(listener, lambda: socket.create_connection(echo), said.append)
    with socket.create_connection(listener.getsockname()) as client:
        assert client.recv(10) == b""
    forwarded.close()
    assert said == ["a connection of another user was refused"]


@pytest.mark.skipif(
    os.geteuid() != 0 or not os.path.exists("/usr/bin/python3"), reason="root can start a program as another user"
)
def test_the_user_of_a_connection_is_known() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        script = f"import socket; socket.create_connection({listener.getsockname()!r}).recv(1)"
        with subprocess.Popen(["/usr/bin/python3", "-I", "-c", script], user=65534, group=65534) as process:
            client, _ = listener.accept()
            assert port_forward.is_from(client, {65534})
            assert not port_forward.is_from(client, {0, 1000})
            client.close()
            assert process.wait(10) == 0


def test_the_owner_is_that_of_the_other_end() -> None:
    table = (
        f"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n{LINE}\n"
    )
    assert find_owner(table, ("127.0.0.1", 8080), ("127.0.0.1", 40000)) == 1000
    assert find_owner(table, ("127.0.0.1", 40000), ("127.0.0.1", 8080)) is None


def test_a_port_that_is_taken_is_named_and_another_one_found_unless_it_was_asked_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with listen_on(None, port) as other:
            assert other.getsockname()[1] != port
        with pytest.raises(BadInput, match=f"--port {port}"):
            listen_on(port, port)


def test_the_connector_hands_over_connections_or_the_reason(echo: tuple[str, int]) -> None:
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=host_connector.serve, args=(theirs,), daemon=True)
    thread.start()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = unused.getsockname()
        supervisor_messages.send(ours, {"id": 1, "to": [nobody, echo]})
        received = supervisor_messages.receive(ours)
        assert received is not None
        assert received[0] == {"id": 1}
        with socket.socket(fileno=received[1][0]) as connection:
            connection.sendall(b"x")
            assert connection.recv(1) == b"x"
        supervisor_messages.send(ours, {"id": 2, "to": [nobody]})
        received = supervisor_messages.receive(ours)
        assert received == ({"id": 2, "error": "Connection refused"}, [])
    ours.close()
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    ("target", "is_kafka", "port", "words"),
    [
        (None, False, None, "nothing is named"),
        ("h3", False, None, "no HOST:PORT"),
        ("h3:99999", False, None, "no HOST:PORT"),
        ("h3:80", True, None, "too many"),
        ("h3:80", False, 70000, "no port"),
    ],
)
def test_wrong_words_are_told(target: str | None, is_kafka: bool, port: int | None, words: str) -> None:
    [mistake] = find_mistakes(target, is_kafka, port)
    assert words in str(mistake)


def test_a_target_is_a_host_or_a_component() -> None:
    made = plan("rides", 3)
    host = made.network.hosts[0]
    assert find_place(made, f"{host.name}:4040") == (host.name, host.address, 4040)
    part = made.components[0]
    assert find_place(made, f"{part.name}:80")[0] == part.host
    with pytest.raises(BadInput, match="no host and no component 'nowhere'"):
        find_place(made, "nowhere:80")
