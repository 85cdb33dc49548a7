from __future__ import annotations

import pytest

from stream2gym.spec.sql_statements import SqlMistake, Statement, fill_in, pack_statements, split_statements

FILE = """-- a comment; with a semicolon
CREATE TABLE a (v STRING) WITH ('x' = 'it''s; fine');

/* another;
   one */
INSERT INTO `odd;name` SELECT v -- why; not
FROM a;
"""


def test_statements_end_at_semicolons_outside_of_quotes_and_comments() -> None:
    found = split_statements(FILE)
    assert [(one.line, one.verb) for one in found] == [(2, "CREATE"), (6, "INSERT")]
    assert found[0].text.endswith("'it''s; fine')")
    assert found[1].text.startswith("INSERT INTO `odd;name`")


def test_the_last_statement_needs_no_semicolon() -> None:
    assert split_statements("SET 'a' = 'b';\nINSERT INTO x SELECT 1")[-1] == Statement(2, "INSERT INTO x SELECT 1")


@pytest.mark.parametrize(
    "text",
    [
        "EXECUTE STATEMENT SET BEGIN\nINSERT INTO a SELECT 1;\nINSERT INTO b SELECT 2;\nEND;",
        "BEGIN STATEMENT SET;\nINSERT INTO a SELECT 1;\nINSERT INTO b SELECT 2;\nEND;",
        "\nEXECUTE INSERT INTO a SELECT 1; INSERT INTO b SELECT 2;",
    ],
)
def test_a_file_that_groups_its_inserts_itself_means_the_same(text: str) -> None:
    assert [one.text for one in split_statements(text)] == ["INSERT INTO a SELECT 1", "INSERT INTO b SELECT 2"]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("SET 'a' = 'b';\nINSERT INTO x SELECT 'open FROM y;", 2, "a quote"),
        ("\n\n/* no end", 3, "a comment"),
        ("SELECT `x", 1, "a back quote"),
    ],
)
def test_what_never_ends_is_told_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(SqlMistake, match=f"{what} begins here and never ends") as told:
        split_statements(text)
    assert told.value.line == line


def test_variables_are_filled_in_and_unknown_ones_are_told_with_their_line() -> None:
    statement = Statement(4, "CREATE TABLE a (v INT)\nWITH ('brokers' = '${S2G_BOOTSTRAP}')")
    assert "'h2:9092'" in fill_in(statement, {"S2G_BOOTSTRAP": "h2:9092"}).text
    with pytest.raises(SqlMistake, match="there is no variable S2G_BOOTSTRAP") as told:
        fill_in(statement, {})
    assert told.value.line == 5


def test_packed_statements_keep_their_lines() -> None:
    assert pack_statements([Statement(3, "SET\n'a'"), Statement(9, "X")]) == b"3 SET\n'a'\x009 X\x00"
