"""CSV: exactly the numbers of the figure."""

from __future__ import annotations

import csv
import io

from stream2gym.figures.figure import Column, Table
from stream2gym.figures.figure_csv import make_slug, write_csv
from tests.unit.figures.gallery import HOSTILE, gallery


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_a_chart_gives_every_point_gaps_and_windows_included() -> None:
    chart = gallery()[0]
    head, *body = rows(write_csv(chart))
    assert head == ["series", "time from the start of load (s)", "messages a second (/s)"]
    assert body[:4] == [
        ["in", "0.0", "10.0"],
        ["in", "1.0", ""],
        ["in", "2.0", "12.0"],
        ["in", "3.0", "11.0"],
    ]
    assert ["window: cut in", "2.0", ""] in body


def test_numbers_come_back_as_they_were() -> None:
    chart = gallery()[1]
    values = [(float(x), float(y)) for _, x, y in rows(write_csv(chart))[1:]]
    assert values == list(zip(chart.series[0].x, chart.series[0].y, strict=True))  # type: ignore[union-attr]


def test_bars_matrices_and_time_lines_keep_their_names() -> None:
    _, _, histogram, bars, _, matrix, life = (rows(write_csv(figure)) for figure in gallery())
    assert histogram[1:] == [["1e-06", "1e-05", "5.0"], ["1e-05", "0.0001", "2.0"]]
    assert bars[1:] == [["in", "0.25", "0.0"], ["other", "", "3.0"]]
    assert matrix == [
        ["producer", "consumer", "in time", "late", "lost"],
        ["in", "x", "10.0", "0.0", "0.0"],
        ["in", "in", "0.0", "0.0", "0.0"],
        ["b", "x", "4.0", "1.0", "995.0"],
        ["b", "in", "0.0", "0.0", "5.0"],
    ]
    assert life[1:] == [
        ["phases", "brokers", "-3.0", "0.0"],
        ["phases", "in", "0.0", "5.0"],
        ["in", "in", "1.0", "1.0"],
    ]


def test_hostile_names_come_back_whole() -> None:
    for figure in gallery(HOSTILE):
        assert any(HOSTILE in cell for row in rows(write_csv(figure)) for cell in row)


def test_a_table_gives_its_rows_with_units_in_the_head() -> None:
    table = Table("t", "T", (Column("who"), Column("latency", "s")), (("a", 0.5), ("b, c", None)))
    assert rows(write_csv(table)) == [["who", "latency (s)"], ["a", "0.5"], ["b, c", ""]]


def test_file_names_are_harmless() -> None:
    assert make_slug("../../Etc/Passwd <x>") == "etc-passwd-x"
    assert make_slug("///") == "figure"
