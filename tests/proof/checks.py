"""What the record of each case must show. Every count is made twice: from the tables, and by the analysis."""

from __future__ import annotations

import json
from collections import Counter

from tests.proof.case import Claims, Seen

SITES, CUT_SITE = 10, "radio-8"
LATE_NS = 1_000_000_000


def _common(seen: Seen, claims: Claims, producer: str, topic: str, group: str) -> set[int]:
    """What holds in every case; gives back what was lost."""
    record = seen.record
    lost = record.lost(producer, topic, group)
    claims.numbers["lost"] = len(lost)
    wanted = {"producer": producer, "topic": topic, "group": group}
    claims.equal(f"lost by {group}, by the audit", seen.audited("lost", **wanted), len(lost))
    claims.equal(f"in flight to {group}", seen.audited("in_flight", **wanted), 0)
    doubled, again = record.twice_in_log(topic, group), record.read_again(topic, group)
    claims.numbers |= {"doubled": doubled, "redelivered": again}
    claims.equal("doubled in the log, by the audit", seen.audited("duplicated_in_log", **wanted), doubled)
    claims.equal("redelivered, by the audit", seen.audited("redelivered", **wanted), again)
    return lost


def _log_adds_up(seen: Seen, claims: Claims, producer: str, topic: str, group: str) -> None:
    """Acknowledged - lost + arrived without an answer + copies = the places that Kafka says its log has."""
    record = seen.record
    refused = set(record.got(topic, group)) - record.acked(producer)
    doubled = record.twice_in_log(topic, group)
    kept = len(record.acked(producer)) - len(record.lost(producer, topic, group))
    places = kept + len(refused) + doubled
    claims.equal("places in Kafka's log", places, record.in_log(topic))
    claims.numbers["kafka holds"] = record.in_log(topic)


def nothing_lost(seen: Seen, claims: Claims) -> None:
    """Acknowledged by all: every message is there, at the very place that was acknowledged."""
    lost = _common(seen, claims, "gen", "in", "g")
    claims.equal("lost", len(lost), 0)
    claims.equal("went with a leader", _cut_off(seen), 0)
    claims.equal("not at its place", len(seen.record.replaced("gen", "in", "g")), 0)
    claims.equal("places read", len(seen.record.places("in", "g")), seen.record.in_log("in"))
    _log_adds_up(seen, claims, "gen", "in", "g")
    silences = [event["silent_s"] for event in seen.record.told("monitor-works-again") if event["monitor"] == "lag"]
    claims.that(max(silences, default=0) < 5, f"one broker of three blinds the lag for {silences} s")


def unreplicated_lost(seen: Seen, claims: Claims) -> None:
    """The leader alone had acknowledged: what it took with it is gone, exactly that."""
    lost = _common(seen, claims, "gen", "in", "g")
    claims.that(len(lost) > 0, "nothing was lost")
    claims.equal(
        "at no place of the log, or at another message's",
        len(seen.record.replaced("gen", "in", "g")),
        len(lost),
    )
    claims.equal("places read", len(seen.record.places("in", "g")), seen.record.in_log("in"))
    _log_adds_up(seen, claims, "gen", "in", "g")
    claims.that(_attributed(seen, "dead") > 0, "no loss was attributed to the kill")
    claims.equal("went with a leader", _cut_off(seen), len(lost))


def _cut_off(seen: Seen) -> int:
    analysis = seen.result.analysis
    return 0 if analysis is None else sum(row.messages for row in analysis.cut_off)


def _attributed(seen: Seen, fault: str) -> int:
    analysis = seen.result.analysis
    return 0 if analysis is None else sum(row.lost for row in analysis.recovery if row.fault == fault)


def unconfirmed_lost(seen: Seen, claims: Claims) -> None:
    """Sent without asking: lost, and told apart from the acknowledged ones beside them, which are not."""
    lost = _common(seen, claims, "sure", "in", "g")
    claims.equal("acknowledged and lost", len(lost), 0)
    record = seen.record
    sent, got = record.sent_as("unconfirmed", "blind"), set(record.got("dark", "g"))
    gone = sent - got
    claims.numbers["unconfirmed lost"] = len(gone)
    claims.that(len(gone) > 0, "no unconfirmed message was lost")
    claims.equal("acknowledged by nobody", len(record.acked("blind")), 0)
    claims.equal(
        "unconfirmed lost, by the audit", seen.audited("unconfirmed_lost", topic="dark", group="g"), len(gone)
    )
    claims.equal("lost among the unconfirmed, by the audit", seen.audited("lost", topic="dark", group="g"), 0)
    places = len(sent) - len(gone) + len(got - sent) + record.twice_in_log("dark", "g")
    claims.equal("places in Kafka's log", places, record.in_log("dark"))


def truncated(seen: Seen, claims: Claims) -> None:
    """A replica that was behind became leader: what it did not have is cut off, found by who reads later."""
    record = seen.record
    lost = record.lost("gen", "in", "late")
    claims.equal("went with a leader", _cut_off(seen), len(lost))
    claims.numbers["lost"] = len(lost)
    claims.that(len(lost) > 0, "nothing was lost")
    claims.equal("lost by late, by the audit", seen.audited("lost", group="late"), len(lost))
    claims.equal("places read by late", len(record.places("in", "late")), record.in_log("in"))
    _log_adds_up(seen, claims, "gen", "in", "late")
    ghosts = lost & set(record.got("in", "live"))
    claims.numbers["seen before the cut"] = len(ghosts)
    claims.equal(
        "lost by live, by the audit",
        seen.audited("lost", group="live"),
        len(record.lost("gen", "in", "live")),
    )


def lost_answers(seen: Seen, claims: Claims) -> None:
    """Answers get lost, messages are sent again: twice in the log, but not from an idempotent producer."""
    record = seen.record
    for producer, topic in (("careful", "once"), ("careless", "plain")):
        lost = _common(seen, claims, producer, topic, "g")
        claims.equal(f"lost of {topic}", len(lost), 0)
        _log_adds_up(seen, claims, producer, topic, "g")
    claims.that(record.twice_in_log("plain", "g") > 0, "nothing was doubled without idempotence")
    claims.equal("doubled with idempotence", record.twice_in_log("once", "g"), 0)


def killed_consumers(seen: Seen, claims: Claims) -> None:
    """Committed before it is handled: at most once. Committed after: at least once."""
    record = seen.record
    again = record.read_again("in", "careful")
    claims.equal("lost by careful", len(record.lost("gen", "in", "careful")), 0)
    claims.equal("lost by careful, by the audit", seen.audited("lost", group="careful"), 0)
    claims.that(again > 0, "nothing was read again after the kill before a commit")
    claims.equal("redelivered, by the audit", seen.audited("redelivered", group="careful"), again)
    missed = _common(seen, claims, "gen", "in", "hasty")
    claims.numbers |= {"redelivered": again}
    claims.that(len(missed) > 0, "nothing was missed after the kill after a commit")
    claims.equal("read again by hasty", record.read_again("in", "hasty"), 0)
    holes = record.in_log("in") - len(record.places("in", "hasty"))
    claims.equal("places of the log that hasty never read", holes, len(missed))


def _fates(seen: Seen) -> dict[tuple[str, str], Counter[str]]:
    """What became of every radio's messages at every desk, from the tables."""
    first: dict[tuple[str, str, int], int] = {}
    for row in seen.record.received:
        key = (row["group"], row["producer"], row["seq"])
        first[key] = min(row["at_ns"], first.get(key, row["at_ns"]))
    desks = sorted({group for group, _, _ in first})
    found: dict[tuple[str, str], Counter[str]] = {}
    for row in seen.record.sent:
        for desk in desks:
            counts = found.setdefault((row["producer"], desk), Counter())
            at_ns = first.get((desk, row["producer"], row["seq"]))
            if at_ns is not None:
                counts["late" if at_ns - row["due_ns"] > LATE_NS else "in time"] += 1
            else:
                counts["lost" if row["status"] == "acked" else "given up"] += 1
    return found


def _sites(seen: Seen, claims: Claims) -> dict[tuple[str, str], Counter[str]]:
    """The matrix of radios and desks; the audit must say the same of each cell."""
    fates = _fates(seen)
    claims.equal("cells of the matrix", len(fates), SITES * SITES)
    for (radio, desk), counts in fates.items():
        lost = seen.audited("lost", producer=radio, group=desk)
        claims.equal(f"lost from {radio} to {desk}, by the audit", lost, counts["lost"])
    sums = sum(fates.values(), Counter())
    names = ("in time", "late", "lost")
    claims.numbers |= {"lost": sums["lost"]} | {f"deliveries {name}": sums[name] for name in names[:2]}
    claims.numbers |= {f"from site 8 {n}": sum(c[n] for (r, _), c in fates.items() if r == CUT_SITE) for n in names}
    claims.that(sums["late"] > 0, "nothing of the site that was cut off came late")
    return fates


def late_not_lost(seen: Seen, claims: Claims) -> None:
    """The site that was cut off sends and gets everything later, and nobody loses anything."""
    fates = _sites(seen, claims)
    claims.equal("lost", sum(counts["lost"] for counts in fates.values()), 0)


def lost_everywhere(seen: Seen, claims: Claims) -> None:
    """What the broker of the site that was cut off acknowledged alone is lost to every other site."""
    fates = _sites(seen, claims)
    for (radio, desk), counts in fates.items():
        others = radio != CUT_SITE
        claims.that(others or counts["lost"] > 0, f"nothing from {radio} was lost to {desk}")
        claims.that(not others or not counts["lost"], f"{counts['lost']} messages from {radio} were lost to {desk}")


def _rows_before_the_kill(seen: Seen, claims: Claims) -> int:
    """Rows of the batch that was written and never came to its checkpoint."""
    said = [event for event in seen.record.told("program") if event["name"] == "output-without-checkpoint"]
    killed = [event for event in said if event["t_s"] < seen.record.faults.from_s]
    claims.equal("kills between output and checkpoint", len(killed), 1)
    return sum(int(event["details"]["rows"]) for event in killed)


def doubled_results(seen: Seen, claims: Claims) -> None:
    """Output written, checkpoint not: the batch comes again, all of it and nothing else."""
    record = seen.record
    results = record.got("out", "g")
    acked = record.acked("gen")
    missing, doubled = acked - set(results), len(results) - len(set(results))
    claims.numbers |= {"lost": len(missing), "doubled": doubled}
    stuck = _rows_before_the_kill(seen, claims)
    claims.equal("results missing", len(missing), 0)
    claims.equal("results doubled", doubled, stuck)
    claims.equal("places in Kafka's log of results", len(record.places("out", "g")), record.in_log("out"))
    analysis = seen.result.analysis
    (trace,) = () if analysis is None else analysis.traces
    claims.equal("results missing, by the analysis", trace.missing, len(missing))
    claims.equal("results doubled, by the analysis", trace.doubled, doubled)


def rows_once(seen: Seen, claims: Claims) -> None:
    """The same batch written twice: twice in a table without keys, once in the one with."""
    record = seen.record
    tables = {}
    for name in ("keyed", "plain"):
        path = record.path / "work" / "dump" / "tables" / f"db.{name}.jsonl"
        tables[name] = [json.loads(line)["id"] for line in path.read_text("utf-8").splitlines()]
    wanted = {f"gen:{seq}" for seq in record.acked("gen")}
    stuck = _rows_before_the_kill(seen, claims)
    for name, rows in tables.items():
        claims.equal(f"rows missing in {name}", len(wanted - set(rows)), 0)
    doubled = {name: len(rows) - len(set(rows)) for name, rows in tables.items()}
    claims.numbers |= {"lost": len(wanted - set(tables["keyed"])), "doubled": doubled["keyed"]}
    claims.numbers["doubled without keys"] = doubled["plain"]
    claims.equal("rows doubled with keys", doubled["keyed"], 0)
    claims.equal("rows doubled without keys", doubled["plain"], stuck)


def sunk_once(seen: Seen, claims: Claims) -> None:
    """Every acknowledged message is one row. How many commits came late is chance: about one cut in four hits one."""
    record = seen.record
    audits = record.told("audited")
    claims.equal("audits of tables", len(audits), 1)
    for audit in audits:
        claims.equal("rows expected", audit["expected"], len(record.acked("gen")))
        claims.equal("rows present", audit["present"], audit["expected"])
        claims.equal("rows missing", audit["missing"], 0)
        claims.equal("rows doubled", audit["doubled"], 0)
        claims.numbers |= {"lost": audit["missing"], "doubled": audit["doubled"]}
    claims.numbers["commits that came late"] = len(record.told("late-commit"))
