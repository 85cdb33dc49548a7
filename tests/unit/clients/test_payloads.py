"""What the published producer types send, byte by byte."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from stream2gym.clients.config import ProducerConfig, Sizes
from stream2gym.clients.payloads import LARGEST, sizes, values
from stream2gym.errors import BadInput


def sent(count: int, **settings: object) -> list[bytes]:
    config = ProducerConfig("b", "gen", {"in": 1.0}, **settings)  # type: ignore[arg-type]
    topics: Iterator[str] = itertools.repeat("in")
    return [value for _, value in itertools.islice(values(config, topics, Random(1)), count)]


def test_standard_is_host_number_counter_and_six_letters() -> None:
    assert sent(3, number=7) == [b"07000000aaaaaa", b"07000001aaaaaa", b"07000002aaaaaa"]
    assert sent(1, number=12)[0] == b"12000000aaaaaa"


def test_standard_fills_up_to_a_size() -> None:
    assert sent(1, size=Sizes(mean=25)) == [b"01000000" + b"a" * 17]
    assert sent(1, size=Sizes(mean=5)) == [b"01000"]
    assert sent(1, size=Sizes(mean=0)) == [b""]


@pytest.mark.parametrize(
    ("size", "low", "high", "mean"),
    [
        (Sizes("uniform", low=10, high=20), 10, 20, 15),
        (Sizes("normal", mean=100, deviation=10), 40, 160, 100),
        (Sizes("pareto", mean=100, shape=3.0), 66, LARGEST, 100),
        (Sizes("pareto", mean=100, shape=1.5, high=500), 33, 500, 83),
    ],
)
def test_sizes_follow_their_distribution(size: Sizes, low: int, high: int, mean: int) -> None:
    drawn = list(itertools.islice(sizes(size, Random(3)), 20_000))
    assert low <= min(drawn)
    assert max(drawn) <= high
    assert sum(drawn) / len(drawn) == pytest.approx(mean, rel=0.1)
    made = sent(50, size=size)
    assert all(value.startswith(b"01%06d" % n) for n, value in enumerate(made))


def test_sfst_is_the_whole_file_and_a_counter(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(b"one\ntwo")
    assert sent(2, type="SFST", file=str(path)) == [b"one\ntworrrr 1", b"one\ntworrrr 2"]


def test_sfst_reads_the_file_again_for_each_message(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(b"old")
    config = ProducerConfig("b", "gen", {"in": 1.0}, type="SFST", file=str(path))
    made = values(config, itertools.repeat("in"), Random(1))
    assert next(made)[1] == b"oldrrrr 1"
    path.write_bytes(b"new")
    assert next(made)[1] == b"newrrrr 2"


def test_mfst_is_each_file_in_order_with_a_trailer(tmp_path: Path) -> None:
    for name, text in (("b.txt", b"bee"), ("a.txt", b"ay")):
        (tmp_path / name).write_bytes(text)
    (tmp_path / "folder").mkdir()
    once = [b"ay Topic: in File: 1", b"bee Topic: in File: 2"]
    assert sent(9, type="MFST", file=str(tmp_path)) == once
    assert sent(9, type="MFST", file=str(tmp_path), passes=2) == once * 2


def test_eltt_is_each_line_with_its_newline_as_often_as_asked(tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    path.write_bytes(b"1,a\r\n\n2,b")
    lines = [b"1,a\r\n", b"\n", b"2,b"]
    assert sent(99, type="ELTT", file=str(path)) == lines
    assert sent(99, type="ELTT", file=str(path), passes=3) == lines * 3
    assert sent(99, type="ELTT", file=str(path), passes=0) == []


def test_xml_gets_a_leading_space_and_one_random_number_a_line(tmp_path: Path) -> None:
    path = tmp_path / "cars.xml"
    path.write_bytes(b"<a x='12' y='3.4'/>\n<b>5</b>\n")
    first, second = sent(2, type="SFST", file=str(path))
    shape = re.compile(rb" <a x='(\d+)' y='(\d+)\.(\d+)'/>\n<b>(\d+)</b>\nrrrr \d")
    match = shape.fullmatch(first)
    assert match is not None
    assert match[1] == match[2] == match[3]
    assert 1 <= int(match[4]) <= 999
    assert first[:-1] != second[:-1]
    assert sent(2, type="SFST", file=str(path)) == [first, second]


def test_a_file_that_is_missing_is_bad_input(tmp_path: Path) -> None:
    for kind in ("SFST", "ELTT", "MFST"):
        with pytest.raises(BadInput, match="nowhere"):
            sent(1, type=kind, file=str(tmp_path / "nowhere"))
