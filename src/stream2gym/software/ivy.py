"""Apache Ivy, which comes with PySpark's wheel, as a program: coordinates in, jars out.

Ivy knows the address of the public repository, so that none is written down here. ``S2G_IVY_SETTINGS`` names a
settings file of the user, for those behind a mirror. Ivy gets either exactly the jars that it is given (then it
reads no POM, which would take most of the time), or with ``transitive`` also all that their POMs name.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from stream2gym.errors import BadInput, CannotHere, Mistake, S2gError, StartFailed
from stream2gym.software import child_process
from stream2gym.software.cache import Cache
from stream2gym.software.java import JavaRuntime
from stream2gym.software.java_network import network_flags
from stream2gym.software.lock_list import Artifact

RETRIEVED = "got"
_SETTINGS = """<ivysettings>
  <property name="ivy.checksums" value={checksums}/>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="{poms}" useMavenMetadata="false"/></resolvers>
</ivysettings>
"""
_MODULE = """<ivy-module version="2.0">
  <info organisation="stream2gym" module="fetch"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""
_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx256m")


def ivy_jar() -> Path:
    """The jar of Ivy in the wheel of PySpark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise CannotHere("the package pyspark is missing", "pip install pyspark==4.2.0")
    found = sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))
    if not found:
        raise CannotHere("this PySpark has no Apache Ivy among its jars", "pip install pyspark==4.2.0")
    return found[-1]


def start(
    artifacts: Sequence[Artifact], folder: Path, java: JavaRuntime, cache: Cache, *, transitive: bool = False
) -> subprocess.Popen[bytes]:
    """Start Ivy on these artifacts. It puts the jars into ``folder/got`` and its log into ``folder/ivy.log``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ivy.xml").write_text(module_xml(artifacts, transitive=transitive), "utf-8")
    settings = os.environ.get("S2G_IVY_SETTINGS")
    if settings and not os.access(settings, os.R_OK):
        raise BadInput(Mistake("S2G_IVY_SETTINGS", f"{settings} cannot be read", "name an Ivy settings file"))
    if not settings:
        settings = str(folder / "settings.xml")
        Path(settings).write_text(settings_xml(transitive=transitive), "utf-8")
    pattern = f"{folder}/{RETRIEVED}/[organisation]/[module]/[revision]/[artifact]-[revision](-[classifier]).[ext]"
    # fmt: off
    command = [
        java.java, *_JVM, *network_flags(cache), "-jar", str(ivy_jar()),
        "-settings", settings, "-ivy", str(folder / "ivy.xml"), "-cache", str(folder / "cache"),
        "-confs", "default", "-types", "jar", "bundle", "-retrieve", pattern,
    ]
    # fmt: on
    return child_process.start(command, folder / "ivy.log", folder)


def repository_address(artifact: Artifact, folder: Path) -> str | None:
    """Where Ivy, started in ``folder``, found the artifact: the address of an HTTP repository with Maven's layout."""
    report = folder / "cache" / "stream2gym-fetch-default.xml"
    if report.is_file():
        for origin in ElementTree.parse(report).iter("origin-location"):
            location = origin.get("location", "")
            if location.startswith(("http://", "https://")) and location.endswith(f"/{artifact.maven_path}"):
                return location.removesuffix(artifact.maven_path)
    return None


def settings_xml(*, transitive: bool) -> str:
    """Settings that name the public repository as Ivy knows it. We check the checksums of lock lists, not Ivy."""
    checksums = quoteattr("sha1" if transitive else "")
    return _SETTINGS.format(checksums=checksums, poms="true" if transitive else "false")


def module_xml(artifacts: Sequence[Artifact], *, transitive: bool) -> str:
    conf = "default->master,runtime(*)" if transitive else "default->*"
    rows = [
        f"    <dependency org={quoteattr(a.group)} name={quoteattr(a.name)} rev={quoteattr(a.version)} "
        f"conf={quoteattr(conf)} transitive={quoteattr(str(transitive).lower())}/>"
        for a in artifacts
    ]
    return _MODULE.format(dependencies="\n".join(rows))


def explain(log: Path, cache: Cache, needed: int = 0) -> S2gError:
    """Why Ivy failed, as one message that says what to do."""
    text = log.read_text("utf-8", errors="replace") if log.is_file() else ""
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return cache.full(needed)
    if re.search(r"PKIX|SSLHandshake|certificat|trustAnchors", text):
        return CannotHere(
            "the jars cannot be fetched: this Java does not trust the server's certificate",
            "set SSL_CERT_FILE to the bundle of authorities of your network, or name a mirror in an Ivy settings "
            "file with S2G_IVY_SETTINGS",
        )
    if re.search(r"Host \S+ not found|ConnectException|UnknownHost|NoRouteToHost|timed? ?out|Connection re", text):
        return CannotHere(
            "the jars cannot be fetched: no network (the repository's host was not reached)",
            "connect this machine and run it again; behind a proxy set https_proxy, for a mirror name an Ivy "
            "settings file with S2G_IVY_SETTINGS; what was fetched already is kept",
        )
    missing = sorted({":".join(found) for found in re.findall(r":: ([^\s#]+)#([^\s;]+);(\S+): not found", text)})
    if missing:
        return CannotHere(
            f"the repository does not have {', '.join(missing)}",
            "check the version; a mirror that lacks it can be replaced with S2G_IVY_SETTINGS",
        )
    end = "\n".join(line for line in text.splitlines() if line.strip())[-1500:]
    return StartFailed(f"Apache Ivy could not fetch the jars; the end of its log:\n{end}")
