"""``topic``: the topics of a run that goes on, and their last messages, as the observer sees them."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from stream2gym.cli.arguments import add_json, add_run
from stream2gym.errors import BadInput, Mistake, StartFailed
from stream2gym.plan.planned import Plan
from stream2gym.record.folder import RunFolder

EXAMPLES = """\
examples:
  s2g topic list latest
  s2g topic tail latest orders           the last ten messages of each partition
  s2g topic tail latest orders -f        and those that come, until the run stops
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    parser.add_argument("do", choices=("list", "tail"), help="what to show")
    add_run(parser, nargs="?")
    parser.add_argument("topic", metavar="TOPIC", nargs="?", help="the topic to tail")
    parser.add_argument("-n", dest="last", type=int, default=10, metavar="N", help="messages of each partition (10)")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the run stops")
    add_json(parser, "one object for each message, or the list,")


def arrange(arguments: list[str]) -> list[str]:
    """The arguments with the options first, so that they may stand anywhere."""
    options: list[str] = []
    words: list[str] = []
    waiting = iter(arguments)
    for word in waiting:
        if word == "-n":
            options += [word, next(waiting, "")]
        else:
            (options if word.startswith("-") else words).append(word)
    return [*options, *words]


def run(args: argparse.Namespace) -> int:
    from stream2gym.execution.host_requests import explain_refusal, read_plan
    from stream2gym.record.folder import find_run

    if args.do == "tail" and not args.topic:
        raise BadInput(Mistake("topic tail", "no topic is named", "s2g topic tail RUN TOPIC"))
    if args.do == "list" and args.topic:
        raise BadInput(Mistake(args.topic, "one argument too many", "s2g topic list RUN"))
    if args.last < 0:
        raise BadInput(Mistake("-n", f"{args.last} is no number of messages", "0 or more"))
    folder = find_run(args.run)
    if not folder.is_running():
        raise BadInput(explain_refusal(folder))
    plan = read_plan(folder)
    words = ["list"] if args.do == "list" else ["tail", "--topic", args.topic, "--last", str(args.last)]
    words += ["--follow"] * args.follow + ["--json"] * (args.json and args.do == "tail")
    argv, host = make_command(plan, words)
    if args.do == "list":
        print("\n".join(show_topics(plan, ask_topics(folder, host, argv), as_json=args.json)))
        return 0
    return show_messages(args, folder, host, argv)


def make_command(plan: Plan, words: list[str]) -> tuple[list[str], str]:
    """The program that shows topics, and the host on which it runs."""
    from stream2gym.components.cluster import CLIENT_PORT
    from stream2gym.own_python import own_python

    addresses = {host.name: host.address for host in plan.network.hosts}
    brokers = [f"{addresses[one.host]}:{CLIENT_PORT}" for one in plan.components if one.kind == "broker"]
    if not brokers or plan.network.observer is None:
        raise BadInput(Mistake("", "this run has no brokers", "so it has no topics"))
    if any(one.kind == "broker" and one.type == "rabbitmq" for one in plan.components):
        what = "this run has queues of RabbitMQ, which nobody can look into without taking messages from them"
        raise BadInput(Mistake("", what, "s2g watch shows what consumers received"))
    argv = own_python("-m", "stream2gym.clients.topic_view", *words, "--bootstrap", ",".join(brokers))
    return argv, plan.network.observer.name


def ask_topics(folder: RunFolder, host: str, argv: list[str]) -> dict[str, list[dict[str, Any]]]:
    """The topics as the cluster tells them. StartFailed has its words if it does not."""
    from stream2gym.execution.host_requests import start_on_host

    null = os.open(os.devnull, os.O_RDWR)
    read, write = os.pipe()
    complaint_read, complaint_write = os.pipe()
    try:
        program = start_on_host(folder, host, argv, (null, write, complaint_write))
    finally:
        for fd in (null, write, complaint_write):
            os.close(fd)
    with os.fdopen(read, "rb") as output, os.fdopen(complaint_read, "rb") as complaint:
        told = output.read()
        code = program.wait()
        program.close()
        if code != 0:
            raise StartFailed(complaint.read().decode(errors="replace").strip() or "the run ended meanwhile")
    found: dict[str, list[dict[str, Any]]] = json.loads(told)
    return found


def show_topics(plan: Plan, topics: dict[str, list[dict[str, Any]]], *, as_json: bool) -> list[str]:
    """A line for each partition, with the names of brokers. Topics of Kafka's own are left out."""
    from stream2gym.components.cluster import name_nodes

    names = name_nodes(plan.components)
    topics = {name: partitions for name, partitions in sorted(topics.items()) if not name.startswith("__")}
    for partitions in topics.values():
        for one in partitions:
            one["leader"] = names.get(one["leader"], str(one["leader"]))
            for key in ("replicas", "in_sync"):
                one[key] = [names.get(node, str(node)) for node in one[key]]
    if as_json:
        return [json.dumps(topics, indent=1)]
    table = [("partition", "messages", "leader", "in sync")]
    for name, partitions in topics.items():
        for one in partitions:
            count = "?" if one["end"] is None else f"{one['end'] - one['start']:,}"
            in_sync = f"{len(one['in_sync'])} of {len(one['replicas'])}: {', '.join(one['in_sync'])}"
            table.append((f"{name}/{one['id']}", count, one["leader"], in_sync))
    widths = [max(len(row[column]) for row in table) for column in range(4)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def show_messages(args: argparse.Namespace, folder: RunFolder, host: str, argv: list[str]) -> int:
    """Let the program write to our output. The end of the run ends it without an error."""
    import signal

    from stream2gym.execution.host_requests import OVER, start_on_host

    args.interrupts.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    null = os.open(os.devnull, os.O_RDONLY)
    try:
        program = start_on_host(folder, host, argv, (null, 1, 2))
    finally:
        os.close(null)
    try:
        code = program.wait()
    except KeyboardInterrupt:
        return 130
    finally:
        program.close()
    return 0 if code in (OVER, 128 + signal.SIGKILL) and args.follow else code
