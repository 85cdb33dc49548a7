"""Files that mean harm are refused quickly, whatever they try."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from stream2gym.errors import BadInput
from stream2gym.spec.loading import load_experiment

BODY = '<graphml><graph><node id="h1"><data key="brokerCfg">&x;</data></node></graph></graphml>'
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


def _refused(path: Path, within: float = 2.0) -> str:
    start = time.monotonic()
    with pytest.raises(BadInput) as caught:
        load_experiment(path, cwd=path.parent)
    assert time.monotonic() - start < within
    return str(caught.value)


@pytest.mark.parametrize(
    "doctype",
    [
        f'<!DOCTYPE g [<!ENTITY l0 "ha">{LAUGHS}<!ENTITY x "&l9;">]>',
        '<!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE g [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>',
        '<!DOCTYPE g SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE g [<!ENTITY x "' + "a" * 100_000 + '">]>',
    ],
)
def test_entities_are_never_declared_nor_fetched(tmp_path: Path, doctype: str) -> None:
    path = tmp_path / "x.graphml"
    path.write_text(doctype + BODY)
    told = _refused(path)
    assert "document type definition" in told
    assert "root:" not in told


@pytest.mark.parametrize("name", ["x.graphml", "x.yaml"])
def test_a_file_of_100_mb_is_refused_by_its_size(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    assert "100 MiB" in _refused(path, within=0.5)


@pytest.mark.parametrize("name", ["x.graphml", "x.yaml"])
def test_what_is_not_a_regular_file_is_not_opened(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    assert "not a regular file" in _refused(path)


def test_a_referred_device_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "x.graphml"
    path.write_text(BODY.replace("&x;", "/dev/zero"))
    assert "not a regular file" in _refused(path)


def test_aliases_that_blow_up_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    path = tmp_path / "x.yaml"
    path.write_text("\n".join(lines))
    assert "aliases expand to too much" in _refused(path)


def test_an_alias_of_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: &a [*a]\n")
    assert "names nothing" in _refused(path)


@pytest.mark.parametrize("text", ["[" * 200_000, "a: " + "{b: " * 100_000, "- " * 100_000, "? " * 50_000])
def test_deep_nesting_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    assert _refused(path)


def test_deep_xml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.graphml"
    path.write_text("<graphml>" + "<graph>" * 100_000)
    assert "nested more than" in _refused(path)


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system ['true']", "!x y", "!!binary aGk="])
def test_tags_make_no_objects(tmp_path: Path, tag: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(f"s2g: 1\nname: {tag}\n")
    assert "is not read" in _refused(path)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00s", b"s2g: 1\nname: \xe9\n", b"\x00\x01", b""])
def test_what_is_no_text_is_told(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(data)
    assert _refused(path)


def test_a_generated_topology_has_bounds(tmp_path: Path) -> None:
    for options in ("star, hosts: 1000000000", "tree, depth: 12, fanout: 12", "torus, x: 5000, y: 5000"):
        path = tmp_path / "x.yaml"
        path.write_text(f"s2g: 1\ntopology: {{kind: {options}}}\n")
        assert "5000" in _refused(path)


@pytest.mark.parametrize(
    "value",
    ["1" * 8000 + "\\nx\\ny", "-" * 8000, " " * 8000 + "x", "1e999999 s", "9" * 8000, "h1 -- " + "- " * 3000],
)
def test_long_values_do_not_take_long(tmp_path: Path, value: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(f's2g: 1\ntime: "{value}"\ntopology: {{hosts: [h1], links: ["{value}"]}}\n')
    assert _refused(path)


def test_a_latency_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text('s2g: 1\ntopology: {hosts: [a, b], links: [{between: [a, b], latency: "1e999 s"}]}\n')
    assert "out of range" in _refused(path)
