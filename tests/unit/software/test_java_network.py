import hashlib
import struct

from stream2gym.software.java_network import key_store, proxy_flags


def test_a_key_store_holds_its_certificates_and_is_sealed() -> None:
    store = key_store([b"first", b"second"])
    assert struct.unpack(">III", store[:12]) == (0xFEEDFEED, 2, 2)
    assert store.index(b"first") < store.index(b"second")
    password = "changeit".encode("utf-16-be")
    assert store[-20:] == hashlib.sha1(password + b"Mighty Aphrodite" + store[:-20]).digest()


def test_proxy_variables_become_java_properties() -> None:
    env = {"https_proxy": "http://proxy.example:3128", "no_proxy": "localhost,.example.org"}
    assert proxy_flags(env) == [
        "-Dhttps.proxyHost=proxy.example",
        "-Dhttps.proxyPort=3128",
        "-Dhttp.nonProxyHosts=localhost|*.example.org",
    ]


def test_a_proxy_without_scheme_or_port_is_understood() -> None:
    assert proxy_flags({"HTTP_PROXY": "proxy.example"}) == [
        "-Dhttp.proxyHost=proxy.example",
        "-Dhttp.proxyPort=80",
    ]


def test_no_proxy_needs_no_flags() -> None:
    assert proxy_flags({"no_proxy": "localhost"}) == []
