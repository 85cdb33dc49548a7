"""The certificate authorities and the proxy of this machine, for a Java that downloads.

The Java of the wheel knows neither. If the system has a trust store for Java, that one is used. Otherwise one is
written from the certificate bundle of the system, in the old key store format of Java, which needs no library.
"""

from __future__ import annotations

import hashlib
import os
import re
import ssl
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from stream2gym.software.cache import Cache

SYSTEM_STORES = ("/etc/ssl/certs/java/cacerts", "/etc/pki/ca-trust/extracted/java/cacerts")
SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def network_flags(cache: Cache, environment: Mapping[str, str] | None = None) -> list[str]:
    """JVM flags for the certificate authorities and the proxy of this machine."""
    env = os.environ if environment is None else environment
    store = next((path for path in SYSTEM_STORES if os.access(path, os.R_OK)), None)
    if store is None:
        bundles = [env.get("SSL_CERT_FILE", ""), *SYSTEM_BUNDLES]
        bundle = next((path for path in bundles if path and os.access(path, os.R_OK)), None)
        store = str(_store_from(Path(bundle), cache)) if bundle else None
    return [*([f"-Djavax.net.ssl.trustStore={store}"] if store else []), *proxy_flags(env)]


def proxy_flags(env: Mapping[str, str]) -> list[str]:
    """The usual proxy variables of the environment, as JVM flags."""
    flags = []
    for scheme in ("http", "https"):
        named = env.get(f"{scheme}_proxy") or env.get(f"{scheme.upper()}_PROXY")
        if named:
            address = urlsplit(named if "//" in named else f"//{named}")
            flags += [
                f"-D{scheme}.proxyHost={address.hostname}",
                f"-D{scheme}.proxyPort={address.port or 80}",
            ]
    spared = env.get("no_proxy") or env.get("NO_PROXY")
    if flags and spared:
        hosts = [f"*{host}" if host.startswith(".") else host for host in re.split(r"[,\s]+", spared) if host]
        flags.append(f"-Dhttp.nonProxyHosts={'|'.join(hosts)}")
    return flags


def _store_from(bundle: Path, cache: Cache) -> Path:
    text = bundle.read_text("utf-8", errors="replace")
    path = cache.path("java", f"authorities-{hashlib.sha256(text.encode()).hexdigest()[:16]}.jks")
    if not path.is_file():
        cache.write(path, key_store([ssl.PEM_cert_to_DER_cert(pem) for pem in _PEM.findall(text)]))
    return path


def key_store(certificates: Sequence[bytes], password: str = "changeit") -> bytes:
    """A Java key store (JKS, version 2) that trusts the given DER certificates."""

    def text(value: str) -> bytes:
        return struct.pack(">H", len(value)) + value.encode()

    body = struct.pack(">III", 0xFEEDFEED, 2, len(certificates))
    for number, certificate in enumerate(certificates):
        entry = struct.pack(">I", 2) + text(f"ca{number}") + struct.pack(">Q", 0) + text("X.509")
        body += entry + struct.pack(">I", len(certificate)) + certificate
    seal = hashlib.sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + body, usedforsecurity=False)
    return body + seal.digest()
