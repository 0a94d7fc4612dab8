"""Who may ask: whoever has a token. Where none is wanted, only programs on this machine that mean this machine.

1. A token comes in the header `Authorization: Bearer TOKEN`, or at the beginning of the path, `/bearer/TOKEN/api/...`:
   kubectl sends no header over plain HTTP, so the kubeconfig that `reprieve up` writes has the token in its address.
2. Whether it lives (`/healthz`, `/livez`, `/readyz`) may be asked by anybody.
3. A page of some site, open in a browser here, can send requests to loopback addresses too. Browsers say so, in
   `Origin` and `Sec-Fetch-Site`: only pages of this server itself are served, with a token and without. Where no token
   is wanted the `Host` has to be this machine as well: the name of another site may have been made to point here.
"""

import ipaddress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from reprieve.access.identities import ANYBODY, Identity
from reprieve.access.tokens import Tokens
from reprieve.server.answers import WrongMethod
from reprieve.stores.errors import Forbidden, Unauthorized
from reprieve.texts import server as texts

OPEN = ("/healthz", "/livez", "/readyz")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
IDENTITY = "reprieve.identity"
"""Where a request says who asks, once that is known."""
_IN_PATH = "/bearer/"
_OWN_SITE = (b"same-origin", b"none")
Headers = dict[bytes, bytes]


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    if host.lower().rstrip(".") == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """Looks at every request before anything else does."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def check(self, scope: Any) -> dict[str, Any]:
        """The request with who asks, and without a token in its path; raises what has to be answered instead."""
        headers: Headers = dict(scope["headers"])
        scope, in_path = _without_token(scope)
        if scope["method"] not in METHODS:
            raise WrongMethod(scope["method"], METHODS)
        _check_page(headers)
        if not self._tokens.wanted:
            _check_host(headers)
            return {**scope, IDENTITY: ANYBODY}
        if scope["path"] in OPEN:
            return {**scope}
        identity = self._tokens.owner_of(in_path or _in_header(headers))
        if identity is None:
            raise Unauthorized(texts.UNAUTHORIZED)
        return {**scope, IDENTITY: identity}


def identity_of(scope: Any) -> Identity:
    """Who asks; the guard has seen to it that there is somebody."""
    identity: Identity = scope[IDENTITY]
    return identity


def _in_header(headers: Headers) -> str:
    scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
    return given.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""


class _Split(NamedTuple):
    scope: dict[str, Any]
    token: str


def _without_token(scope: dict[str, Any]) -> _Split:
    path: str = scope["path"]
    if not path.startswith(_IN_PATH):
        return _Split(scope, "")
    token, _, rest = path.removeprefix(_IN_PATH).partition("/")
    raw: bytes = scope.get("raw_path") or path.encode()
    return _Split({**scope, "path": f"/{rest}", "raw_path": b"/" + b"/".join(raw.split(b"/")[3:])}, token)


def _check_page(headers: Headers) -> None:
    """Programs say nothing of pages. What a browser sends comes from a page of this server, or is refused."""
    if headers.get(b"sec-fetch-site", b"none") not in _OWN_SITE:
        raise Forbidden(texts.STRANGE_ORIGIN)
    origin = headers.get(b"origin")
    if origin is not None and _place_of(origin) != headers.get(b"host", b"").lower():
        raise Forbidden(texts.STRANGE_ORIGIN)


def _place_of(origin: bytes) -> bytes:
    """The host and port of a page; empty for one that says nothing of itself."""
    scheme, _, host = origin.lower().partition(b"://")
    return host if scheme in (b"http", b"https") else b""


def _check_host(headers: Headers) -> None:
    if not is_loopback(_host_of_url(f"http://{headers.get(b'host', b'').decode('latin-1')}")):
        raise Forbidden(texts.STRANGE_HOST)


def _host_of_url(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
