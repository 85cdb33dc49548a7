"""The commands validate, schema, convert and examples, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream2gym.cli.main import main
from stream2gym.errors import BadInput, CannotHere
from stream2gym.spec.loading import find_experiment, load_experiment
from stream2gym.spec.readers import bundled_examples
from tests.support.loading import Load

GOOD = "s2g: 1\nname: good\ntopology: {kind: star, hosts: 2, latency: 5 ms}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text("s2g: 1\ntopology: {hosts: [h1], links: [h1 -- s1]}\ntme: 5 s\n")
    return tmp_path


@pytest.mark.usefixtures("here")
def test_validate_says_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "good.yaml"]) == 0
    assert capsys.readouterr().out == "good is valid: 2 hosts, 1 switch, 2 links\n"


@pytest.mark.usefixtures("here")
def test_validate_tells_every_mistake_and_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "bad.yaml"]) == 2
    told = capsys.readouterr().err
    assert "bad.yaml:2: topology.links.h1 -- s1: there is no host or switch 's1'" in told
    assert "bad.yaml:3: tme: unknown key 'tme' (did you mean 'time'?)" in told
    assert told.endswith("2 mistakes\n")


@pytest.mark.usefixtures("here")
def test_validate_speaks_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "bad.yaml", "--json"]) == 2
    result = json.loads(capsys.readouterr().out)
    assert result["valid"] is False
    assert [mistake["line"] for mistake in result["mistakes"]] == [2, 3]
    assert main(["validate", "good.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "valid": True, "name": "good", "warnings": [], "undecidable": [], "not_runnable": [],
    }  # fmt: skip


@pytest.mark.usefixtures("here")
def test_validate_takes_changed_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "good.yaml", "--set", "topology.hosts=7"]) == 0
    assert "7 hosts" in capsys.readouterr().out
    assert main(["validate", "good.yaml", "--set", "nonsense"]) == 2
    assert "is not KEY=VALUE" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("word", ["gone.yaml", "./gone", "x.txt", "nobody-has-this-example"])
def test_what_is_not_there_is_one_clear_mistake(capsys: pytest.CaptureFixture[str], word: str) -> None:
    assert main(["validate", word]) == 2
    assert "1 mistake" in capsys.readouterr().err


def test_the_schema_knows_every_section_and_the_short_forms(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert {"topology", "brokers", "faults", "expect"} <= set(schema["properties"])
    assert schema["additionalProperties"] is False
    assert {"type": "string"} in schema["$defs"]["Host"]["anyOf"]
    assert {"$ref": "#/$defs/Star"} in schema["$defs"]["Topology"]["anyOf"]
    assert schema["$defs"]["Fault"]["additionalProperties"] is True


def test_convert_goes_both_ways(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "good.yaml", "--out", "out"]) == 0
    assert capsys.readouterr().out == "out/good.graphml\n"
    assert main(["convert", "out/good.graphml", "--out", "again.yaml"]) == 0
    assert load_experiment(here / "again.yaml").experiment == load_experiment(here / "good.yaml").experiment
    assert main(["convert", "out/good.graphml", "--out", "again.yaml"]) == 2
    assert "is there already" in capsys.readouterr().err


def test_convert_names_what_graphml_cannot_say(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "good.yaml").write_text(GOOD + "time: 30 s\nseed: 9\n")
    assert main(["convert", "good.yaml", "--out", "out"]) == 0
    assert capsys.readouterr().err == "GraphML cannot say: seed: 9\nGraphML cannot say: time: 30 s\n"


def test_converted_paths_still_lead_to_their_files(
    here: Path, published: Load, capsys: pytest.CaptureFixture[str]
) -> None:
    source = published("forms").files[0]
    (here / "deep").mkdir()
    assert main(["convert", str(source), "--out", "deep/forms.yaml"]) == 0
    # One of its programs needs PyFlink, which not every machine has.
    assert main(["validate", "deep/forms.yaml"]) in (0, CannotHere.exit_code)
    assert "forms is valid" in capsys.readouterr().out


def test_examples_are_found_by_the_name_of_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, file in (("alpha", "experiment.yaml"), ("beta", "input.graphml"), ("empty", "README.md")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("# Shows little.\n")
    (tmp_path / "beta" / "README.md").write_text("# Beta\n\nShows much.\n")
    monkeypatch.setattr(bundled_examples, "FOLDERS", (tmp_path / "no", tmp_path))
    assert find_experiment("beta") == tmp_path / "beta" / "input.graphml"
    assert main(["examples"]) == 0
    assert capsys.readouterr().out == "alpha  Shows little\nbeta   Shows much\n"
    assert main(["examples", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["alpha", "beta"]
    with pytest.raises(BadInput, match=r"did you mean 'alpha'\?"):
        find_experiment("alpah")


def test_a_folder_stands_for_the_experiment_in_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "good.yaml").rename(here / "experiment.yaml")
    assert main(["validate", "./"]) == 0
    assert "good is valid" in capsys.readouterr().out


def test_every_bundled_example_is_valid() -> None:
    examples = bundled_examples.bundled_examples()
    assert [name for name, path in examples.items() if not load_experiment(path).experiment.topology.hosts] == []
