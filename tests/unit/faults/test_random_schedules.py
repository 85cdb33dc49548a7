"""A thousand random schedules: whatever the order, afterwards everything is as the plan says."""

from __future__ import annotations

from random import Random

from stream2gym.plan.fault_clashes import find_clashes
from stream2gym.plan.planned import PlannedComponent, PlannedFault, Window
from tests.unit.faults.fakes import Scene

LINKS = ("h1 -- s1", "h2 -- s1", "* -- s1", "s1 -- s2", "random 2 of * -- *")
HOSTS = ("h1", "h2", "h3", "h4", "h5", "random 1 of h*")
PARTS = ("broker-h1", "broker-h2", "broker-*", "producer-h4", "consumer-h5", "random 1 of broker-*")
KINDS: dict[str, tuple[tuple[str, ...], list[dict[str, object]]]] = {
    "down": (LINKS, [{}, {"ways": "forward"}]),
    "flap": (LINKS, [{"period": "700 ms", "duty": "40 %"}]),
    "degrade": (LINKS, [{"latency": "9 ms"}, {"loss": "1 %", "ways": "backward"}, {"bandwidth": "1 Mbps"}]),
    "ramp": (LINKS, [{"to": {"latency": "90 ms"}, "step": "300 ms"}]),
    "partition": (("h*",), [{"shape": "halves"}, {"shape": "majority", "one_way": True}, {"shape": "ring"}]),
    "isolate": (HOSTS, [{}, {"ways": "out"}]),
    "switch-down": (("s1", "s2"), [{}]),
    "move": (HOSTS, [{"to": "s2"}]),
    "kill": (PARTS, [{}]),
    "stop": (PARTS, [{}]),
    "pause": (PARTS, [{}]),
    "restart": (PARTS, [{"down": "600 ms"}, {"orderly": True}]),
    "crash-loop": (PARTS, [{"up": "1 s", "down": "400 ms"}]),
    "host-off": (HOSTS, [{}]),
    "cpu": (HOSTS, [{"share": "10 %"}]),
    "memory": (HOSTS, [{"limit": "1 MiB"}]),
    "disk-full": (HOSTS, [{}]),
}
MOMENTARY = ("restart",)
LOAD_S = 20.0


def random_fault(rng: Random, number: int) -> PlannedFault:
    kind = rng.choice(list(KINDS))
    targets, settings = KINDS[kind]
    start = round(rng.uniform(0, LOAD_S), rng.choice((0, 3)))
    lasts = None if kind in MOMENTARY else round(rng.uniform(0, 6), rng.choice((0, 3)))
    end = None if lasts is None else min(start + lasts, LOAD_S)
    window = Window(min(start, LOAD_S - 0.001), end)
    return PlannedFault(f"f{number}", kind, (rng.choice(targets),), dict(rng.choice(settings)), (window,))


def test_after_a_thousand_random_schedules_everything_is_as_the_plan_says() -> None:
    applied = 0
    for seed in range(1000):
        rng = Random(seed)
        scene = Scene(load_s=LOAD_S, seed=seed)
        components = [PlannedComponent(part.name, part.kind, part.kind, part.host) for part in scene.parts.values()]
        chosen: list[PlannedFault] = []
        for number in range(rng.randint(1, 8)):
            more = [*chosen, random_fault(rng, number)]
            if not find_clashes(more, components):
                chosen = more
        whole = scene.state()
        scene.add(*chosen)
        scene.go(rng.choice((LOAD_S, LOAD_S + 10, rng.uniform(0, LOAD_S))))
        if rng.random() < 0.3:
            for one in scene.timeline.active():
                scene.timeline.heal(one.fault.name)
        scene.timeline.end_load()
        scene.context.load_over = False  # producers come back too, so that all can be compared
        scene.go(LOAD_S + rng.choice((0, 5)))
        scene.timeline.close()
        assert scene.state() == whole, (seed, chosen, scene.told())
        applied += len(scene.told("fault-applied"))
        healed = len(scene.told("fault-healed"))
        assert healed == len(scene.told("fault-applied")), (seed, chosen, scene.told())
    assert applied > 2000
