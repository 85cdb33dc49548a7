"""Placement: policies, constraints, and contradictions that are named."""

from __future__ import annotations

import itertools
import random
import time

import pytest

from stream2gym.errors import BadInput
from stream2gym.plan.placement import PlacementProblem, Rule, place_components

HOSTS = ("h1", "h2", "h3")


def problem(*components: str, **changes: object) -> PlacementProblem:
    return PlacementProblem(**{"components": components, "fixed": {}, "hosts": HOSTS, **changes})  # type: ignore[arg-type]


def test_round_robin_takes_hosts_in_turn() -> None:
    assert place_components(problem("a", "b", "c", "d")) == {"a": "h1", "b": "h2", "c": "h3", "d": "h1"}


def test_random_depends_on_the_seed_only() -> None:
    names = [f"c{n}" for n in range(30)]
    first, again, other = (place_components(problem(*names, policy="random", seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert set(first.values()) == set(HOSTS)


def test_least_loaded_counts_what_is_given_and_how_many_processes_it_has() -> None:
    placed = place_components(
        problem("a", "b", "c", fixed={"a": "h1"}, weight={"a": 3, "b": 2}, policy="least-loaded")
    )
    assert placed == {"a": "h1", "b": "h2", "c": "h3"}


def test_nearest_goes_where_its_clients_are() -> None:
    line = {host: place_ for place_, host in enumerate(HOSTS)}
    placed = place_components(
        problem(
            "broker", "p1", "p2", "c1",
            fixed={"p1": "h3", "p2": "h3", "c1": "h2"},
            peers={"p1": ("broker",), "p2": ("broker",), "c1": ("broker",)},
            distance=lambda a, b: abs(line[a] - line[b]),
            policy="nearest",
        )
    )  # fmt: skip
    assert placed["broker"] == "h3"


def test_central_takes_the_middle_and_so_does_nearest_while_nobody_stands() -> None:
    line = {host: number for number, host in enumerate(HOSTS)}
    for policy in ("central", "nearest"):
        placed = place_components(problem("a", distance=lambda a, b: abs(line[a] - line[b]), policy=policy))
        assert placed == {"a": "h2"}


def test_colocate_joins_exlocate_parts_and_isolate_keeps_alone() -> None:
    placed = place_components(
        problem(
            "broker-1", "broker-2", "job", "store", "gen",
            hosts=("h1", "h2", "h3", "h4"),
            rules=(
                Rule("exlocate", ("broker-*",)), Rule("colocate", ("job", "store")), Rule("isolate", ("gen",)),
            ),
        )
    )  # fmt: skip
    assert placed["broker-1"] != placed["broker-2"]
    assert placed["job"] == placed["store"]
    assert [name for name, host in placed.items() if host == placed["gen"]] == ["gen"]


def test_given_placements_stay_also_on_hosts_that_are_not_offered() -> None:
    placed = place_components(problem("a", "b", fixed={"a": "h9"}, rules=(Rule("colocate", ("a", "b")),)))
    assert placed == {"a": "h9", "b": "h9"}


def test_a_contradiction_names_the_smallest_set_and_nothing_else() -> None:
    rules = (
        Rule("colocate", ("x", "y")),
        Rule("exlocate", ("b-*",)),
        Rule("isolate", ("x",)),
        Rule("colocate", ("b-1", "y")),
    )
    with pytest.raises(BadInput) as caught:
        place_components(problem("b-1", "b-2", "x", "y", fixed={"b-2": "h1"}, rules=rules))
    text = str(caught.value)
    assert "colocate [x, y]" in text
    assert "isolate [x]" in text
    assert "exlocate" not in text
    assert "b-2 is given" not in text


def test_too_few_hosts_and_given_placements_that_clash_are_contradictions_too() -> None:
    with pytest.raises(BadInput, match=r"on 3 hosts \(h1, h2, h3\): exlocate \[b\*\]"):
        place_components(problem("b1", "b2", "b3", "b4", rules=(Rule("exlocate", ("b*",)),)))
    with pytest.raises(BadInput, match="b1 is given on h1; b2 is given on h1"):
        place_components(
            problem("b1", "b2", "b3", fixed={"b1": "h1", "b2": "h1"}, rules=(Rule("exlocate", ("b1", "b2")),))
        )


def test_a_pattern_that_matches_nobody_is_a_mistake_with_a_hint() -> None:
    with pytest.raises(BadInput, match="did you mean 'broker-1'"):
        place_components(problem("broker-1", "gen", rules=(Rule("isolate", ("brokr-1",)),)))


@pytest.mark.parametrize("seed", range(80))
def test_the_search_finds_a_placement_exactly_when_there_is_one(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"c{n}" for n in range(rng.randint(1, 5))]
    hosts = tuple(f"h{n}" for n in range(rng.randint(1, 3)))
    kinds = ("colocate", "exlocate", "isolate")
    rules = tuple(
        Rule(rng.choice(kinds), tuple(rng.sample(names, rng.randint(1, len(names)))))  # type: ignore[arg-type]
        for _ in range(rng.randint(0, 3))
    )
    fixed = {name: rng.choice(hosts) for name in names if rng.random() < 0.3}

    def holds(where: dict[str, str]) -> bool:
        def same(rule: Rule) -> bool:
            members = [where[name] for name in rule.members(names)]
            if rule.kind == "colocate":
                return len(set(members)) == 1
            if rule.kind == "exlocate":
                return len(set(members)) == len(members)
            return all(list(where.values()).count(host) == 1 for host in members)

        return all(map(same, rules)) and all(where[name] == host for name, host in fixed.items())

    possible = any(
        holds(dict(zip(names, choice, strict=True))) for choice in itertools.product(hosts, repeat=len(names))
    )
    policy = rng.choice(["round-robin", "random", "least-loaded", "nearest", "central"])
    asked = problem(*names, hosts=hosts, rules=rules, fixed=fixed, policy=policy, seed=seed)
    if possible:
        assert holds(place_components(asked))
    else:
        with pytest.raises(BadInput, match="cannot hold together"):
            place_components(asked)


def test_large_sets_are_decided_quickly_both_ways() -> None:
    names = [f"b{n}" for n in range(200)]
    rules = (Rule("exlocate", ("b*",)),)
    started = time.monotonic()
    enough = place_components(problem(*names, hosts=tuple(f"h{n}" for n in range(200)), rules=rules))
    assert len(set(enough.values())) == 200
    with pytest.raises(BadInput, match="cannot hold together"):
        place_components(problem(*names, hosts=tuple(f"h{n}" for n in range(199)), rules=rules))
    assert time.monotonic() - started < 3
