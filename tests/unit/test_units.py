"""Quantities: what cannot be misread is taken, what means another unit is refused with what would be right."""

from __future__ import annotations

import pytest

from stream2gym.kinds.settings import rate_of
from stream2gym.units import Bandwidth, ByteRate, Duration, Quantity, Rate, Share, Size, UnitError


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Size, "5 MB", 5e6), (Size, "5 kB", 5e3), (Size, "5 KB", 5e3), (Size, "64 KIB", 65536.0),
        (Size, "5 Bytes", 5.0), (Size, "5 BYTE", 5.0), (Size, "512m", 512 * 1024.0**2), (Size, "2 G", 2 * 1024.0**3),
        (Bandwidth, "5 Mbps", 5e6), (Bandwidth, "5 mbps", 5e6), (Bandwidth, "5 Mbit/s", 5e6),
        (Bandwidth, "5 MBIT/S", 5e6), (Bandwidth, "5 KBIT/s", 5e3), (Bandwidth, "5 Mb/s", 5e6),
        (Duration, "5 S", 5.0), (Duration, "5 m", 300.0), (Duration, "5 Min", 300.0), (Duration, "5 H", 18000.0),
        (ByteRate, "30 KB/s", 3e4), (ByteRate, "30 KB/S", 3e4), (Rate, "5 /MIN", 5 / 60), (Share, "5 Percent", 0.05),
    ],
)  # fmt: skip
def test_the_case_of_letters_that_tell_nothing_apart_is_free(kind: type[Quantity], text: str, value: float) -> None:
    assert float(kind.parse(text)) == pytest.approx(value)


@pytest.mark.parametrize(
    ("kind", "text", "right"),
    [
        (Size, "5 Mb", "5 MB"), (Size, "5 kb", "5 kB"), (Size, "5 gb", "5 GB"), (Size, "5 b", "5 B"),
        (Size, "5 Kib", "5 KiB"), (ByteRate, "30 kb/s", "30 kB/s"), (ByteRate, "1 b/s", "1 B/s"),
        (Bandwidth, "5 MBps", "40 Mbps"), (Bandwidth, "5 MB/s", "40 Mb/s"), (Bandwidth, "5 B/s", "40 b/s"),
        (Duration, "5 M", "5 min"), (Duration, "5 Ms", "5 ms"),
    ],
)  # fmt: skip
def test_a_letter_that_means_another_unit_is_refused_with_what_is_right(
    kind: type[Quantity], text: str, right: str
) -> None:
    with pytest.raises(UnitError, match="is no unit of a") as told:
        kind.parse(text)
    assert f"'{right}'" in str(told.value)
    kind.parse(right)


def test_a_rate_in_bits_is_refused_where_bytes_are_meant() -> None:
    assert rate_of("30 KB/s") == 30_000
    with pytest.raises(ValueError, match="b counts bits"):
        rate_of("30 Kb/s")


@pytest.mark.parametrize(
    ("kind", "text"),
    [(Duration, "5"), (Duration, "5 km"), (Bandwidth, "5 Mb"), (Size, "5 MBps"), (Share, "5"), (Rate, "5/m")],
)
def test_what_has_no_unit_or_a_foreign_one_is_refused(kind: type[Quantity], text: str) -> None:
    with pytest.raises(UnitError, match="write it like"):
        kind.parse(text)
