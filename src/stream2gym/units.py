"""Quantities that carry their unit: durations, bandwidths, sizes, shares, rates.

Each is a number in one base unit (seconds, bits per second, bytes, a fraction of one, events per second)
that reads what people write ("5 ms", "100 Mbps", "64 KiB", "0.1 %", "1000/s") and writes it back in the same
spirit. A bare number is taken only where it cannot be misread.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any, ClassVar, Self

_NUMBER = re.compile(r"^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\d\s].*?)?\s*$")

_WORDS = ("bit", "byte", "min", "sec", "hour")
_LONGEST = 100  # characters; no quantity needs more, and the pattern's cost grows with the square


class UnitError(ValueError):
    """Not a quantity of this kind; the text says what would be."""


class OtherUnit(UnitError):
    """A unit that differs by the case of a letter only and means something else: bits for bytes."""


class Quantity(float):
    """A number in a base unit, with the spellings of its units in ``UNITS``."""

    NOUN: ClassVar[str] = "quantity"
    EXAMPLE: ClassVar[str] = ""
    UNITS: ClassVar[dict[str, float]] = {}
    SHOWN: ClassVar[tuple[tuple[str, float], ...]] = ()
    BARE: ClassVar[float | None] = None
    LOWEST: ClassVar[float] = 0.0
    HIGHEST: ClassVar[float] = math.inf
    # Letters whose case tells one unit from another: b is a bit and B a byte.
    CASED: ClassVar[str] = ""

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read a quantity from what a file or a program says."""
        if isinstance(value, cls):
            return value
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise UnitError(f"not a {cls.NOUN}: {value!r}; write it like {cls.EXAMPLE!r}")
        return cls(cls._check(cls._read(value), value))

    @classmethod
    def _read(cls, value: float | str) -> float:
        match = _NUMBER.match(value) if isinstance(value, str) and len(value) <= _LONGEST else None
        if match is None:
            if isinstance(value, str):
                raise UnitError(f"not a {cls.NOUN}: {value!r}; write it like {cls.EXAMPLE!r}")
            number, unit = float(value), ""
        else:
            number, unit = float(match[1]), match[2] or ""
        if not unit:
            if cls.BARE is None and number != 0:
                raise UnitError(f"{value!r} has no unit; write it like {cls.EXAMPLE!r}")
            return number * (cls.BARE or 0.0)
        factor = cls.UNITS.get(unit)
        if factor is None:
            alike = [name for name in cls.UNITS if name.lower() == unit.lower()]
            if not alike:
                raise UnitError(f"unknown unit {unit!r} of a {cls.NOUN}; write it like {cls.EXAMPLE!r}")
            meant = [name for name in alike if not cls._means_another(unit, name)]
            if not meant:
                raise OtherUnit(f"{unit!r} is no unit of a {cls.NOUN}: {cls._tell_apart(number, alike[0])}")
            factor = cls.UNITS[meant[0]]
        return cls._scale(match[1], factor) if match is not None else number * factor

    @classmethod
    def _scale(cls, digits: str, factor: float) -> float:
        return float(digits) * factor

    @classmethod
    def _means_another(cls, written: str, unit: str) -> bool:
        """Whether the case of a letter makes the unit as written another one; words are read in any case."""
        if any(word in unit.lower() for word in _WORDS):
            return False
        return any(a != b and a.lower() in cls.CASED for a, b in zip(written, unit, strict=True))

    @classmethod
    def _tell_apart(cls, number: float, unit: str) -> str:
        """What the letter means, and what to write instead."""
        return f"write it like {cls.EXAMPLE!r}"

    @classmethod
    def _check(cls, number: float, value: object) -> float:
        if not math.isfinite(number) or not cls.LOWEST <= number <= cls.HIGHEST:
            bounds = f"at least {cls.LOWEST:g}" if math.inf == cls.HIGHEST else "between 0 and 100 %"
            raise UnitError(f"{value!r} is out of range for a {cls.NOUN}: {bounds}")
        return number

    def __str__(self) -> str:
        for unit, scale in self.SHOWN:
            if abs(self) >= scale:
                return f"{_digits(float(self) / scale)} {unit}"
        unit, scale = self.SHOWN[-1]
        return f"{_digits(float(self) / scale)} {unit}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.plain_serializer_function_ser_schema(str, when_used="always")
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: Any) -> dict[str, Any]:
        return {"type": ["string", "number"], "description": f"a {cls.NOUN}", "examples": [cls.EXAMPLE]}


def _digits(number: float) -> str:
    """The shortest decimal that means the same number to ten significant digits."""
    return f"{number:.10g}"


def brief(quantity: float) -> str:
    """The quantity for people: whole numbers as they are, others to five significant digits."""
    return str(quantity if float(quantity).is_integer() else type(quantity)(f"{float(quantity):.5g}"))


class Duration(Quantity):
    """Seconds."""

    NOUN = "duration"
    EXAMPLE = "5 ms"
    UNITS: ClassVar[dict[str, float]] = {
        "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "second": 1.0,
        "seconds": 1.0, "min": 60.0, "minute": 60.0, "minutes": 60.0, "m": 60.0, "h": 3600.0, "hour": 3600.0,
        "hours": 3600.0,
    }  # fmt: skip
    SHOWN = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
    CASED = "m"

    @classmethod
    def _tell_apart(cls, number: float, unit: str) -> str:
        return f"M stands for mega; write '{_digits(number)} min' or '{_digits(number)} ms'"

    @property
    def in_ms(self) -> float:
        return float(self) * 1e3


class Bandwidth(Quantity):
    """Bits per second; ``unlimited`` is infinite."""

    NOUN = "bandwidth"
    EXAMPLE = "100 Mbps"
    UNITS: ClassVar[dict[str, float]] = {
        f"{prefix}{unit}": scale
        for prefix, scale in (("", 1.0), ("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9))
        for unit in ("bps", "bit/s", "bits/s", "b/s")
    }
    SHOWN = (("Gbps", 1e9), ("Mbps", 1e6), ("kbps", 1e3), ("bps", 1.0))
    CASED = "b"

    @classmethod
    def _tell_apart(cls, number: float, unit: str) -> str:
        return f"B counts bytes and a bandwidth bits; write '{_digits(number * 8)} {unit}'"

    @classmethod
    def parse(cls, value: object) -> Self:
        if isinstance(value, str) and value.strip().lower() in ("unlimited", "none"):
            return cls(math.inf)
        parsed = super().parse(value)
        if float(parsed) == 0:
            raise UnitError("a bandwidth of 0 carries nothing; write 'unlimited' for no limit")
        return parsed

    def __str__(self) -> str:
        return "unlimited" if math.isinf(self) else super().__str__()


class Size(Quantity):
    """Bytes."""

    NOUN = "size"
    EXAMPLE = "64 KiB"
    UNITS: ClassVar[dict[str, float]] = {
        "B": 1.0, "byte": 1.0, "bytes": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9,
        "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3, "k": 1024.0, "m": 1024.0**2, "g": 1024.0**3,
    }  # fmt: skip
    SHOWN = (("B", 1.0),)
    BARE = 1.0
    CASED = "b"

    @classmethod
    def _tell_apart(cls, number: float, unit: str) -> str:
        return f"b counts bits and a size bytes; write '{_digits(number)} {unit}'"

    def __str__(self) -> str:
        for unit, scale in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
            if self and self % scale == 0:
                return f"{int(self) // scale} {unit}"
        return f"{_digits(float(self))} B"


class Share(Quantity):
    """A fraction of one, written in per cent."""

    NOUN = "share"
    EXAMPLE = "0.1 %"
    UNITS: ClassVar[dict[str, float]] = {"%": 0.01, "percent": 0.01, "per cent": 0.01}
    SHOWN = (("%", 0.01),)
    HIGHEST = 1.0

    @classmethod
    def _scale(cls, digits: str, _factor: float) -> float:
        """Scale the decimal digits, because scaling a binary number would miss some shares altogether."""
        number = float(digits)
        if number == 0.0 or not math.isfinite(number):
            return number
        return float(Decimal(digits).scaleb(-2))


class Rate(Quantity):
    """Events per second."""

    NOUN = "rate"
    EXAMPLE = "1000/s"
    UNITS: ClassVar[dict[str, float]] = {
        f"{noun}{per}": scale
        for noun in ("", "msg", "msgs", "messages", "msg ", "messages ")
        for per, scale in (("/s", 1.0), ("/sec", 1.0), ("/min", 1 / 60), ("/h", 1 / 3600))
    } | {"k/s": 1e3}
    SHOWN = (("/s", 1.0),)
    BARE = 1.0

    def __str__(self) -> str:
        return f"{_digits(float(self))}/s"


class ByteRate(Quantity):
    """Bytes per second."""

    NOUN = "byte rate"
    EXAMPLE = "30 KB/s"
    UNITS: ClassVar[dict[str, float]] = {f"{unit}/s": scale for unit, scale in Size.UNITS.items()}
    SHOWN = (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1.0))
    CASED = "b"

    @classmethod
    def _tell_apart(cls, number: float, unit: str) -> str:
        return f"b counts bits and a byte rate bytes; write '{_digits(number)} {unit}'"
