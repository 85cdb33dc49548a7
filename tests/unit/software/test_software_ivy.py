from pathlib import Path
from xml.etree import ElementTree

import pytest

from stream2gym.errors import BadInput, CannotHere, S2gError, StartFailed
from stream2gym.software import ivy
from stream2gym.software.cache import Cache
from stream2gym.software.java import JavaRuntime
from stream2gym.software.lock_list import Artifact


@pytest.mark.parametrize("transitive", [True, False])
def test_what_ivy_reads_is_sound_xml_without_an_address(transitive: bool) -> None:
    module = ivy.module_xml([Artifact("g", 'n"<&', "1")], transitive=transitive)
    dependency = ElementTree.fromstring(module).find("dependencies/dependency")
    assert dependency is not None
    assert dependency.attrib["name"] == 'n"<&'
    assert dependency.attrib["transitive"] == str(transitive).lower()
    settings = ivy.settings_xml(transitive=transitive)
    ElementTree.fromstring(settings)
    assert "://" not in settings


@pytest.mark.parametrize(
    ("log", "kind", "words"),
    [
        ("Host repo.example not found. url=x\n:: g#n;1: not found", CannotHere, "no network"),
        ("java.net.ConnectException: Connection refused", CannotHere, "no network"),
        ("SSLHandshakeException: PKIX path building failed", CannotHere, "SSL_CERT_FILE"),
        ("java.io.IOException: No space left on device", CannotHere, "disk is full"),
        (":: org.apache.kafka#kafka_2.13;9.9.9: not found", CannotHere, "org.apache.kafka:kafka_2.13:9.9.9"),
        ("something new", StartFailed, "something new"),
    ],
)
def test_a_failure_of_ivy_becomes_one_clear_message(
    tmp_path: Path, log: str, kind: type[S2gError], words: str
) -> None:
    (tmp_path / "ivy.log").write_text(log)
    error = ivy.explain(tmp_path / "ivy.log", Cache(tmp_path))
    assert type(error) is kind
    assert words in str(error)


def test_a_settings_file_that_cannot_be_read_is_the_users_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S2G_IVY_SETTINGS", str(tmp_path / "missing.xml"))
    with pytest.raises(BadInput, match="S2G_IVY_SETTINGS"):
        ivy.start([Artifact("g", "n", "1")], tmp_path / "x", JavaRuntime("", "", "25"), Cache(tmp_path))


@pytest.mark.parametrize(
    ("location", "address"),
    [
        ("https://mirror.example/maven/org/example/n/1/n-1.jar", "https://mirror.example/maven/"),
        ("https://mirror.example/flat/n-1.jar", None),
        ("/srv/repository/org/example/n/1/n-1.jar", None),
    ],
)
def test_the_address_of_a_repository_is_read_from_ivys_report(
    tmp_path: Path, location: str, address: str | None
) -> None:
    artifact = Artifact("org.example", "n", "1")
    assert ivy.repository_address(artifact, tmp_path) is None
    report = tmp_path / "cache" / "stream2gym-fetch-default.xml"
    report.parent.mkdir()
    report.write_text(f'<ivy-report><artifact><origin-location location="{location}"/></artifact></ivy-report>')
    assert ivy.repository_address(artifact, tmp_path) == address
