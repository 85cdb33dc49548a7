"""One word, one meaning: the glossary of CONTRIBUTING.md is sound, and what it bans does not come back in prose."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "stream2gym"
HEADING = "## Words\n"
BANNED_HEADER = "| instead of | write |"
SHOWN = ("report", "cli")  # rooms whose strings people read
CODE = re.compile(r"^```.*?^```|``[^`]+``|`[^`]+`", re.MULTILINE | re.DOTALL)


def split_glossary() -> tuple[str, str]:
    """The glossary of CONTRIBUTING.md, and everything around it."""
    before, rest = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split(HEADING)
    glossary, after = rest.split("\n## ", 1)
    return glossary, before + after


def first_cells(table: str) -> list[str]:
    rows = [line for line in table.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [row.split("|")[1].strip() for row in rows]


def banned_words() -> re.Pattern[str]:
    table = split_glossary()[0].split(BANNED_HEADER)[1]
    words = [word.strip() for cell in first_cells(table) for word in cell.split(",")]
    return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, words))})(?![\w-])", re.IGNORECASE)


def find_banned(prose: str) -> list[str]:
    """The banned words of a text. What stands in backticks is code."""
    return [found[1] for found in banned_words().finditer(CODE.sub("", prose))]


def pages() -> Iterator[tuple[str, str]]:
    """The documentation, by its path."""
    yield "CONTRIBUTING.md", split_glossary()[1]
    for path in (
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("examples/*/README.md"),
    ):
        yield str(path.relative_to(ROOT)), path.read_text("utf-8")


def spoken_strings() -> Iterator[tuple[str, str]]:
    """Docstrings of the whole package, and every string of the rooms that speak to people."""
    for path in sorted(PACKAGE.rglob("*.py")):
        where = path.relative_to(PACKAGE)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield f"{where}: docstring of {getattr(node, 'name', 'the module')}", ast.get_docstring(node) or ""
            elif where.parts[0] in SHOWN and isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{where}, line {node.lineno}", node.value


def test_no_word_of_the_glossary_is_explained_twice() -> None:
    words = first_cells(split_glossary()[0].split(BANNED_HEADER)[0])
    assert len(words) > 50
    assert [word for word in words if words.count(word) > 1] == []


def test_every_word_is_explained_in_one_sentence() -> None:
    rows = [line for line in split_glossary()[0].split(BANNED_HEADER)[0].splitlines() if line.startswith("| ")]
    meanings = [cells[2].strip() for row in rows if (cells := row.split("|")) and cells[2].strip()]
    assert [meaning for meaning in meanings if not meaning.endswith(".") or ". " in meaning] == []


@pytest.mark.parametrize(
    ("prose", "found"),
    [
        ("all messages were acked", ["acked"]),
        ("received, Un-acked", ["Un-acked"]),
        ("a simulated network", ["simulated"]),
        ("the status `acked`, ``acked`` in code, backed up, unconfirmed", []),
        ("```\nwhen: acked > 5\n```\nrows_doubled", []),
    ],
)
def test_banned_words_are_found_in_prose_and_not_in_code(prose: str, found: list[str]) -> None:
    assert find_banned(prose) == found


def test_the_documentation_uses_no_banned_word() -> None:
    assert {where: words for where, text in pages() if (words := find_banned(text))} == {}


def test_docstrings_the_report_and_the_command_use_no_banned_word() -> None:
    assert {where: words for where, text in spoken_strings() if (words := find_banned(text))} == {}
