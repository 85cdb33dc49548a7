"""The example files for CI systems: they can be read, and every call of the command in them is one that it takes."""

from __future__ import annotations

import re

import pytest

from stream2gym.cli.main import make_parser
from tests.support.ci_files import CI, commands_of, github_scripts, github_steps, gitlab_scripts, read


@pytest.mark.parametrize("scripts", [github_scripts(), gitlab_scripts()], ids=["github", "gitlab"])
def test_every_call_of_the_command_is_understood(scripts: list[str]) -> None:
    calls = commands_of(scripts)
    assert [words[0] for words in calls] == ["setup", "doctor", "run", "report", "report"]
    for words in calls:
        parser, _ = make_parser(words[0])
        parser.parse_args(words)


def test_both_files_run_the_same_commands() -> None:
    assert commands_of(github_scripts()) == commands_of(gitlab_scripts())


def test_nothing_that_the_service_fills_in_is_part_of_a_script() -> None:
    """The title of a pull request, for example, could be a command."""
    assert not [script for script in github_scripts() if "${{" in script]


def test_the_report_is_kept_also_when_the_run_fails() -> None:
    after = [
        step
        for step in github_steps()
        if step.get("name") in ("Summary", "Comment") or "upload" in step.get("uses", "")
    ]
    assert len(after) == 3
    assert all("!cancelled()" in step["if"] for step in after)
    assert read("gitlab-ci.yml")["stream2gym"]["artifacts"]["when"] == "always"


def test_what_is_uploaded_is_what_the_commands_write() -> None:
    [upload] = [step for step in github_steps() if "upload" in step.get("uses", "")]
    kept = set(upload["with"]["path"].split())
    artifacts = read("gitlab-ci.yml")["stream2gym"]["artifacts"]
    assert kept == {*artifacts["paths"], artifacts["reports"]["junit"]}
    assert {"s2g-run/report.html", "summary.md", "junit.xml"} <= kept


def test_actions_have_fixed_versions_and_permissions_are_few() -> None:
    assert all(re.search(r"@v\d+$", step["uses"]) for step in github_steps() if "uses" in step)
    assert read("github-actions.yml")["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert len(list(CI.glob("*.yml"))) == 2
