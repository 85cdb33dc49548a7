"""The container file: what it copies exists, and it has and asks for what ``doctor`` wants."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from stream2gym.cli.main import COMMANDS
from stream2gym.hosts import refusals

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Containerfile").read_text("utf-8")


def read_instructions() -> list[tuple[str, str]]:
    """The instructions of the file, each with its words on one line."""
    lines = "\n".join(line for line in TEXT.splitlines() if not line.startswith("#"))
    joined = lines.replace("\\\n", " ")
    found = [line.split(None, 1) for line in joined.splitlines() if line.strip()]
    return [(name, " ".join(words.split())) for name, words in found]


def words_of(name: str) -> list[str]:
    return [words for found, words in read_instructions() if found == name]


def test_every_instruction_is_known_and_it_begins_with_an_image_of_a_fixed_version() -> None:
    names = [name for name, _ in read_instructions()]
    assert names[0] == "FROM"
    assert set(names) == {"FROM", "RUN", "COPY", "ENV", "WORKDIR", "ENTRYPOINT", "CMD"}
    [image] = words_of("FROM")
    assert re.fullmatch(r"python:3\.\d+-slim", image)


def test_what_is_copied_is_there_and_is_all_that_a_build_needs() -> None:
    copied = {word for words in words_of("COPY") for word in words.split()[:-1]}
    assert all((ROOT / name).exists() for name in copied)
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    named = set(re.findall(r'readme = "([^"]+)"', project)) | set(
        re.findall(r'license-files = \["([^"]+)"\]', project)
    )
    assert named | {"pyproject.toml", "src", "examples", "requirements.lock"} == copied


def test_commands_run_in_a_shell_that_stops_at_the_first_failure() -> None:
    for words in words_of("RUN"):
        assert ";" not in words
        assert "||" not in words
        shlex.split(words)


def test_all_software_is_fetched_into_a_cache_that_every_user_has() -> None:
    assert "S2G_CACHE=/opt/stream2gym" in words_of("ENV")
    order = [words for name, words in read_instructions() if name in ("ENV", "RUN")]
    assert order.index("S2G_CACHE=/opt/stream2gym") < order.index("s2g setup")
    assert json.loads(words_of("ENTRYPOINT")[0]) == ["s2g"]
    assert "run" in COMMANDS


@pytest.mark.parametrize(
    "option",
    ["--device /dev/net/tun", "--cap-add SYS_ADMIN", "--cap-add NET_ADMIN", "--security-opt seccomp=unconfined",
     "--security-opt apparmor=unconfined"],
)  # fmt: skip
def test_the_options_are_those_that_doctor_names(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "Path", lambda *_parts: Path("/nowhere"))
    assert option in refusals.refused_namespaces_remedy()
    assert option in TEXT


def test_every_option_that_doctor_names_is_there() -> None:
    refused = OSError(1, "refused", "mount proc")
    named = re.findall(r"--[a-z-]+ [\w/=]+", refusals.remedy_for(refused))
    assert named
    assert all(option in TEXT for option in named)
