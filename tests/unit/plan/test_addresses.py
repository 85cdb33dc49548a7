"""Addresses, interfaces and ports."""

from __future__ import annotations

import random
from ipaddress import ip_address

from stream2gym.plan.addresses import OBSERVER_ADDRESS, assign_addresses, interface_names, number_ports


def named(*names: str) -> list[tuple[str, str | None]]:
    return [(name, None) for name in names]


def test_a_numbered_host_has_its_number_as_address_whatever_the_order() -> None:
    addresses, mistakes = assign_addresses(named("h10", "h2", "h1", "h254"))
    assert mistakes == []
    assert addresses == {"h10": "10.0.0.10", "h2": "10.0.0.2", "h1": "10.0.0.1", "h254": "10.0.0.254"}


def test_numbers_beyond_a_block_go_on_in_the_next_one() -> None:
    addresses, _ = assign_addresses(named("h255", "h508", "h509", "h1000"))
    assert addresses == {"h255": "10.0.1.1", "h508": "10.0.1.254", "h509": "10.0.2.1", "h1000": "10.0.3.238"}


def test_other_names_get_the_lowest_address_left_in_document_order() -> None:
    addresses, _ = assign_addresses(named("sensor", "h2", "db", "h01"))
    assert addresses == {"h2": "10.0.0.2", "sensor": "10.0.0.1", "db": "10.0.0.3", "h01": "10.0.0.4"}


def test_a_given_address_wins_and_the_loser_moves_on() -> None:
    addresses, mistakes = assign_addresses([("db", "10.0.0.1"), ("h1", None), ("h2", None)])
    assert mistakes == []
    assert addresses == {"db": "10.0.0.1", "h2": "10.0.0.2", "h1": "10.0.0.3"}


def test_addresses_that_cannot_be_are_all_reported() -> None:
    given = ["10.0.0.5", "10.0.0.5", "192.168.0.1", "ten", "10.0.0.0", "10.255.255.255", OBSERVER_ADDRESS]
    _, mistakes = assign_addresses([(f"h{n}", address) for n, address in enumerate(given, 1)])
    assert [mistake.where for mistake in mistakes] == [f"host h{n}" for n in range(2, 8)]
    assert "given to h1 too" in mistakes[0].what


def test_thousands_of_hosts_of_any_name_never_share_an_address() -> None:
    rng = random.Random(4)
    names = [f"h{n}" for n in rng.sample(range(1, 100_000), 2000)]
    names += [f"node-{n}" for n in range(2000)] + ["h99999999", "h0"]
    given = {name: f"10.0.0.{n}" for n, name in enumerate(rng.sample(names, 200), 1)}
    addresses, mistakes = assign_addresses([(name, given.get(name)) for name in names])
    assert mistakes == []
    assert set(addresses) == set(names)
    assert len(set(addresses.values())) == len(names)
    assert OBSERVER_ADDRESS not in addresses.values()
    assert all(str(ip_address(address)).startswith("10.") for address in addresses.values())


def test_interfaces_are_named_as_published_and_fit_the_kernel() -> None:
    hosts = [
        ("h1", 1),
        ("h2", 3),
        *((f"warehouse-frankfurt-{n}", 1) for n in range(30)),
        ("warehouse--eth1", 1),
    ]
    names = interface_names(hosts)
    assert names["h1"] == "h1-eth1"
    assert names["h2"] == "h2-eth3"
    assert max(map(len, names.values())) <= 15
    assert len(set(names.values())) == len(hosts)


def test_ports_that_are_given_win_and_the_rest_counts_from_one() -> None:
    ports, warnings = number_ports(
        [("s1", None, "h1", None), ("s1", 1, "h2", None), ("s1", None, "h3", 7), ("s1", None, "h1", None)]
    )
    assert ports == [(2, 1), (1, 1), (3, 7), (4, 2)]
    assert warnings == []


def test_a_port_given_twice_is_said_and_replaced() -> None:
    ports, warnings = number_ports([("s1", 1, "h1", 1), ("s1", 1, "h2", 0)])
    assert ports == [(1, 1), (2, 1)]
    assert len(warnings) == 2
