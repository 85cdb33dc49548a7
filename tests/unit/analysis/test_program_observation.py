"""Which programs count as observed, why others do not, and what observed ones read."""

from __future__ import annotations

from typing import Any

import pytest

from stream2gym.analysis.program_observation import (
    describe_blind_spots,
    find_blind_spots,
    find_read_topics,
    names_of_unobserved,
)
from stream2gym.spec.model import Consumer, Engine, Producer

LOADED = {"event": "recorder-loaded", "component": "own", "instance": 1}
CLIENT = {"event": "observed", "component": "own", "instance": 1, "role": "producer"}


def producer(**keys: Any) -> Producer:
    return Producer.model_validate({"name": "own", "type": "CUSTOM", "app": "own.py", **keys})


def test_a_program_whose_instances_used_a_known_library_is_observed() -> None:
    assert find_blind_spots(producer(), [LOADED, CLIENT]) == ()


@pytest.mark.parametrize(
    ("keys", "events", "why"),
    [
        ({"observe": False}, [], "the experiment says observe: false; to observe it, leave that out"),
        ({"app": "own.sh"}, [], "it is no Python program"),
        ({}, [], "the recorder was not loaded; to observe it, start Python without -I, -E and -S"),
        ({}, [LOADED], "it used none of confluent-kafka, kafka-python or aiokafka"),
        ({"instances": 2}, [LOADED, CLIENT], "the recorder was not loaded"),
        (
            {},
            [
                LOADED,
                CLIENT,
                {"event": "unobserved", "component": "own", "what": "kafka-python 9", "why": "not known"},
            ],
            "kafka-python 9 (not known)",
        ),
    ],
)
def test_a_blind_spot_is_named_with_what_would_change_it(keys: dict[str, Any], events: list[Any], why: str) -> None:
    (found,) = find_blind_spots(producer(**keys), events)
    assert str(found).startswith(why)


@pytest.mark.parametrize("app", ["own.sh", "own.py"])
def test_a_program_in_any_language_is_observed_where_its_packets_were_decoded(app: str) -> None:
    part = producer(app=app, observe="wire")
    assert find_blind_spots(part, [LOADED, CLIENT]) == ()
    (found,) = find_blind_spots(part, [])
    assert str(found) == "its packets were not decoded"
    lost = {"event": "unobserved", "component": "own", "what": "", "why": "packets that were not captured in time"}
    (found,) = find_blind_spots(part, [LOADED, CLIENT, lost])
    assert str(found) == "packets that were not captured in time"


def test_notes_of_other_programs_say_nothing_about_this_one() -> None:
    other = [{**event, "component": "other"} for event in (LOADED, CLIENT)]
    assert find_blind_spots(producer(), other)


def test_a_program_under_a_python_of_its_own_can_be_observed() -> None:
    part = Consumer.model_validate({"name": "own", "type": "CUSTOM", "app": "own", "python": "python3.9"})
    assert find_blind_spots(part, [LOADED, CLIENT]) == ()


def test_programs_with_the_same_blind_spot_are_named_together() -> None:
    why = find_blind_spots(producer(observe=False), [])
    (note,) = describe_blind_spots({"own": why, "mine": why, "seen": ()})
    assert note == "own, mine are not observed: the experiment says observe: false; to observe it, leave that out"
    assert names_of_unobserved(note) == ["own", "mine"]
    assert names_of_unobserved("own wrote to in unobserved") == []


def test_groups_and_topics_are_those_that_a_program_used() -> None:
    who: dict[str, Any] = {"component": "own", "group": "g"}
    events: list[dict[str, Any]] = [
        {"event": "observed", "role": "consumer", "start": "latest", **who},
        {"event": "subscribed", "topics": ["in"], **who},
        {"event": "subscribed", "topics": ["^x.*"], **who},
        {"event": "assigned", "partitions": [["x1", 0, -1001], ["in", 0, -2]], **who},
        {"event": "assigned", "partitions": [["mine", 0, 5]], "component": "see", "group": "g"},
    ]
    assert find_read_topics(events, ["in", "x1"]) == {"own": {("g", "in"): False, ("g", "x1"): True}}


def engine(**keys: Any) -> Engine:
    return Engine.model_validate({"name": "own", "app": "job.py", **keys})


def test_an_engine_is_observed_on_request_and_it_is_said_how() -> None:
    (found,) = find_blind_spots(engine(), [])
    assert str(found) == "what it sends and fetches is recorded on request only; to observe it, say observe: wire"
    assert find_blind_spots(engine(observe="wire"), [LOADED, {**CLIENT, "role": "engine"}]) == ()
    (found,) = find_blind_spots(engine(observe="wire"), [])
    assert str(found) == "its packets were not decoded"
    lost = {"event": "unobserved", "component": "own", "instance": 2, "why": "packets that were not captured in time"}
    (found,) = find_blind_spots(engine(observe="wire"), [LOADED, CLIENT, lost])
    assert str(found) == "packets that were not captured in time"


def test_what_serves_an_engine_has_nothing_to_observe() -> None:
    assert find_blind_spots(Engine.model_validate({"name": "own", "type": "spark-master"}), []) == ()
