"""Files of SQL statements: where each statement begins, and variables in them. Pure.

Flink's own parser takes one statement at a time. Statements end with a semicolon outside of quotes and comments.
``${NAME}`` stands for an environment variable of the job, such as ``${S2G_BOOTSTRAP}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

VARIABLE = re.compile(r"\$\{(\w+)\}")
# All INSERT statements of a file become one job, so that a file which groups them itself means the same.
_GROUPING = re.compile(
    r"(EXECUTE\s+STATEMENT\s+SET\s+BEGIN|BEGIN\s+STATEMENT\s+SET|END|EXECUTE(?=\s+INSERT))\b\s*", re.I
)
_TOKEN = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|`(?:[^`]|``)*`|;", re.DOTALL)
_OPENING = {"'": "a quote", "`": "a back quote", "/*": "a comment"}
_OPEN = re.compile(r"/\*|'|`")


class SqlMistake(ValueError):
    """What is wrong in a file of statements, and in which line."""

    def __init__(self, line: int, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.line = line
        self.what = what
        self.hint = hint


@dataclass(frozen=True)
class Statement:
    """One statement, without comments before it. Lines count from 1."""

    line: int
    text: str

    @property
    def verb(self) -> str:
        """Its first word in capitals."""
        found = re.match(r"\w+", self.text)
        return found[0].upper() if found else ""


def split_statements(text: str) -> list[Statement]:
    """The statements of a file. Raises SqlMistake for a quote or a comment without an end."""
    found = []
    begin = 0
    ends = [*_ends(text), len(text)]
    for end in ends:
        at = _skip_blank(text, begin, end)
        while at < end and (grouping := _GROUPING.match(text, at, end)):
            at = _skip_blank(text, grouping.end(), end)
        own = text[at:end].strip()
        if own:
            found.append(Statement(text.count("\n", 0, at) + 1, own))
        begin = end + 1
    return found


def fill_in(statement: Statement, variables: Mapping[str, str]) -> Statement:
    """The statement with the values of its variables. Raises SqlMistake for a variable that nobody has set."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in variables:
            line = statement.line + statement.text.count("\n", 0, found.start())
            raise SqlMistake(line, f"there is no variable {found[1]}", "set it under 'env:' of the engine")
        return variables[found[1]]

    return Statement(statement.line, VARIABLE.sub(value, statement.text))


def pack_statements(statements: list[Statement]) -> bytes:
    """The statements as the program that runs them reads them: line number, blank, text, NUL."""
    return b"".join(f"{one.line} {one.text}\0".encode() for one in statements)


def _ends(text: str) -> Iterator[int]:
    """The places of the semicolons that end statements."""
    last = 0
    for token in _TOKEN.finditer(text):
        _check_closed(text, last, token.start())
        last = token.end()
        if token[0] == ";":
            yield token.start()
    _check_closed(text, last, len(text))


def _check_closed(text: str, begin: int, end: int) -> None:
    """Raise SqlMistake if a quote or a comment begins between two tokens, because then it has no end."""
    if opened := _OPEN.search(text, begin, end):
        raise SqlMistake(text.count("\n", 0, opened.start()) + 1, f"{_OPENING[opened[0]]} begins here and never ends")


def _skip_blank(text: str, begin: int, end: int) -> int:
    """The place of the first character from ``begin`` on that is neither blank nor in a comment."""
    blank = re.compile(r"\s+|--[^\n]*|/\*.*?\*/", re.DOTALL)
    while begin < end and (found := blank.match(text, begin, end)):
        begin = found.end()
    return begin
