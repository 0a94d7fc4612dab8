"""Requests to an API server as one user, in the words of its own API; nothing of this is what is being tested."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import httpx

from tests.kube.certificates import Certificate

Manifest = Mapping[str, Any]
_MERGE_PATCH = "application/merge-patch+json"


class Refused(Exception):
    """The server said no: its status code, reason and message."""

    def __init__(self, response: httpx.Response) -> None:
        status = response.json() if "json" in response.headers.get("content-type", "") else {}
        self.code = response.status_code
        self.reason = str(status.get("reason", ""))
        self.message = str(status.get("message", response.text))
        super().__init__(f"{self.code} {self.reason}: {self.message}")


class Resource(NamedTuple):
    """How the server calls a kind in paths."""

    plural: str
    namespaced: bool


def tls_context(authority: Path, user: Certificate) -> ssl.SSLContext:
    """To a server that this authority vouches for, as this user; for httpx, aiohttp or a plain socket."""
    context = ssl.create_default_context(cafile=str(authority))
    context.load_cert_chain(user.certificate, user.key)
    return context


class KubeClient:
    """An API server as one user sees it. `http` is for whatever has no method here."""

    def __init__(self, url: str, tls: ssl.SSLContext, timeout: float = 30.0) -> None:
        self.http = httpx.Client(base_url=url, verify=tls, timeout=timeout, trust_env=False)
        self._resources = cache(self._discover)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.http.close()

    def request(self, method: str, path: str, **more: Any) -> Any:
        """The answer, decoded; a refusal is an exception."""
        response = self.http.request(method, path, **more)
        if response.is_error:
            raise Refused(response)
        return response.json()

    def create(self, manifest: Manifest, namespace: str | None = None) -> Any:
        place = namespace or manifest.get("metadata", {}).get("namespace")
        return self.request("POST", self.path(manifest["apiVersion"], manifest["kind"], place), json=manifest)

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        return self.request("GET", self.path(api_version, kind, namespace, name))

    def find(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        """The object, or nothing where there is none."""
        try:
            return self.get(api_version, kind, name, namespace)
        except Refused as refused:
            if refused.code == httpx.codes.NOT_FOUND:
                return None
            raise

    def list(self, api_version: str, kind: str, namespace: str | None = None, **parameters: str) -> Any:
        """The objects, of all namespaces where none is named; parameters as `labelSelector` are the server's own."""
        return self.request("GET", self.path(api_version, kind, namespace), params=parameters)["items"]

    def patch(
        self,
        api_version: str,
        kind: str,
        name: str,
        change: Manifest,
        namespace: str | None = None,
        subresource: str = "",
    ) -> Any:
        """Merge a change into an object."""
        path = self.path(api_version, kind, namespace, name, subresource)
        return self.request("PATCH", path, json=change, headers={"Content-Type": _MERGE_PATCH})

    def delete(
        self, api_version: str, kind: str, name: str, namespace: str | None = None, grace_seconds: int | None = None
    ) -> Any:
        parameters = {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        return self.request("DELETE", self.path(api_version, kind, namespace, name), params=parameters)

    def bind(self, pod: str, node: str, namespace: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
        self.request("POST", self.path("v1", "Pod", namespace, pod, "binding"), json=binding)

    def path(
        self, api_version: str, kind: str, namespace: str | None = None, name: str = "", subresource: str = ""
    ) -> str:
        resources = self._resources(api_version)
        if kind not in resources:
            # A kind that came since, with its definition.
            self._resources.cache_clear()
            resources = self._resources(api_version)
        plural, namespaced = resources[kind]
        scope = f"namespaces/{namespace}" if namespaced and namespace else ""
        parts = (_root(api_version), scope, plural, name, subresource)
        return "/".join(part for part in parts if part)

    def _discover(self, api_version: str) -> dict[str, Resource]:
        found = self.request("GET", _root(api_version))["resources"]
        return {each["kind"]: Resource(each["name"], each["namespaced"]) for each in found if "/" not in each["name"]}


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
