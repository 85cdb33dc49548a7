"""The clients of RabbitMQ behind the calls of Kafka's library, against a connection that the test holds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.clients import amqp_consumer, amqp_producer
from stream2gym.clients.amqp_types import NO_OFFSET


class FakeChannel:
    """Writes down what is called, and calls back when the test says so."""

    def __init__(self) -> None:
        self.published: list[bytes] = []
        self.acknowledged: list[int] = []
        self.consumed: dict[str, Any] = {}
        self.arguments: dict[str, Any] = {}
        self.answers: Any = None
        self.is_open = True

    def confirm_delivery(self, answers: Any, callback: Any) -> None:
        self.answers = answers
        callback(None)

    def basic_publish(self, exchange: str, key: str, body: bytes, properties: Any) -> None:
        self.published.append(body)
        self.last = (exchange, key, properties.headers)

    def basic_qos(self, prefetch_count: int, callback: Any) -> None:
        callback(None)

    def basic_consume(self, queue: str, on_message: Any, arguments: Any, callback: Any) -> None:
        self.consumed[queue] = on_message
        self.arguments[queue] = arguments
        callback(None)

    def add_on_cancel_callback(self, callback: Any) -> None:
        self.cancel = callback

    def basic_ack(self, tag: int, multiple: bool) -> None:
        self.acknowledged.append(tag)

    def close(self) -> None:
        self.is_open = False


class FakeConnection:
    """In the place of ``AmqpConnection``."""

    def __init__(self, addresses: Any, name: str, *, on_channel: Any, on_lost: Any, **_: Any) -> None:
        self.on_channel = on_channel
        self.on_lost = on_lost
        self.channel: Any = None

    def open(self) -> FakeChannel:
        self.channel = FakeChannel()
        self.on_channel(self.channel)
        return self.channel  # type: ignore[no-any-return]

    def lose(self) -> None:
        self.channel = None
        self.on_lost()

    def poll(self, timeout_s: float) -> None:
        """Nothing comes."""

    def unsent_bytes(self) -> int:
        return 0


@pytest.fixture(autouse=True)
def connections(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (amqp_producer, amqp_consumer):
        monkeypatch.setattr(module, "AmqpConnection", FakeConnection)


def make_producer(acks: Any = "all") -> Any:
    return amqp_producer.AmqpProducer({"bootstrap.servers": "a:1,b:1", "acks": acks, "topics": ("t",)})


def answer(tag: int, *, multiple: bool = False, name: str = "Basic.Ack") -> Any:
    return SimpleNamespace(method=SimpleNamespace(delivery_tag=tag, multiple=multiple, NAME=name))


def produce(producer: Any, *bodies: bytes) -> list[tuple[bytes, Any]]:
    reports: list[tuple[bytes, Any]] = []
    for body in bodies:
        producer.produce("t", body, b"k", headers=[("s2g", b"gen:1")],
                         on_delivery=lambda error, _, body=body: reports.append((body, error)))  # fmt: skip
    return reports


def test_a_message_is_reported_when_the_broker_acknowledged_it() -> None:
    producer = make_producer()
    channel = producer._connection.open()
    reports = produce(producer, b"1", b"2", b"3")
    assert channel.published == [b"1", b"2", b"3"]
    assert channel.last == ("t", "k", {"s2g": "gen:1"})
    assert reports == []
    channel.answers(answer(2, multiple=True))
    assert reports == [(b"1", None), (b"2", None)]
    assert len(producer) == 1


def test_a_message_that_the_broker_refused_has_failed() -> None:
    producer = make_producer()
    channel = producer._connection.open()
    reports = produce(producer, b"1")
    channel.answers(answer(1, name="Basic.Nack"))
    [(_, error)] = reports
    assert error.name() == "NACK"
    assert not error.fatal()


def test_what_was_not_acknowledged_is_published_again_on_the_next_connection_in_order() -> None:
    producer = make_producer()
    first = producer._connection.open()
    reports = produce(producer, b"1", b"2")
    first.answers(answer(1))
    producer._connection.lose()
    reports += produce(producer, b"3")
    second = producer._connection.open()
    assert second.published == [b"2", b"3"]
    second.answers(answer(2, multiple=True))
    assert len(producer) == 0


def test_an_answer_of_an_earlier_connection_is_not_taken_for_one_of_this() -> None:
    producer = make_producer()
    producer._connection.open()
    produce(producer, b"1", b"2")
    producer._connection.lose()
    channel = producer._connection.open()
    channel.answers(answer(1))
    assert [message.body for message in producer._open.values()] == [b"2"]


def test_without_acknowledgements_a_message_is_done_when_it_was_handed_over() -> None:
    producer = make_producer(acks=0)
    reports = produce(producer, b"1")
    producer.poll(0)
    assert reports == [], "there is no connection yet"
    producer._connection.open()
    producer.poll(0)
    assert reports == [(b"1", None)]


def test_too_many_open_messages_make_the_producer_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amqp_producer, "MOST_OPEN", 2)
    producer = make_producer()
    producer._connection.open()
    produce(producer, b"1", b"2")
    with pytest.raises(BufferError):
        produce(producer, b"3")


def make_consumer(**streams: Any) -> tuple[Any, list[tuple[str, Any]]]:
    queues = {topic: topic for topic in streams} or {"t": "t.g"}
    consumer = amqp_consumer.AmqpConsumer(
        {"bootstrap.servers": "a:1", "queues": queues, "streams": streams, "prefetch_count": 10}
    )
    told: list[tuple[str, Any]] = []
    consumer.subscribe(
        list(queues),
        on_assign=lambda _, places: told.append(("assigned", [(p.topic, p.offset) for p in places])),
        on_revoke=lambda _, places: told.append(("revoked", [p.topic for p in places])),
    )
    return consumer, told


def deliver(channel: FakeChannel, queue: str, tag: int, **headers: Any) -> None:
    method = SimpleNamespace(delivery_tag=tag, routing_key="key-1")
    channel.consumed[queue](channel, method, SimpleNamespace(headers=headers), b"x")


def test_a_message_of_a_queue_has_no_offset() -> None:
    consumer, told = make_consumer()
    channel = consumer._connection.open()
    assert told == [("assigned", [("t", NO_OFFSET)])]
    deliver(channel, "t.g", 1, s2g="gen:7", number=3)
    message = consumer.poll(0)
    assert (message.topic(), message.partition(), message.offset()) == ("t", 0, NO_OFFSET)
    assert message.offset() + 1 < 0, "no position either"
    assert (message.key(), message.headers(), message.timestamp()) == (b"key-1", [("s2g", b"gen:7")], (0, -1))


def test_everything_that_was_handed_out_is_acknowledged_and_nothing_else() -> None:
    consumer, _ = make_consumer()
    channel = consumer._connection.open()
    for tag in range(1, 5):
        deliver(channel, "t.g", tag)
    batch = [consumer.poll(0), *consumer.consume(2, 0)]
    assert len(batch) == 3
    consumer.commit([])
    consumer.store_offsets([])
    assert channel.acknowledged == [3]


def test_what_an_earlier_connection_handed_out_is_not_acknowledged_on_this() -> None:
    consumer, told = make_consumer()
    channel = consumer._connection.open()
    deliver(channel, "t.g", 1)
    deliver(channel, "t.g", 2)
    consumer.poll(0)
    consumer._connection.lose()
    channel = consumer._connection.open()
    consumer.commit([])
    assert channel.acknowledged == []
    assert consumer.poll(0) is None, "the broker gives the second one again"
    assert [what for what, _ in told] == ["assigned", "revoked", "assigned"]


def test_a_stream_is_read_on_from_the_next_offset() -> None:
    consumer, told = make_consumer(log="first")
    channel = consumer._connection.open()
    assert channel.arguments["log"] == {"x-stream-offset": "first"}
    deliver(channel, "log", 1, **{"x-stream-offset": 41})
    deliver(channel, "log", 2, **{"x-stream-offset": 42})
    assert consumer.poll(0).offset() == 41
    consumer._connection.lose()
    assert consumer._connection.open().arguments["log"] == {"x-stream-offset": 42}
    assert told[-1] == ("assigned", [("log", 42)])


def test_a_queue_that_the_broker_takes_away_is_asked_for_again() -> None:
    consumer, _ = make_consumer()
    channel = consumer._connection.open()
    channel.cancel(SimpleNamespace(method=SimpleNamespace(consumer_tag="c")))
    assert not channel.is_open
