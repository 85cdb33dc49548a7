"""The report in a real browser: quiet console, no sideways scrolling on a phone, readable in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from stream2gym.report.write import write_report
from tests.support.browser import open_browser
from tests.unit.report.synthetic import rich_run, tiny_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("runs")
    return {"rich": write_report(rich_run(base)), "tiny": write_report(tiny_run(base))}


@pytest.mark.parametrize("name", ["rich", "tiny"])
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (800, "dark"), (400, "light"), (320, "dark")])
def test_it_opens_without_complaint_and_without_sideways_scrolling(
    browser: Browser, reports: dict[str, Path], name: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(reports[name].as_uri())
    assert complaints == []
    assert len(asked) == 1, "only the page itself"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = page.locator(".verdict").bounding_box()
    assert box is not None
    assert box["y"] < 400
    page.close()


def evaluate_at_widths(browser: Browser, report: Path, script: str) -> list[Any]:
    """What a script in the report gives on a wide, a middling and a narrow screen."""
    page = browser.new_page()
    page.goto(report.as_uri())
    found = []
    for width in (1200, 800, 400):
        page.set_viewport_size({"width": width, "height": 800})
        found.append(page.evaluate(script))
    page.close()
    return found


def test_each_figure_is_seen_once_at_every_width(browser: Browser, reports: dict[str, Path]) -> None:
    for seen in evaluate_at_widths(
        browser,
        reports["rich"],
        "[...document.querySelectorAll('figure')].map(f =>"
        " [...f.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().width > 0).length)",
    ):
        assert set(seen) == {1}


def test_no_label_of_a_figure_is_too_small_to_read(browser: Browser, reports: dict[str, Path]) -> None:
    for smallest in evaluate_at_widths(
        browser,
        reports["rich"],
        "Math.min(...[...document.querySelectorAll('figure svg')]"
        ".filter(s => s.getBoundingClientRect().width > 0)"
        ".map(s => 11 * s.getBoundingClientRect().width / s.viewBox.baseVal.width))",
    ):
        assert smallest >= 9.5


def test_the_background_follows_the_preference(browser: Browser, reports: dict[str, Path]) -> None:
    colours = []
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.goto(reports["tiny"].as_uri())
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.close()
    assert colours == ["rgb(245, 246, 248)", "rgb(18, 23, 29)"]


def test_a_loss_is_on_the_first_screen(browser: Browser, reports: dict[str, Path]) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 800})
    page.goto(reports["rich"].as_uri())
    box = page.get_by_role("alert").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 800
    page.close()


def test_it_prints(browser: Browser, reports: dict[str, Path], tmp_path: Path) -> None:
    page = browser.new_page(color_scheme="dark")
    page.goto(reports["rich"].as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.pdf(path=str(tmp_path / "report.pdf"), format="A4")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    page.close()
