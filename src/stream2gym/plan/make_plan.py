"""Makes the plan from an experiment and a seed: addresses, placement, paths and the schedule of faults. Pure."""

from __future__ import annotations

from stream2gym.errors import BadInput, Mistake
from stream2gym.plan import plan_warnings
from stream2gym.plan.fault_schedule import make_schedule
from stream2gym.plan.members import Member, choose_voters, conversations, list_members
from stream2gym.plan.network_plan import plan_network
from stream2gym.plan.placement import ConstraintKind, PlacementProblem, Rule, place_components
from stream2gym.plan.planned import Plan, PlannedComponent
from stream2gym.plan.talking_paths import NetworkPaths, pairs_of_interest
from stream2gym.spec.findings import did_you_mean
from stream2gym.spec.model import Experiment, Placement
from stream2gym.spec.runnable import not_runnable


def make_plan(experiment: Experiment, *, seed: int | None = None) -> Plan:
    """Decide everything that a run does. BadInput lists every mistake that makes it impossible."""
    chosen_seed = experiment.seed if seed is None else seed
    network, mistakes, notes = plan_network(experiment.topology, chosen_seed)
    members, more = list_members(experiment)
    rules, wrong = _rules(experiment.placement, [host.name for host in experiment.topology.hosts])
    if network is None or mistakes or more or wrong:
        raise BadInput([*mistakes, *more, *wrong])
    network_paths = NetworkPaths(network)
    components = _place(members, network_paths, experiment.placement, rules, chosen_seed)
    faults, clashes, about_faults = make_schedule(experiment, components, chosen_seed)
    if clashes:
        raise BadInput(clashes)
    voters, about_voters = choose_voters(members, experiment.kafka.voters)
    pairs, left_out = pairs_of_interest(network, components)
    paths = tuple(network_paths.view(*pair) for pair in pairs)
    warmup_engines = _list_warmup_engines(experiment)
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
            *plan_warnings.about_network(network),
            *plan_warnings.about_paths(network_paths, paths),
            *_about_load(network_paths, members, components),
            *plan_warnings.about_applications(experiment.engines),
            *plan_warnings.about_plug_ins(experiment.engines),
            *about_voters,
            *about_faults,
        ),
        not_runnable=tuple(not_runnable(experiment)),
        voters=voters,
        startup=experiment.startup,
        pairs_left_out=left_out,
        faults=faults,
        warmup_s=float(experiment.warmup),
        warmup_engines=warmup_engines,
        warmup_producers=_list_warmup_producers(experiment) if experiment.warmup or warmup_engines else (),
    )


def _list_warmup_engines(experiment: Experiment) -> tuple[str, ...]:
    """The engines whose first batch the warm-up waits for."""
    return tuple(str(engine.name) for engine in experiment.engines if engine.settings.get("ready") == "batch")


def _list_warmup_producers(experiment: Experiment) -> tuple[str, ...]:
    return tuple(str(producer.name) for producer in experiment.producers if producer.sends_warmup)


def _rules(placement: Placement, hosts: list[str]) -> tuple[tuple[Rule, ...], list[Mistake]]:
    """The constraints of the placement, and the mistakes in them."""
    mistakes = [
        Mistake("placement, hosts", f"there is no host {name!r}", did_you_mean(name, hosts))
        for name in placement.hosts
        if name not in hosts
    ]
    rules = []
    kinds: tuple[ConstraintKind, ...] = ("colocate", "exlocate", "isolate")
    for number, constraint in enumerate(placement.constraints, 1):
        said = [(kind, patterns) for kind in kinds if (patterns := getattr(constraint, kind)) is not None]
        if len(said) == 1:
            rules.append(Rule(said[0][0], tuple(said[0][1])))
        else:
            hint = "write one of colocate, exlocate, isolate"
            what = "is empty" if not said else f"gives {' and '.join(kind for kind, _ in said)} at once"
            mistakes.append(Mistake(f"placement, constraint {number}", what, hint))
    return tuple(rules), mistakes


def _place(
    members: list[Member],
    network_paths: NetworkPaths,
    placement: Placement,
    rules: tuple[Rule, ...],
    seed: int,
) -> tuple[PlannedComponent, ...]:
    """Every component with its host."""
    if not members:
        return ()
    every_host = tuple(host.name for host in network_paths.network.hosts)
    talks = conversations(members)
    where = place_components(
        PlacementProblem(
            components=tuple(member.name for member in members),
            fixed={member.name: member.on for member in members if member.on is not None},
            hosts=tuple(placement.hosts) or every_host,
            rules=rules,
            policy=placement.by,
            seed=seed,
            weight={member.name: member.instances for member in members},
            peers=talks,
            distance=network_paths.distance,
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
        for member in members
    )


def _about_load(
    network_paths: NetworkPaths, members: list[Member], components: tuple[PlannedComponent, ...]
) -> list[str]:
    hosts = {component.name: component.host for component in components}
    brokers = [component.name for component in components if component.kind == "broker"]
    return plan_warnings.about_load(network_paths, members, hosts, brokers)
