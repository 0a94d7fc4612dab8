"""`reprieve run` as a process beside kube-scheduler, with the rights of `deploy/rbac.yaml` and no others."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import yaml

from tests.kube.client import KubeClient, Refused
from tests.kube.cluster import Cluster
from tests.kube.processes import Process, free_ports
from tests.paths import ROOT

RIGHTS = ROOT / "deploy" / "rbac.yaml"
_ACCOUNT = "/api/v1/namespaces/kube-system/serviceaccounts/reprieve/token"
_NO_RIGHT = re.compile(r"cannot (get|list|watch|create|update|patch|delete) resource")
# The one kind that it may do without: queues need it, and they are a choice of their own.
_NOT_NEEDED = "configmaps"


def give_rights(admin: KubeClient) -> None:
    """Apply the file; what is there already stays."""
    for manifest in yaml.safe_load_all(RIGHTS.read_text()):
        try:
            admin.create(manifest)
        except Refused as refused:
            if refused.code != httpx.codes.CONFLICT:
                raise


def own_kubeconfig(cluster: Cluster, admin: KubeClient, server: str | None = None) -> Path:
    """For the service account of the file, with a token of its own; `server` where somebody stands in between."""
    give_rights(admin)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    token = admin.request("POST", _ACCOUNT, json=request)["status"]["token"]
    whole = yaml.safe_load(cluster.kubeconfig(server=server).read_text())
    whole["users"][0]["user"] = {"token": token}
    place = cluster.directory / f"reprieve-{uuid4().hex[:8]}.kubeconfig"
    place.write_text(yaml.safe_dump(whole))
    return place


@contextmanager
def also_bound(admin: KubeClient, *roles: str) -> Iterator[None]:
    """Roles of the file that nobody has who does not ask for them, for as long as it lasts."""
    give_rights(admin)
    api, made = "rbac.authorization.k8s.io", []
    for role in roles:
        name = f"{role}-{uuid4().hex[:8]}"
        subjects = [{"kind": "ServiceAccount", "name": "reprieve", "namespace": "kube-system"}]
        reference = {"apiGroup": api, "kind": "ClusterRole", "name": role}
        binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": subjects}
        admin.create({"apiVersion": f"{api}/v1", "kind": "ClusterRoleBinding", **binding})
        made.append(name)
    try:
        yield
    finally:
        for name in made:
            admin.delete(f"{api}/v1", "ClusterRoleBinding", name)


class SecondScheduler:
    """One replica, ready when it has seen everything."""

    def __init__(
        self,
        cluster: Cluster,
        admin: KubeClient,
        settings: Mapping[str, Any],
        server: str | None = None,
        options: Sequence[str] = (),
    ) -> None:
        name = uuid4().hex[:8]
        configuration = cluster.directory / f"reprieve-{name}.yaml"
        configuration.write_text(yaml.safe_dump(dict(settings)))
        (port,) = free_ports(1)
        command = [
            sys.executable,
            "-m",
            "reprieve",
            "run",
            f"--kubeconfig={own_kubeconfig(cluster, admin, server)}",
            f"--config={configuration}",
            f"--port={port}",
            *options,
        ]
        self.url = f"http://127.0.0.1:{port}"
        log = cluster.directory / f"reprieve-{name}.log"
        self.process = Process(command, log, lambda: _ready(f"{self.url}/readyz"))

    def start(self) -> SecondScheduler:
        self.process.start()
        return self

    def stop(self) -> None:
        """And make sure that it was never short of a right."""
        self.process.stop()
        lines = self.process.log.read_text().splitlines()
        missing = [line for line in lines if _NO_RIGHT.search(line)]
        assert all(_NOT_NEEDED in line for line in missing), missing


def _ready(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5.0, trust_env=False).is_success
    except httpx.TransportError:
        return False
