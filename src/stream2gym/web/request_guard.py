"""Who may ask the page's server what: pure decisions about the headers of a request.

The server listens on loopback only, but any page in a browser of this machine can send requests there, and names that
somebody else controls can resolve to 127.0.0.1. So the host must be a name of loopback, a request that says where it
comes from must come from the page itself, and everything about a run needs the token of the printed link.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

LOOPBACK_NAMES = frozenset(("127.0.0.1", "localhost", "[::1]"))
POLICY = "; ".join(
    (
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)  # fmt: skip
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Refusal:
    """Why a request is refused, and the status of the answer."""

    status: int
    reason: str


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(32)


def check_request(method: str, headers: Mapping[str, str], token: str, *, needs_token: bool) -> Refusal | None:
    """Why this request is refused; None if it may be answered."""
    host = headers.get("host", "")
    if host_name(host) not in LOOPBACK_NAMES:
        return Refusal(421, "this server answers to 127.0.0.1 and localhost only")
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        return Refusal(403, "requests from other pages are refused")
    site = headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return Refusal(403, "requests from other sites are refused")
    if method not in ("GET", "HEAD") and origin is None:
        return Refusal(403, "a request that changes something must say where it comes from")
    if needs_token and not has_token(headers, token):
        return Refusal(401, "the token of the link is missing or wrong")
    return None


def host_name(host: str) -> str:
    """The name in a Host header, without the port, which ssh may have changed."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


def has_token(headers: Mapping[str, str], token: str) -> bool:
    """Whether the request has the token as its bearer."""
    return hmac.compare_digest(_bearer(headers).encode("utf-8", "replace"), token.encode())


def _bearer(headers: Mapping[str, str]) -> str:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""
