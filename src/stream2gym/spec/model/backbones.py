"""A few real backbones: cities with coordinates (degrees north, degrees east) and the links between them.

The delay of a link is its great-circle distance at two thirds of the speed of light, as in glass. Real fibre takes
detours, so real delays are somewhat larger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

EARTH_RADIUS_KM = 6371.0
KM_PER_MS = 299_792.458 / 1000 * 2 / 3


@dataclass(frozen=True)
class Backbone:
    """Cities by name, and the pairs of cities that a fibre connects."""

    cities: dict[str, tuple[float, float]]
    joined: tuple[tuple[str, str], ...]

    def latency_ms(self, a: str, b: str) -> float:
        """The latency in one direction, rounded to 10 microseconds."""
        return round(distance_km(self.cities[a], self.cities[b]) / KM_PER_MS, 2)


def distance_km(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Great-circle distance (haversine)."""
    north_a, east_a, north_b, east_b = map(math.radians, (*a, *b))
    chord = (
        math.sin((north_b - north_a) / 2) ** 2
        + math.cos(north_a) * math.cos(north_b) * math.sin((east_b - east_a) / 2) ** 2
    )
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(chord))


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """``"a: b c; b: d"`` as (a, b), (a, c), (b, d)."""
    rows = (row.split(":") for row in text.split(";"))
    return tuple((start.strip(), end) for start, ends in rows for end in ends.split())


BACKBONES = {
    "abilene": Backbone(
        {
            "seattle": (47.61, -122.33), "sunnyvale": (37.37, -122.04), "los-angeles": (34.05, -118.24),
            "denver": (39.74, -104.99), "kansas-city": (39.10, -94.58), "houston": (29.76, -95.37),
            "chicago": (41.88, -87.63), "indianapolis": (39.77, -86.16), "atlanta": (33.75, -84.39),
            "washington": (38.91, -77.04), "new-york": (40.71, -74.01),
        },
        _pairs(
            "seattle: sunnyvale denver; sunnyvale: los-angeles denver; los-angeles: houston;"
            "denver: kansas-city; kansas-city: houston indianapolis; houston: atlanta;"
            "indianapolis: chicago atlanta; chicago: new-york; atlanta: washington; new-york: washington"
        ),
    ),
    "nsfnet": Backbone(
        {
            "seattle": (47.61, -122.33), "palo-alto": (37.44, -122.14), "san-diego": (32.72, -117.16),
            "salt-lake-city": (40.76, -111.89), "boulder": (40.01, -105.27), "lincoln": (40.81, -96.68),
            "houston": (29.76, -95.37), "champaign": (40.12, -88.24), "pittsburgh": (40.44, -80.00),
            "atlanta": (33.75, -84.39), "ann-arbor": (42.28, -83.74), "ithaca": (42.44, -76.50),
            "princeton": (40.36, -74.66), "college-park": (38.99, -76.94),
        },
        _pairs(
            "seattle: palo-alto san-diego champaign; palo-alto: san-diego salt-lake-city; san-diego: houston;"
            "salt-lake-city: boulder ann-arbor; boulder: lincoln houston; houston: atlanta college-park;"
            "lincoln: champaign; champaign: pittsburgh; atlanta: pittsburgh; pittsburgh: ithaca princeton;"
            "ann-arbor: ithaca princeton; ithaca: college-park; princeton: college-park"
        ),
    ),
    "geant": Backbone(
        {
            "london": (51.51, -0.13), "dublin": (53.35, -6.26), "paris": (48.86, 2.35),
            "amsterdam": (52.37, 4.90), "brussels": (50.85, 4.35), "frankfurt": (50.11, 8.68),
            "hamburg": (53.55, 9.99), "copenhagen": (55.68, 12.57), "stockholm": (59.33, 18.07),
            "poznan": (52.41, 16.93), "prague": (50.08, 14.44), "vienna": (48.21, 16.37),
            "budapest": (47.50, 19.04), "bucharest": (44.43, 26.10), "sofia": (42.70, 23.32),
            "athens": (37.98, 23.73), "zagreb": (45.81, 15.98), "milan": (45.46, 9.19),
            "geneva": (46.20, 6.14), "marseille": (43.30, 5.37), "madrid": (40.42, -3.70),
            "lisbon": (38.72, -9.14),
        },
        _pairs(
            "london: dublin paris amsterdam lisbon; dublin: amsterdam; paris: geneva madrid;"
            "amsterdam: brussels hamburg frankfurt; brussels: paris; frankfurt: hamburg prague geneva poznan;"
            "hamburg: copenhagen poznan; copenhagen: stockholm; prague: vienna; vienna: budapest zagreb milan;"
            "poznan: prague; budapest: bucharest zagreb; bucharest: sofia; sofia: athens; athens: milan;"
            "milan: geneva marseille; marseille: geneva madrid; madrid: lisbon"
        ),
    ),
}  # fmt: skip
