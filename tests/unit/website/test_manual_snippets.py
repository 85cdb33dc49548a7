"""Every snippet of every page is valid: commands are understood, YAML is checked, Python compiles."""

from __future__ import annotations

import pytest

from tests.support.manual import Snippet, check_command, check_yaml, find_commands, read_snippets


def by_id(snippet: Snippet) -> str:
    return snippet.id


@pytest.mark.parametrize("snippet", read_snippets("yaml"), ids=by_id)
def test_yaml_is_valid(snippet: Snippet) -> None:
    check_yaml(snippet.text)


@pytest.mark.parametrize("snippet", read_snippets("sh"), ids=by_id)
def test_commands_are_understood(snippet: Snippet) -> None:
    for words in find_commands(snippet.text):
        check_command(words)


@pytest.mark.parametrize("snippet", read_snippets("python"), ids=by_id)
def test_python_compiles(snippet: Snippet) -> None:
    compile(snippet.text, snippet.id, "exec")


def test_blocks_have_a_language_that_is_checked() -> None:
    known = {"yaml", "sh", "python", "text", "toml", "ini", "json"}
    assert {snippet.language for snippet in read_snippets(*known)} <= known
    assert len(read_snippets("yaml")) > 25
    assert len(read_snippets("sh")) > 20


@pytest.mark.parametrize(
    "wrong", ["faults: [{do: explode}]", "producer: []", "expect: [lst == 0]", "- {do: down, on: h1 -- s1, at: soon}"]
)
def test_wrong_yaml_is_found(wrong: str) -> None:
    with pytest.raises((ValueError, AssertionError)):
        check_yaml(wrong)


@pytest.mark.parametrize("wrong", ["s2g rum hello", "s2g run", "s2g run hello --tme 3", "s2g job latest start x"])
def test_wrong_commands_are_found(wrong: str) -> None:
    [words] = find_commands(wrong)
    with pytest.raises((SystemExit, AssertionError)):
        check_command(words)
