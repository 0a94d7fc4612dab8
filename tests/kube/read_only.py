"""A user who may read and nothing else, and a proxy that sees whether that is all he does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.cli.running import Done, call
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.proxy import FaultyProxy

READER = "ada"
_READ = ["get", "list", "watch"]
_READING = ("get", "list", "watch")


def allow_reading(admin: KubeClient, user: str = READER, rules: Sequence[dict[str, Any]] | None = None) -> None:
    """Give a user the right to read everything, or what `rules` say."""
    group = "rbac.authorization.k8s.io"
    role: dict[str, Any] = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"read-only-{user}"},
        "rules": list(rules or [{"apiGroups": ["*"], "resources": ["*"], "verbs": _READ}]),
    }
    binding: dict[str, Any] = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"read-only-{user}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": f"read-only-{user}"},
        "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
    }
    for manifest in (role, binding):
        if admin.find(manifest["apiVersion"], manifest["kind"], manifest["metadata"]["name"]) is None:
            admin.create(manifest)


class Onlooker:
    """The command line as a user who may only read, on a way on which every request is seen."""

    def __init__(self, kube: Cluster, proxy: FaultyProxy, user: str) -> None:
        self._proxy = proxy
        self.kubeconfig = str(kube.access.kubeconfig(user, server=proxy.url))

    def __call__(self, verb: str, *arguments: str) -> Done:
        return call(verb, "--kubeconfig", self.kubeconfig, "--context", "test", *arguments)

    def writes(self) -> list[tuple[str, str]]:
        """All that was asked for and was no reading."""
        return [each for each in self._proxy.counts() if each[0] not in _READING]

    def requests(self) -> int:
        return len(self._proxy.requests)


@contextmanager
def onlooker(kube: Cluster, admin: KubeClient, user: str = READER) -> Iterator[Onlooker]:
    allow_reading(admin, user)
    with FaultyProxy(kube.access, kube.url) as proxy:
        yield Onlooker(kube, proxy, user)
