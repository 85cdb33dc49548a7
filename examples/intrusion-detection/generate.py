"""Makes log.jsonl, twenty minutes of connections, logins and VPN sessions, and planted.json, the attacks in it.

Beside every attack stand near misses that must not raise an alarm. Events are out of order by up to 45 seconds; a
scan and a VPN session are a quarter of an hour late. The last events are far in the future, so that every window
before them closes.
"""

import json
import random
from datetime import datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent
START = datetime(2026, 3, 1, 8, 0)
DISORDER_S = 45.0
VERY_LATE_S = 900.0


class Log:
    """Events with the time at which each gets into the log."""

    def __init__(self) -> None:
        self.chance = random.Random(31)
        self.planted: list[tuple[str, str, str]] = []
        self._events: list[tuple[float, dict]] = []

    def add(self, kind: str, second: float, source: str, late_s: float | None = None, **more: object) -> None:
        known = {"target": "", "port": 0, "user": "", "ok": True, **more}
        at = (START + timedelta(seconds=round(second, 3))).isoformat(timespec="milliseconds")
        late_s = self.chance.uniform(0, DISORDER_S) if late_s is None else late_s
        self._events.append((second + late_s, {"kind": kind, "source": source, **known, "at": at}))

    def scan(self, second: float, within: float, source: str, target: str, ports: range, **more: float) -> None:
        for number, port in enumerate(ports):
            self.add("connect", second + within * number / len(ports), source, target=target, port=port, **more)

    def guess(self, seconds: list[float], source: str, user: str, success: float | None) -> None:
        for second in seconds:
            self.add("login", second, source, user=user, ok=False)
        if success is not None:
            self.add("login", success, source, user=user)

    def lines(self) -> list[str]:
        in_order = [event for _, event in sorted(self._events, key=lambda pair: pair[0])]
        return [json.dumps({"event": number, **event}) for number, event in enumerate(in_order)]


def everyday(log: Log) -> None:
    for _ in range(300):
        source = f"10.1.0.{log.chance.randint(1, 40)}"
        target = f"10.2.0.{log.chance.randint(1, 6)}"
        log.add(
            "connect",
            log.chance.uniform(0, 1200),
            source,
            target=target,
            port=log.chance.choice((53, 80, 443)),
        )
    for number in range(30):
        second, user, source = log.chance.uniform(0, 1100), f"worker{number}", f"198.51.100.{number + 1}"
        log.add("vpn", second, source, user=user)
        log.guess([second + 5] * log.chance.randint(0, 2), source, user, second + log.chance.uniform(10, 90))


def attacks(log: Log) -> None:
    for number, (second, within, ports) in enumerate([(60, 8, 60), (400, 25, 20), (905, 15, 30)]):
        source, target = f"203.0.113.{number + 1}", f"10.2.0.{number + 1}"
        log.scan(second, within, source, target, range(1000, 1000 + ports))
        log.planted.append(("scan", source, target))
    for number, (second, failures) in enumerate([(100, 5), (500, 12), (950, 7)]):
        source, user = f"10.3.0.{number + 1}", f"clerk{number}"
        log.guess([second + 8 * n for n in range(failures)], source, user, second + 8 * failures)
        log.planted.append(("guess", source, user))
    for number, vpn in enumerate([None, -660.0, 30.0]):  # never, too long ago, only afterwards
        source, user, second = f"192.0.2.{number + 1}", f"admin{number}", 700.0 + 60 * number
        log.add("login", second, source, user=user)
        if vpn is not None:
            log.add("vpn", second + vpn, source, user=user)
        log.planted.append(("bare", source, user))


def near_misses(log: Log) -> None:
    log.scan(150, 20, "203.0.113.11", "10.2.0.1", range(19))
    log.scan(200, 900, "203.0.113.12", "10.2.0.2", range(30))
    for number in range(3):
        log.scan(300, 20, "203.0.113.13", f"10.2.0.{number}", range(12))
    log.scan(350, 20, "203.0.113.14", "10.2.0.3", range(22, 23))
    for _ in range(40):
        log.add("connect", log.chance.uniform(600, 640), "203.0.113.14", target="10.2.0.4", port=22)
    log.guess([200 + n for n in range(4)], "10.3.0.11", "four", 210)
    log.guess([250 + n for n in range(9)], "10.3.0.12", "never", None)
    log.guess([320 + n for n in range(9)], "10.3.0.13", "before", 310)
    log.guess([400 + 60 * n for n in range(9)], "10.3.0.14", "slow", 930)
    log.guess([600 + n for n in range(9)], "10.3.0.15", "elsewhere", None)
    log.guess([], "10.3.0.16", "elsewhere", 620)
    log.guess([], "10.3.0.17", "inside", 800)  # needs no VPN
    log.add("vpn", 200, "192.0.2.11", user="early")
    log.add("login", 790, "192.0.2.11", user="early")


def main() -> None:
    log = Log()
    everyday(log)
    attacks(log)
    near_misses(log)
    log.scan(240, 10, "203.0.113.99", "10.2.0.6", range(40), late_s=VERY_LATE_S)
    log.add("vpn", 230, "192.0.2.99", user="forgotten", late_s=VERY_LATE_S)
    log.add("login", 250, "192.0.2.99", user="forgotten")
    for more in ({"kind": "connect"}, {"kind": "vpn"}, {"kind": "login"}, {"kind": "login", "ok": False}):
        log.add(second=7200, source="clock", late_s=0, **more)
    (HERE / "log.jsonl").write_text("\n".join(log.lines()) + "\n")
    (HERE / "planted.json").write_text(json.dumps(log.planted, indent=0) + "\n")


if __name__ == "__main__":
    main()
