"""Who may ask: with a token, whoever has it; without one, only programs on this machine that mean this machine.

A page of some site, open in a browser here, can send requests to loopback addresses too. Its requests name the site in
their Host (when its name was made to point here) or in their Origin; neither is served.
"""

import hmac
import ipaddress
from typing import Any
from urllib.parse import urlsplit

from reprieve.server.answers import Unauthorized, WrongMethod
from reprieve.stores.errors import Forbidden, StoreError
from reprieve.texts import server as texts

_OPEN = ("/healthz", "/livez", "/readyz")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
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

    def __init__(self, token: str = "") -> None:
        self._token = token.encode()

    def check(self, scope: Any) -> None:
        """Raises what has to be answered instead."""
        headers: Headers = dict(scope["headers"])
        if scope["method"] not in METHODS:
            raise WrongMethod(scope["method"], METHODS)
        refusal = self._by_token(scope, headers) if self._token else _by_origin(headers)
        if refusal is not None:
            raise refusal

    def _by_token(self, scope: Any, headers: Headers) -> StoreError | None:
        if scope["path"] in _OPEN:
            return None
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        same = hmac.compare_digest(given.strip(), self._token)
        return None if same and scheme.lower() == b"bearer" else Unauthorized(texts.UNAUTHORIZED)


def _by_origin(headers: Headers) -> StoreError | None:
    if not is_loopback(_host_of_url(f"http://{headers.get(b'host', b'').decode('latin-1')}")):
        return Forbidden(texts.STRANGE_HOST)
    origin = headers.get(b"origin")
    if origin is not None and not is_loopback(_host_of_url(origin.decode("latin-1"))):
        return Forbidden(texts.STRANGE_ORIGIN)
    return None


def _host_of_url(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
