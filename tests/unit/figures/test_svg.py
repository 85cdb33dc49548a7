"""The renderer: valid, escaped, deterministic, readable by those who cannot see it."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from stream2gym.figures.figure import Axis, Band, Chart, Figure, Series
from stream2gym.figures.matrix import format_percent
from stream2gym.figures.style import DARK, LIGHT, make_own_stylesheet, make_page_stylesheet
from stream2gym.figures.svg import render, render_file
from tests.unit.figures.gallery import HOSTILE, gallery

SVG = "{http://www.w3.org/2000/svg}"
BOTH = [*gallery(), *gallery(HOSTILE)]


def drawn(figure: Figure, width: float = 520) -> str:
    return render(figure, width).source


def names(figures: list[Figure]) -> list[str]:
    return [f"{figure.kind}-{index}" for index, figure in enumerate(figures)]


@pytest.mark.parametrize("figure", BOTH, ids=names(BOTH))
@pytest.mark.parametrize("width", [320, 520, 1040])
def test_every_figure_is_valid_xml_with_a_title_and_a_description(figure: Figure, width: int) -> None:
    root = ElementTree.fromstring(drawn(figure, width))
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title").text  # type: ignore[union-attr]
    assert len(root.find(f"{SVG}desc").text or "") > 10  # type: ignore[union-attr]
    assert root.get("viewBox", "").split()[2] == str(width)


@pytest.mark.parametrize("figure", BOTH, ids=names(BOTH))
def test_a_file_stands_alone_in_light_and_dark_and_refers_to_nothing_outside(figure: Figure) -> None:
    text = render_file(figure)
    root = ElementTree.fromstring(text.encode())
    assert "prefers-color-scheme:dark" in text
    assert "var(" not in text
    assert "href" not in text
    assert text.count("http") == 1, "only the name of the SVG language itself"
    assert not root.findall(f".//{SVG}script")


@pytest.mark.parametrize(("figure", "same"), list(zip(gallery(), gallery(), strict=True)), ids=names(gallery()))
def test_the_same_figure_gives_the_same_bytes(figure: Figure, same: Figure) -> None:
    assert drawn(figure) == drawn(same)


def test_hostile_names_stay_text() -> None:
    for figure in gallery(HOSTILE):
        assert "<script" not in drawn(figure)
        assert "\x00" not in drawn(figure)


def test_labels_stay_inside_the_drawing_when_names_are_long() -> None:
    for figure in gallery("a-very-long-name-of-a-component-" * 4):
        root = ElementTree.fromstring(drawn(figure, 340))
        for text in root.iter(f"{SVG}text"):
            assert -1 <= float(text.get("x", "0")) <= 341
            assert len(text.text or "".join(text.itertext())) < 400


def test_a_long_note_is_whole_over_several_lines() -> None:
    note = " ".join(f"word{number}" for number in range(60))
    drawing = render_file(replace(gallery()[0], note=note))
    lines = [line for line in re.findall(r"<text[^>]*>([^<]*)</text>", drawing) if line.startswith("word")]
    assert len(lines) > 1
    assert " ".join(lines) == note


def test_a_gap_breaks_the_line() -> None:
    chart = Chart("g", "G", Axis("x"), Axis("y"), (Series("s", (0, 1, 2, 3, 4), (1.0, 1.0, None, 1.0, 1.0)),))
    line = next(p for p in ElementTree.fromstring(drawn(chart)).iter(f"{SVG}path") if "line" in p.get("class", ""))
    assert line.get("d", "").count("M") == 2


def test_the_highest_value_stands_at_the_edge_of_a_percentile_axis() -> None:
    xs = (0.0, 0.5, 0.999, 1.0)
    chart = Chart("p", "P", Axis("share", "share", "percentile"), Axis("y"), (Series("s", xs, (1.0, 2.0, 3.0, 9.0)),))
    line = next(p for p in ElementTree.fromstring(drawn(chart)).iter(f"{SVG}path") if "line" in p.get("class", ""))
    assert line.get("d", "").count("L") == 3


def test_the_last_value_of_a_step_is_held_for_one_more_step() -> None:
    chart = Chart(
        "h", "H", Axis("t", "s", low=0, high=3), Axis("y"), (Series("s", (0, 1, 2), (1.0, 2.0, 3.0), "step"),)
    )
    line = next(p for p in ElementTree.fromstring(drawn(chart)).iter(f"{SVG}path") if "line" in p.get("class", ""))
    assert line.get("d", "").count("H") == 3


def test_a_fault_window_is_shaded_and_hatched_and_named() -> None:
    series = (Series("s", (0.0, 10.0), (1.0, 2.0)),)
    chart = Chart("f", "F", Axis("t", "s"), Axis("y"), series, (Band(2.0, 4.0, "cut"),))
    text = drawn(chart)
    assert 'class="band fault"' in text
    assert "url(#f-520-h)" in text
    assert ">cut</text>" in text
    assert "Window cut: 2 s to 4 s" in text


def test_many_points_are_thinned_but_a_single_spike_survives() -> None:
    values = [1.0] * 200_000
    values[123_456] = 99.0
    chart = Chart("m", "M", Axis("x"), Axis("y"), (Series("s", tuple(map(float, range(200_000))), tuple(values)),))
    text = drawn(chart, 520)
    assert len(text) < 60_000
    top = ElementTree.fromstring(text).find(f".//{SVG}path").get("d", "")  # type: ignore[union-attr]
    heights = [float(pair.split()[1]) for pair in top[1:].split("L")]
    assert min(heights) < min(h for h in heights if h != min(heights)) - 50


def test_a_cell_of_a_matrix_is_divided_by_its_layers_and_tells_what_arrived() -> None:
    figure = next(figure for figure in gallery() if figure.kind == "matrix")
    root = ElementTree.fromstring(drawn(figure, 400))
    parts: dict[str, list[float]] = {}
    for box in root.iter(f"{SVG}rect"):
        if box.get("class", "").startswith("part"):
            (tip,) = box.findall(f"{SVG}title")
            parts.setdefault(tip.text or "", []).append(float(box.get("width", "0")))
    divided = parts["b × x: 4 in time, 1 late, 995 lost"]
    whole = parts["in × x: 10 in time"]
    assert [part / sum(divided) for part in divided] == pytest.approx([0.004, 0.001, 0.995], abs=0.002)
    assert sum(divided) == pytest.approx(sum(whole), abs=0.5)
    told = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert [text[len(tip) :] for tip in (*parts,) for text in told if text.startswith(tip)] == [
        "100",
        "1",
        "0",
    ]
    assert "b × x: 4 in time, 1 late, 995 lost." in root.findtext(f"{SVG}desc", "")


def test_per_cent_in_a_cell_never_round_to_nothing_or_to_all() -> None:
    shares = (None, 0.0, 0.0001, 0.5, 0.9999, 1.0)
    assert [format_percent(share) for share in shares] == ["–", "0", "1", "50", "99", "100"]


def test_light_and_dark_name_the_same_colours() -> None:
    assert LIGHT.keys() == DARK.keys()
    assert all(f"var(--{name})" in make_page_stylesheet() for name in ("ink", "grid", "c1", "c8", "bad"))
    assert "$" not in make_own_stylesheet()


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_lines_stand_out_from_the_background(theme: dict[str, str]) -> None:
    for name in ("ink", "soft", "good", "bad", "warn"):
        assert contrast(theme[name], theme["card"]) >= 4.5, name
    for number in range(1, 9):
        assert contrast(theme[f"c{number}"], theme["card"]) >= 3.0, number


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_numbers_can_be_read_on_every_part_of_a_cell(theme: dict[str, str]) -> None:
    shown = {
        name: float(share)
        for name, share in re.findall(r"\.part(\.f1)?\{fill-opacity:([.\d]+)\}", make_page_stylesheet())
    }
    for name in ("c1", "c4", "warn", "phase", "bad"):
        behind = mixed(theme[name], theme["card"], shown[".f1"] if name == "c1" else shown[""])
        assert contrast(theme["ink"], behind) >= 4.5, name


def mixed(over: str, under: str, share: float) -> str:
    pairs = [(int(over[at : at + 2], 16), int(under[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


def contrast(one: str, other: str) -> float:
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_series_to_compare_with_has_the_colour_of_the_one_it_stands_beside() -> None:
    ours = tuple(Series(name, (0.0, 1.0), (1.0, 2.0), "marked") for name in ("a", "b"))
    theirs = Series("theirs", (0.0, 1.0), (1.5, 2.5), beside="b")
    alone = Series("alone", (0.0, 1.0), (1.5, 2.5))
    chart = Chart("c", "C", Axis("x"), Axis("y"), (*ours, theirs, alone))
    paths = ElementTree.fromstring(drawn(chart)).iter(f"{SVG}path")
    assert [p.get("class") for p in paths if "line" in p.get("class", "").split()] == [
        "line s1", "line s2", "line s2 beside", "line s3",
    ]  # fmt: skip
