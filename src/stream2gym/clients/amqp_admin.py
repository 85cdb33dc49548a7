"""The admin client of RabbitMQ on the observer host: ``python -m stream2gym.clients.amqp_admin --bootstrap A:P,B:P``.

Requests and answers are lines of JSON, as with the admin client of Kafka (``clients.admin``). ``--bootstrap`` names
every node.

    op       request                                      answer
    brokers  timeout_s                                    {} once every node answers, and knows what another was told
    create   topics [{name, queues: [{name, via,          {"failed": {name: words}}: empty when all were made. ``via``
             arguments {}}]}]                             is the number of the node that is asked, which leads them
    queues   queues [{name, kind}], timeout_s,            {"queues": {name: {"ready", "consumers", "end"}}, "unknown":
             certain                                      {name: words}, "at_ns"}

``ready`` is the number of messages that a queue would give to the next consumer, ``consumers`` how many it has, and
``end`` the offset after the last message of a stream; ``kind`` is classic, quorum or stream. AMQP does not tell how
many messages are unacknowledged; without consumers none are. Every node is asked: nodes that were apart may know
different queues of one name. Of a quorum queue without a majority a node tells zeros. Therefore with ``certain`` a
queue without consumers is also asked for a message, which only a majority can answer; the message is put back.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer
from functools import partial
from typing import Any, NoReturn

from pika.exceptions import ChannelClosedByBroker

from stream2gym.clients.amqp_node import Node, NodeSilent, Refused
from stream2gym.clients.request_loop import answer_requests

Answer = dict[str, Any]
ASK_S = 5.0
PAUSE_S = 0.1
# How long the last chunk of a stream may take to come, how long it is read, and the pause after which no more comes.
STREAM_END_S = 1.0
STREAM_CHUNK_S = 0.5
STREAM_PAUSE_S = 0.1
MARK = "s2g-formation"


class Admin:
    """Answers requests. Each public method is named after an op, takes the request and returns the answer."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._nodes = [Node(address) for address in addresses]

    def brokers(self, request: Answer) -> Answer:
        """Wait until every node knows an exchange that the first one was told to make."""
        deadline = time.monotonic() + request["timeout_s"]
        while True:
            try:
                _result(self._nodes[0].ask(_make_mark))
                for node in self._nodes:
                    _result(node.ask(_look_for_mark))
                _result(self._nodes[0].ask(lambda channel: channel.exchange_delete(MARK)))
                return {}
            except (NodeSilent, Refused) as error:
                if time.monotonic() > deadline:
                    raise NodeSilent(f"waited {request['timeout_s']:g} s for all nodes: {error}") from error
            time.sleep(PAUSE_S)

    def create(self, request: Answer) -> Answer:
        failed = {}
        for topic in request["topics"]:
            try:
                name = topic["name"]
                _result(self._nodes[0].ask(partial(_make_exchange, name)))
                for queue in topic["queues"]:
                    _result(self._nodes[queue["via"]].ask(partial(_make_queue, name, queue)))
            except (NodeSilent, Refused) as error:
                failed[topic["name"]] = str(error)
        return {"failed": failed}

    def queues(self, request: Answer) -> Answer:
        wanted = request["queues"]
        certain = bool(request.get("certain"))
        at_ns = time.monotonic_ns()
        asked = [node.ask(lambda channel: look_at_queues(channel, wanted, certain=certain)) for node in self._nodes]
        told: list[dict[str, Answer] | str] = []
        deadline = time.monotonic() + min(ASK_S, request["timeout_s"])
        for answer in asked:
            try:
                told.append(_result(answer, deadline - time.monotonic()))
            except (NodeSilent, Refused) as error:
                told.append(str(error))
        found, unknown = combine_views(wanted, dict(zip((node.address for node in self._nodes), told, strict=True)))
        return {"queues": found, "unknown": unknown, "at_ns": at_ns}


def combine_views(
    wanted: Sequence[Mapping[str, str]], told: Mapping[str, Mapping[str, Answer] | str]
) -> tuple[dict[str, Answer], dict[str, str]]:
    """What all nodes together know of each queue, and why nobody knows the rest.

    ``told`` has for each node what it says of each queue, or why it says nothing. The messages of a classic queue or
    the end of a stream may be in the copy of a node that says nothing. A quorum queue that answers has a majority.
    """
    silent = {address: view for address, view in told.items() if isinstance(view, str)}
    views = {address: view for address, view in told.items() if not isinstance(view, str)}
    found: dict[str, Answer] = {}
    unknown: dict[str, str] = {}
    for queue in wanted:
        name = queue["name"]
        refused = {address: str(view[name]["error"]) for address, view in views.items() if "error" in view[name]}
        good = [view[name] for view in views.values() if "error" not in view[name]]
        missing = {**refused, **(silent if queue["kind"] != "quorum" or not good else {})}
        if missing:
            unknown[name] = "; ".join(f"{address}: {words}" for address, words in missing.items())
        else:
            found[name] = {key: max(view[key] for view in good) for key in ("ready", "consumers", "end")}
    return found, unknown


def look_at_queues(channel: Any, wanted: Sequence[Mapping[str, str]], *, certain: bool) -> dict[str, Answer]:
    """What one node says of each queue: its numbers, or the error."""
    return {
        queue["name"]: _look_at_queue(channel.connection, queue["name"], queue["kind"], certain) for queue in wanted
    }


def _look_at_queue(connection: Any, name: str, kind: str, certain: bool) -> Answer:
    # A question that is refused ends its channel.
    channel = connection.channel()
    try:
        told = channel.queue_declare(name, passive=True).method
        ready, consumers, end = told.message_count, told.consumer_count, 0
        if kind == "stream":
            ready, end = 0, _find_stream_end(channel, name)
        elif certain and not consumers:
            ready = max(ready, _count_one(channel, name))
            consumers = channel.queue_declare(name, passive=True).method.consumer_count
            ready = max(ready, _count_one(channel, name)) if not consumers else ready
        channel.close()
    except ChannelClosedByBroker as error:
        return {"error": error.reply_text}
    if kind == "stream" and told.message_count and not end:
        return {"error": f"it holds {told.message_count} messages, and gave none within {STREAM_END_S:g} s"}
    return {"ready": ready, "consumers": consumers, "end": end}


def _count_one(channel: Any, name: str) -> int:
    """1 if the queue has a message to give, which is put back; 0 if it is empty."""
    method, _, _ = channel.basic_get(name, auto_ack=False)
    if method is None:
        return 0
    channel.basic_nack(method.delivery_tag, requeue=True)
    return 1


def _find_stream_end(channel: Any, name: str) -> int:
    """The offset after the last message of a stream; 0: none came.

    Its last chunk is read, because the count of messages lags behind.

    Of a stream that is written to, the end is that of a moment ago.
    """
    channel.basic_qos(prefetch_count=1000)
    end = 0
    deadline = time.monotonic() + STREAM_END_S
    arguments = {"x-stream-offset": "last"}
    for method, properties, _ in channel.consume(name, arguments=arguments, inactivity_timeout=STREAM_PAUSE_S):
        if method is not None:
            if not end:
                deadline = time.monotonic() + STREAM_CHUNK_S
            end = int(properties.headers["x-stream-offset"]) + 1
            channel.basic_ack(method.delivery_tag)
        if (method is None and end) or time.monotonic() > deadline:
            break
    channel.cancel()
    return end


def _make_mark(channel: Any) -> None:
    channel.exchange_declare(MARK, "fanout", durable=False)


def _look_for_mark(channel: Any) -> None:
    channel.exchange_declare(MARK, passive=True)


def _make_exchange(name: str, channel: Any) -> None:
    channel.exchange_declare(name, "fanout", durable=True)


def _make_queue(topic: str, queue: Answer, channel: Any) -> None:
    channel.queue_declare(queue["name"], durable=True, arguments=queue["arguments"])
    channel.queue_bind(queue["name"], topic)


def _result(answer: Future[Any], timeout_s: float = ASK_S) -> Any:
    try:
        return answer.result(max(0.0, timeout_s))
    except NoAnswer as error:
        answer.cancel()
        raise NodeSilent("no answer in time") from error


def main() -> NoReturn:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    args = parser.parse_args()
    answer_requests(Admin(args.bootstrap.split(",")), lambda error: str(error) or type(error).__name__)


if __name__ == "__main__":
    main()
