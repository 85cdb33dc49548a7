"""The documentation site, built by its one command: nothing comes from elsewhere, and no link leads nowhere."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.browser import open_browser
from tests.support.manual import ROOT
from website.build import build as build_site

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
_SCRIPTS = re.compile(r'<(?:script|img|iframe)[^>]*src="([^"]+)"|<link[^>]*rel="stylesheet"[^>]*href="([^"]+)"')


def build(clone: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(clone / "s2g"), "docs", "--out", str(out)], capture_output=True, text=True, check=False, timeout=800
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("docs")
    done = build(ROOT, out)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip().endswith("site/index.html")
    return out / "site"


def test_every_page_is_there_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = [*site.rglob("*.html")]
    assert {"index.html", "tutorial.html", "extend.html"} <= {page.name for page in pages}
    assert (site / "reference" / "keys.html").is_file()
    for page in pages:
        found = ["".join(both) for both in _SCRIPTS.findall(page.read_text("utf-8"))]
        assert [one for one in found if "//" in one] == [], page


def test_it_is_searched_from_a_folder_and_fits_a_phone(site: Path) -> None:
    asked: list[str] = []
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        field = page.locator("input[name=query]")
        field.click()
        field.press_sequentially("watermark", delay=30)
        page.wait_for_function("document.querySelector('.md-search-result__meta').innerText.includes('matching')")
        page.set_viewport_size({"width": 400, "height": 900})
        for name in ("index", "reference/keys", "reference/metrics", "faults"):
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 400, name
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.parametrize(
    "wrong", ["[x](nowhere.md)", "[x](faults.md#nowhere)", "[x](#nowhere)", "![x](images/no.png)"]
)
def test_a_link_that_leads_nowhere_fails_the_build(
    site: Path, tmp_path: Path, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    python = ROOT / ".venv-docs" / "bin" / "python"
    if not python.is_file():
        pytest.skip("the environment of the site is elsewhere")
    source = tmp_path / "broken"
    shutil.copytree(site.parent, source, ignore=shutil.ignore_patterns("site"))
    page = source / "source" / "tutorial.md"
    page.write_text(f"{page.read_text('utf-8')}\n{wrong}\n", "utf-8")
    assert build_site(source, str(python)) != 0
    assert wrong.partition("(")[2].rstrip(")") in capsys.readouterr().err
