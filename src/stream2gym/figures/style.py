"""Colours and the style sheet of figures: one set of rules, filled with CSS variables for a page that defines
them, or with plain colours for a file that stands alone (tools for papers know no variables).

The series colours follow Okabe and Ito, shifted for contrast on white and on dark; series also differ in
their dashes, so that nothing depends on colour alone.
"""

from __future__ import annotations

import re

LIGHT = {
    "ink": "#1c2430", "soft": "#566273", "grid": "#dfe4ea", "card": "#ffffff", "well": "#f2f4f7",
    "c1": "#0072b2", "c2": "#c85200", "c3": "#00806a", "c4": "#a8488c", "c5": "#7a6500", "c6": "#2e94cf",
    "c7": "#5b4bb7", "c8": "#56606b", "good": "#14784a", "bad": "#b3261e", "warn": "#8a5a00",
    "phase": "#8fa6bf", "on": "#ffffff",
}  # fmt: skip
DARK = {
    "ink": "#e8ecf1", "soft": "#a3afbd", "grid": "#333d49", "card": "#1a2028", "well": "#242c36",
    "c1": "#5cb8f0", "c2": "#ff9d57", "c3": "#3fcfae", "c4": "#e79bcb", "c5": "#e0c84a", "c6": "#8fd0ff",
    "c7": "#b3a6ff", "c8": "#b4bec9", "good": "#4fd18b", "bad": "#ff7a70", "warn": "#f0b84a",
    "phase": "#5c7591", "on": "#11161c",
}  # fmt: skip
SERIES = 8
TONES = ("good", "bad", "warn", "phase")
_DASHES = {4: "6 3", 5: "2 3", 6: "8 3 2 3", 7: "1 3", 8: "10 4"}

_RULES = """
.s2g-fig{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif}
.s2g-fig{font-size:12px;fill:$ink}
.s2g-fig text{fill:$ink;stroke:none}.s2g-fig .bg{fill:$card}
.s2g-fig .soft{fill:$soft}.s2g-fig .head{font-size:14px;font-weight:600}.s2g-fig .small{font-size:11px}
.s2g-fig .alarm{fill:$bad;font-weight:600}.s2g-fig .inv{fill:$on}.s2g-fig .strong{font-weight:600}
.s2g-fig .grid{stroke:$grid;stroke-width:1}.s2g-fig .axis{stroke:$soft;stroke-width:1}
.s2g-fig .well{fill:$well}
.s2g-fig .line{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}
.s2g-fig .area{stroke:none;fill-opacity:.14}.s2g-fig .dot{stroke:none}
.s2g-fig .bar{stroke-width:1.3;stroke-dasharray:none}.s2g-fig .hollow{fill:$card}
.s2g-fig .mark{stroke:$soft;stroke-width:1;stroke-dasharray:3 3}
.s2g-fig .mark.bad{stroke:$bad}.s2g-fig .mark.fault{stroke:$bad}
.s2g-fig .mark.good{stroke:$good}.s2g-fig .mark.warn{stroke:$warn}
.s2g-fig .band{fill:$soft;fill-opacity:.1}.s2g-fig .band.fault{fill:$bad;fill-opacity:.13}
.s2g-fig .band.bad{fill:$warn;fill-opacity:.2}.s2g-fig .band.warn{fill:$warn;fill-opacity:.16}
.s2g-fig .edge{stroke:$bad;stroke-width:1;stroke-opacity:.55}
.s2g-fig .hatch{stroke:$bad;stroke-width:1.2;stroke-opacity:.35}
.s2g-fig .part{fill-opacity:.42}.s2g-fig .part.f1{fill-opacity:.18}.s2g-fig .none{fill:none;stroke:$grid}
.s2g-fig .box{rx:3px}.s2g-fig .key{stroke-width:2.4}
"""


def make_stylesheet(colours: dict[str, str]) -> str:
    """The rules with these colours."""
    rules = _RULES
    for number in range(1, SERIES + 1):
        dash = f";stroke-dasharray:{_DASHES[number]}" if number in _DASHES else ""
        rules += f".s2g-fig .s{number}{{stroke:$c{number}{dash}}}.s2g-fig .f{number}{{fill:$c{number}}}\n"
    for tone in TONES:
        rules += f".s2g-fig .line.{tone}{{stroke:${tone}}}.s2g-fig .fill.{tone}{{fill:${tone}}}\n"
    rules += ".s2g-fig .beside{stroke-width:1.3;stroke-dasharray:1 4}"
    rules += ".s2g-fig .hollow{stroke-width:1.6;stroke-dasharray:none}.s2g-fig .hollow.warn{stroke:$warn}"
    rules += ".s2g-fig .line.fault{stroke:$bad}.s2g-fig .fill.fault{fill:$bad}.s2g-fig .fill.neutral{fill:$c8}\n"
    return re.sub(r"\$([a-z]+\d?)", lambda match: colours[match[1]], rules).strip()


def make_page_stylesheet() -> str:
    """For a page that defines the variables, see ``variables``."""
    return make_stylesheet({name: f"var(--{name})" for name in LIGHT})


def make_variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colours.items())


def make_own_stylesheet() -> str:
    """For a drawing that stands alone, in light and in dark."""
    return f"{make_stylesheet(LIGHT)}\n@media (prefers-color-scheme:dark){{{make_stylesheet(DARK)}}}"
