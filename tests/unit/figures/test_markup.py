"""Markup: text is escaped on its way in, and nothing else of this program writes tags."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import stream2gym
from stream2gym.figures.markup import EMPTY, element, empty_element, join, trust

SOURCE = Path(stream2gym.__file__).parent
TAG = re.compile(r"</?[a-z]")


def test_text_in_an_element_is_escaped_and_markup_is_not() -> None:
    inner = element("b", "<i>")
    assert element("p", "a & b", inner).source == "<p>a &amp; b<b>&lt;i&gt;</b></p>"


def test_a_value_cannot_leave_its_attribute() -> None:
    made = element("p", title='" onclick="alert(1)')
    assert made.source == '<p title="&quot; onclick=&quot;alert(1)"></p>'


def test_markup_that_was_made_a_text_is_escaped_again() -> None:
    assert element("p", str(element("b").source)).source == "<p>&lt;b&gt;&lt;/b&gt;</p>"


def test_characters_that_xml_forbids_are_replaced() -> None:
    assert element("p", "a\x00b\ud800").source == "<p>a\ufffdb\ufffd</p>"


def test_attributes_are_named_as_in_the_standard_and_empty_ones_are_left_out() -> None:
    assert (
        empty_element("rect", class_="box", stroke_width="1", fill="").source
        == '<rect class="box" stroke-width="1"/>'
    )


def test_parts_are_joined_in_order() -> None:
    assert join((element("b"), EMPTY, element("i")), "\n") == trust("<b></b>\n\n<i></i>")


def test_no_text_of_the_report_or_of_a_figure_holds_a_tag() -> None:
    found = []
    for path in [*SOURCE.glob("report/**/*.py"), *SOURCE.glob("figures/*.py"), *SOURCE.glob("sweeps/sweep_*.py")]:
        if path.name == "markup.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and TAG.search(node.value):
                found.append(f"{path.name}:{node.lineno}")
    assert found == []


def test_only_constants_are_trusted() -> None:
    trusted = []
    for path in SOURCE.glob("**/*.py"):
        if path.name == "markup.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("trust", "Markup"):
                trusted.append(ast.unparse(node.args[0]))
    assert sorted(trusted) == [r"'<!DOCTYPE html>\n'", r"'\n'", "make_own_stylesheet()", "make_report_stylesheet()"]
