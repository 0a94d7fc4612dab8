"""Who may come in: certificates, kubeconfig files and clients for any user of a control plane."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.kube.certificates import Authority, Certificate
from tests.kube.client import KubeClient, tls_context

ADMIN = "admin"
_ADMINS = "system:masters"
FRONT_PROXY = "front-proxy"


class Access:
    """Users by name and groups. Whoever is called `admin`, and nobody says of which groups, may do everything."""

    def __init__(self, directory: Path, url: str) -> None:
        self._url = url
        self._authority = Authority(directory / "certificates", "kubernetes")
        self._front_authority = Authority(directory / "front-certificates", "kubernetes-front-proxy")
        self.authority = self._authority.certificate
        self.front_authority = self._front_authority.certificate
        # Made once for each user, and when somebody asks for it.
        self._issue = cache(self._authority.issue)
        self.front_proxy = cache(lambda: self._front_authority.issue(FRONT_PROXY))

    def certificate(self, user: str, groups: Sequence[str] | None = None) -> Certificate:
        default = (_ADMINS,) if user == ADMIN else ()
        return self._issue(user, default if groups is None else tuple(groups))

    def tls(self, user: str = ADMIN, groups: Sequence[str] | None = None) -> ssl.SSLContext:
        """For any client that takes one: httpx, aiohttp, a plain socket."""
        return tls_context(self.authority, self.certificate(user, groups))

    def client(
        self, user: str = ADMIN, groups: Sequence[str] | None = None, *, server: str | None = None
    ) -> KubeClient:
        """Requests as this user; `server` where the way goes through somebody else, such as a proxy."""
        return KubeClient(server or self._url, self.tls(user, groups))

    def kubeconfig(self, user: str = ADMIN, groups: Sequence[str] | None = None, *, server: str | None = None) -> Path:
        """A file for this user, with one context."""
        address = server or self._url
        mine = self.certificate(user, groups)
        port = address.rpartition(":")[2]
        place = mine.certificate.with_name(f"{mine.certificate.stem}-{port}.kubeconfig")
        place.write_text(yaml.safe_dump(_kubeconfig(address, self.authority, mine)))
        return place


def _kubeconfig(server: str, authority: Path, user: Certificate) -> dict[str, Any]:
    cluster = {"server": server, "certificate-authority": str(authority)}
    credentials = {"client-certificate": str(user.certificate), "client-key": str(user.key)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": credentials}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "default"}}],
        "current-context": "test",
    }
