"""The table: what is done to a Kafka cluster under load, and what must be shown of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.proof import checks
from tests.proof.case import Case, Keys
from tests.proof.programs import LOOK, TO_STORE, TO_TOPIC
from tests.proof.scene import PARTITIONS, SAFE, consumer, experiment, fault, producer


def harmless(name: str, does: str, hurts: tuple[str, ...], *faults: Keys) -> Case:
    """Acknowledged by all replicas: nothing may be lost."""
    return Case(
        name, does, "acks=all: 0 acknowledged messages lost", experiment(faults=list(faults)),
        checks.nothing_lost, hurts,
    )  # fmt: skip


LEADER, CUT_OFF = "leader of in/0", [["h1"], ["h2", "h3"]]
SAFE_CASES = (
    harmless("leader-killed", "the leader of a partition is killed for 5 s", ("leader",),
             fault("dead", "kill", 5, 5, on=LEADER)),
    harmless("leader-paused", "the leader of a partition stands still for 6 s", ("leader",),
             fault("frozen", "pause", 5, 6, on=LEADER)),
    harmless("leader-isolated", "the leader's host is cut off for 6 s", ("leader",),
             fault("alone", "isolate", 5, 6, on=LEADER)),
    harmless("link-flaps", "a broker's link is down every other second, for 6 s", ("latency", "leader", "isr"),
             fault("flapping", "flap", 5, 6, on="h1 -- s1", period="2 s")),
    harmless("loss", "every link loses 5 % for 6 s", ("latency",),
             fault("lossy", "degrade", 5, 6, on="* -- s1", loss="5 %")),
    harmless("one-way", "a broker hears the others, they do not hear it, for 6 s", ("leader", "isr"),
             fault("oneway", "partition", 5, 6, groups=CUT_OFF, one_way=True)),
    harmless("minority", "brokers split two to one for 6 s; clients reach all", ("leader", "isr"),
             fault("split", "partition", 5, 6, on=["h1", "h2", "h3"], shape="majority")),
    harmless("controller-killed", "the active controller is killed for 5 s", ("controller",),
             fault("headless", "kill", 5, 5, on="controller")),
    harmless("rolling-restart", "one broker after the other is restarted orderly", ("leader",),
             *(fault(f"roll-{n}", "restart", at, on=f"broker-h{n}", orderly=True)
               for n, at in ((1, 3), (2, 8), (3, 13)))),
    harmless("disk-full", "a follower's disk is full for 4 s", ("isr",),
             fault("full", "disk-full", 5, 4, on="follower of in/0")),
    harmless("switch-dies", "the switch that joins all is off for 3 s", ("latency", "leader"),
             fault("dark", "switch-down", 5, 3, on="s1")),
    harmless("coordinator-killed", "the coordinator of the consumers' group is killed for 5 s", ("leader",),
             fault("no-coordinator", "kill", 5, 5, on="coordinator of g")),
)  # fmt: skip

UNREPLICATED = Case(
    "acks-1", "acks=1: the leader is cut off from its followers, then killed",
    "acknowledged loss > 0, exactly what Kafka's offsets lack",
    experiment(
        topics=[{"name": "in", "partitions": PARTITIONS, "replicas": 3, "leader": "h1"}],
        producers=[producer("gen", "in", acks=1, idempotence=False)],
        faults=[fault("cut", "partition", 5, groups=CUT_OFF), fault("dead", "kill", 7, on="broker-h1")],
    ),
    checks.unreplicated_lost, ("leader",), verdict="fail", quick=True,
)  # fmt: skip

UNCONFIRMED = Case(
    "acks-0", "acks=0 into a broker that is cut off for 6 s, beside a producer with acks=all",
    "unconfirmed loss > 0, told apart from the acknowledged: 0 lost",
    experiment(
        topics=[{"name": "in", "partitions": PARTITIONS, "replicas": 3, "config": SAFE},
                {"name": "dark", "partitions": PARTITIONS, "replicas": 3, "leader": "h1"}],
        producers=[producer("sure", "in"), producer("blind", "dark", acks=0, idempotence=False)],
        consumers=[consumer("see", ["in", "dark"], "g")],
        faults=[fault("cut", "partition", 5, 6, groups=[["h1"], ["h2", "h3", "h4", "h5"]])],
        expect=["lost == 0", "unconfirmed_lost == 0"],
    ),
    checks.unconfirmed_lost, ("leader",), verdict="fail", producer="sure",
)  # fmt: skip

UNCLEAN = Case(
    "unclean", "unclean election: the follower falls behind, the leader dies, the follower leads",
    "truncation found as loss, exactly what Kafka's offsets lack",
    experiment(
        brokers=[{"on": "h1"}, {"on": "h2"}, {"on": "h3", "controller": "only"}],
        topics=[{"name": "in", "partitions": PARTITIONS, "replicas": 2, "leader": "h1",
                 "config": {"min.insync.replicas": 1, "unclean.leader.election.enable": True}}],
        consumers=[consumer("see", ["in"], "live"), consumer("read", ["in"], "late", session_timeout="45 s")],
        faults=[fault("behind", "partition", 4, 13, groups=[["h1"], ["h2"]]),
                fault("asleep", "pause", 4.5, 17, on="read"),
                fault("dead", "kill", 15, 5, on="broker-h1")],
        time="27 s",
    ),
    checks.truncated, ("leader",), verdict="fail",
)  # fmt: skip

HASTY = {"socket.timeout.ms": 1000, "request.timeout.ms": 1000}
LOST_ANSWERS = Case(
    "lost-answers", "acknowledgements are lost for 3 s; one producer idempotent, one not",
    "duplicates without idempotence, none with it",
    experiment(
        brokers=[{"on": "h1"}],
        topics=[{"name": name, "partitions": PARTITIONS} for name in ("plain", "once")],
        producers=[producer("careless", "plain", HASTY, idempotence=False),
                   producer("careful", "once", HASTY, idempotence=True)],
        consumers=[consumer("see", ["plain", "once"], "g")],
        faults=[fault("deaf", "partition", 5, 3, groups=[["h1"], ["h4"]], one_way=True)],
        expect=["lost == 0", "duplicated_in_log(topic=plain) == 0", "duplicated_in_log(topic=once) == 0"],
        time="14 s",
    ),
    checks.lost_answers, ("latency",), verdict="fail", producer="careless",
)  # fmt: skip

KILLED_CONSUMERS = Case(
    "consumers-killed", "consumers are killed: one commits before it handles, one after",
    "before: messages unseen (at most once); after: read again (at least once)",
    experiment(
        brokers=[{"on": "h1"}],
        topics=[{"name": "in", "partitions": PARTITIONS}],
        consumers=[
            consumer("rash", ["in"], "hasty", commit="before", work="0.4 ms", session_timeout="6 s"),
            consumer("wary", ["in"], "careful", on="h2", session_timeout="6 s"),
        ],
        # What waits after a pause keeps the consumer in the middle of a batch when it is killed.
        faults=[fault("asleep", "pause", 4, 3, on="rash"),
                fault("dead", "kill", 7.5, 1, on=["rash", "wary"])],
        expect=["lost(group=careful) == 0", "lost(group=hasty) == 0"],
        time="16 s",
    ),
    checks.killed_consumers, ("group",), verdict="fail",
)  # fmt: skip


def spark_killed(**changes: Any) -> Keys:
    """One broker, a Spark job that hangs between its output and its checkpoint, and is killed there."""
    return experiment(
        brokers=[{"on": "h1"}],
        engines=[{"name": "job", "on": "h3", "app": "job.py", "master": "local[2]"}],
        faults=[fault("dead", "kill", 25, 1, on="job")],
        time="40 s", drain="180 s",
    ) | changes  # fmt: skip


TO_KAFKA = Case(
    "spark-to-kafka", "a Spark job from topic to topic is killed before its checkpoint, and restarted",
    "results doubled, as many as the batch had; none lost",
    spark_killed(
        topics=[{"name": name, "partitions": PARTITIONS} for name in ("in", "out")],
        consumers=[consumer("see", ["out"], "g")],
        trace=[{"from": "in", "to": "out", "by": "header"}],
        expect=["results_missing == 0", "results_doubled == 0"],
    ),
    checks.doubled_results, ("engine",), verdict="fail", programs={"job.py": TO_TOPIC},
)  # fmt: skip
TO_TABLE = Case(
    "spark-to-store", "a Spark job into a store is killed before its checkpoint, and restarted",
    "exactly once in the table with keys; doubled in the one without",
    spark_killed(
        topics=[{"name": "in", "partitions": PARTITIONS}],
        stores=[{"name": "db", "on": "h2", "type": "MySQL",
                 "tables": ["CREATE TABLE keyed (id VARCHAR(40) PRIMARY KEY)",
                            "CREATE TABLE plain (id VARCHAR(40))"]}],
        consumers=[],
        checks=[{"name": "rows", "app": "look.py", "tables": ["db.keyed", "db.plain"]}],
        expect=["mismatches(check=rows) == 0"],
    ),
    checks.rows_once, ("engine",), programs={"job.py": TO_STORE, "look.py": LOOK},
)  # fmt: skip

SINK_CUT = Case(
    "sink-cut", "what a sink says does not reach its store for 7 s, again and again; it reconnects each time",
    "every row once in a table without keys, also where a commit arrives after the reconnect",
    experiment(
        brokers=[{"on": "h1"}],
        topics=[{"name": "in", "partitions": PARTITIONS}],
        stores=[{"name": "db", "on": "h2", "type": "MySQL"}],
        sinks=[{"name": "into", "on": "h3", "topics": ["in"], "store": "db", "answer_timeout": "2 s"}],
        consumers=[],
        faults=[fault("cut", "partition", 4, 7, groups=[["h3"], ["h2"]], one_way=True, every="14 s")],
        expect=["rows_missing == 0", "rows_doubled == 0"],
        time="105 s", drain="120 s",
    ),
    checks.sunk_once, ("store",),
)  # fmt: skip

SITE_CUT = Path(__file__).resolve().parents[2] / "examples" / "military-coordination" / "site-cut.yaml"
BUSY = {
    f"producers.radio-{site}.{key}": value
    for site in range(1, 11)
    for key, value in (("rate", "100/s"), ("messages", "3000"))
}
LATE_SITE = Case(
    "site-cut", "ten sites, one with a broker: its link is down for 12 s; acks=all",
    "by site: what it sends and gets is late, nothing is lost",
    SITE_CUT, checks.late_not_lost, ("leader",), producer="", settings=BUSY,
)  # fmt: skip
LOST_SITE = Case(
    "site-cut-acks-1", "the same, and the radio of that site asks for one acknowledgement only",
    "by site: what it sent to its own broker meanwhile is lost everywhere",
    SITE_CUT, checks.lost_everywhere, ("leader",), verdict="fail", producer="",
    settings=BUSY | {"producers.radio-8.acks": "1"},
)  # fmt: skip

CASES = (
    *SAFE_CASES, UNREPLICATED, UNCONFIRMED, UNCLEAN, LOST_ANSWERS, KILLED_CONSUMERS, TO_KAFKA, TO_TABLE,
    SINK_CUT,
    LATE_SITE, LOST_SITE,
)  # fmt: skip
