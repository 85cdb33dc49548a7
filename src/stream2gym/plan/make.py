"""From experiment and seed to plan: the one place that puts addresses, placement and paths together. Pure."""

from __future__ import annotations

from stream2gym.errors import BadInput, Mistake
from stream2gym.plan import warnings
from stream2gym.plan.cast import Member, choose_voters, conversations, make_cast
from stream2gym.plan.model import Plan, PlannedComponent
from stream2gym.plan.network import plan_network
from stream2gym.plan.paths import Ways, pairs_of_interest
from stream2gym.plan.placement import Kind, Problem, Rule, place
from stream2gym.plan.schedule import make_schedule
from stream2gym.spec.model import Experiment, Placement
from stream2gym.spec.places import did_you_mean
from stream2gym.spec.running import not_runnable


def make_plan(experiment: Experiment, *, seed: int | None = None) -> Plan:
    """Decide everything that a run does; BadInput with every mistake when it cannot be done."""
    chosen_seed = experiment.seed if seed is None else seed
    network, mistakes, notes = plan_network(experiment.topology, chosen_seed)
    cast, more = make_cast(experiment)
    rules, wrong = _rules(experiment.placement, [host.name for host in experiment.topology.hosts])
    if network is None or mistakes or more or wrong:
        raise BadInput([*mistakes, *more, *wrong])
    ways = Ways(network)
    components = _place(cast, ways, experiment.placement, rules, chosen_seed)
    faults, clashes, about_faults = make_schedule(experiment, components, chosen_seed)
    if clashes:
        raise BadInput(clashes)
    voters, about_voters = choose_voters(cast, experiment.kafka.voters)
    pairs, left_out = pairs_of_interest(network, components)
    paths = tuple(ways.view(*pair) for pair in pairs)
    return Plan(
        name=experiment.name,
        seed=chosen_seed,
        load_s=float(experiment.time),
        network=network,
        components=components,
        paths=paths,
        unreachable=tuple((view.source, view.target) for view in paths if not view.nodes),
        warnings=(
            *notes,
            *warnings.about_network(network),
            *warnings.about_paths(ways, paths),
            *_about_load(ways, cast, components),
            *about_voters,
            *about_faults,
        ),
        not_runnable=tuple(not_runnable(experiment)),
        voters=voters,
        startup=experiment.startup,
        pairs_left_out=left_out,
        faults=faults,
    )


def _rules(placement: Placement, hosts: list[str]) -> tuple[tuple[Rule, ...], list[Mistake]]:
    mistakes = [
        Mistake("placement, hosts", f"there is no host {name!r}", did_you_mean(name, hosts))
        for name in placement.hosts
        if name not in hosts
    ]
    rules = []
    kinds: tuple[Kind, ...] = ("colocate", "exlocate", "isolate")
    for number, constraint in enumerate(placement.constraints, 1):
        said = [(kind, patterns) for kind in kinds if (patterns := getattr(constraint, kind)) is not None]
        if len(said) == 1:
            rules.append(Rule(said[0][0], tuple(said[0][1])))
        else:
            hint = "write one of colocate, exlocate, isolate"
            what = "says nothing" if not said else f"says {' and '.join(kind for kind, _ in said)} at once"
            mistakes.append(Mistake(f"placement, constraint {number}", what, hint))
    return tuple(rules), mistakes


def _place(
    cast: list[Member], ways: Ways, placement: Placement, rules: tuple[Rule, ...], seed: int
) -> tuple[PlannedComponent, ...]:
    if not cast:
        return ()
    every_host = tuple(host.name for host in ways.network.hosts)
    talks = conversations(cast)
    where = place(
        Problem(
            components=tuple(member.name for member in cast),
            fixed={member.name: member.on for member in cast if member.on is not None},
            hosts=tuple(placement.hosts) or every_host,
            rules=rules,
            policy=placement.by,
            seed=seed,
            weight={member.name: member.instances for member in cast},
            peers=talks,
            distance=ways.distance,
            everywhere=every_host,
        )
    )
    return tuple(
        PlannedComponent(
            name=member.name,
            kind=member.kind,
            type=member.type,
            host=where[member.name],
            talks_to=talks[member.name],
            placed_by="given" if member.on else placement.by,
            instances=member.instances,
        )
        for member in cast
    )


def _about_load(ways: Ways, cast: list[Member], components: tuple[PlannedComponent, ...]) -> list[str]:
    hosts = {component.name: component.host for component in components}
    brokers = [component.name for component in components if component.kind == "broker"]
    return warnings.about_load(ways, cast, hosts, brokers)
