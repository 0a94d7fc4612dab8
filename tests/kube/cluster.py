"""A Kubernetes control plane of one's own: etcd, an API server, and whatever else of it a test wants, on loopback."""

from __future__ import annotations

import hashlib
import shutil
import ssl
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

import httpx
import yaml

from tests.kube.access import FRONT_PROXY, Access
from tests.kube.certificates import new_key
from tests.kube.hollow import SELECTOR, stages
from tests.kube.processes import Process, free_ports

# Gangs and what belongs to them. All programs have to be told the same.
FEATURE_GATES: Mapping[str, bool] = {
    "GenericWorkload": True,
    "TopologyAwareWorkloadScheduling": True,
    "PodGroupPreemptionPolicy": True,
    "WorkloadWithJob": True,
    "CompositePodGroup": True,
}
RUNTIME_CONFIG: Mapping[str, bool] = {
    "scheduling.k8s.io/v1beta1": True,
    "scheduling.k8s.io/v1alpha3": True,
}
_ISSUER = "https://kubernetes.default.svc"
# etcd is asked at every readiness check of the API server: one that does not answer shows after this.
_PROBE_SECONDS = 5.0


class ProgramMissing(Exception):
    """This program is not among those that were provided."""


class Cluster:
    """All processes of one control plane, with its data and its logs in one folder.

    `with Cluster(...) as cluster` starts etcd and the API server; the others start when they are asked for. At the end
    everything is stopped and the data is removed; the logs stay.
    """

    def __init__(
        self,
        directory: Path,
        programs: Path,
        *,
        feature_gates: Mapping[str, bool] = FEATURE_GATES,
        runtime_config: Mapping[str, bool] = RUNTIME_CONFIG,
        api_server_options: Sequence[str] = (),
        durable: bool = False,
    ) -> None:
        self.directory = directory
        self._programs = programs
        self._gates = _switches(feature_gates)
        self._processes: dict[str, Process] = {}
        etcd_port, peer_port, api_port, *others = free_ports(6)
        self._controller_manager_port, self._scheduler_port, self._kwok_port = others
        self._account_key = directory / "service-accounts.key"
        self.url = f"https://127.0.0.1:{api_port}"
        self.access = Access(directory, self.url)
        self.client, self.kubeconfig, self.tls = self.access.client, self.access.kubeconfig, self.access.tls
        self.etcd = self._etcd(etcd_port, peer_port, durable)
        self.api_server = self._api_server(etcd_port, api_port, runtime_config, api_server_options)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> Self:
        self.etcd.start()
        self.api_server.start()
        return self

    def stop(self) -> None:
        """Everything, in the reverse order of its start: nobody is left without whom it needs."""
        for process in reversed(self._processes.values()):
            process.stop()
        shutil.rmtree(self.directory / "etcd", ignore_errors=True)

    def compact(self, version: int) -> None:
        """Let etcd forget what was before a version."""
        request = {"revision": str(version), "physical": True}
        httpx.post(f"{self._etcd_url}/v3/kv/compaction", json=request, trust_env=False).raise_for_status()

    @property
    def processes(self) -> list[Process]:
        return list(self._processes.values())

    def start_controller_manager(self, options: Sequence[str] = ()) -> Process:
        """It makes pods of Jobs and ReplicaSets, empties namespaces, counts budgets. Nodes need no heartbeat."""
        flags = [
            f"--kubeconfig={self.kubeconfig('system:kube-controller-manager')}",
            f"--service-account-private-key-file={self._account_key}",
            f"--root-ca-file={self.access.authority}",
            "--use-service-account-credentials",
            "--node-monitor-grace-period=24h",
            "--leader-elect=false",
            *options,
        ]
        return self._component("kube-controller-manager", self._controller_manager_port, flags).start()

    def start_scheduler(self, configuration: Mapping[str, Any] | None = None, options: Sequence[str] = ()) -> Process:
        """`configuration` is any more of its KubeSchedulerConfiguration."""
        connection = {"kubeconfig": str(self.kubeconfig("system:kube-scheduler")), "qps": 1000, "burst": 1000}
        whole = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": connection,
            "leaderElection": {"leaderElect": False},
            **(configuration or {}),
        }
        flags = [f"--config={self._written('scheduler', yaml.safe_dump(whole))}", *options]
        return self._component("kube-scheduler", self._scheduler_port, flags).start()

    def start_kwok(self, *, stop_after_ms: int | None = None, complete_after_ms: int | None = None) -> Process:
        """It plays the kubelets of nodes that are made with `tests.kube.hollow.node`; see `stages` there."""
        played = stages(stop_after_ms=stop_after_ms, complete_after_ms=complete_after_ms)
        flags = [
            f"--kubeconfig={self.kubeconfig()}",
            f"--config={self._written('stages', yaml.safe_dump_all(played))}",
            f"--manage-nodes-with-annotation-selector={SELECTOR}",
            f"--server-address=127.0.0.1:{self._kwok_port}",
        ]
        healthy = f"http://127.0.0.1:{self._kwok_port}/healthz"
        return self._process("kwok", flags, lambda: _answers(healthy)).start()

    def _etcd(self, port: int, peer_port: int, durable: bool) -> Process:
        self._etcd_url = mine = f"http://127.0.0.1:{port}"
        peers = f"http://127.0.0.1:{peer_port}"
        options = [
            f"--data-dir={self.directory / 'etcd'}",
            f"--listen-client-urls={mine}",
            f"--advertise-client-urls={mine}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            *([] if durable else ["--unsafe-no-fsync"]),
        ]
        return self._process("etcd", options, lambda: _answers(f"{mine}/readyz"))

    def _api_server(
        self, etcd_port: int, port: int, runtime_config: Mapping[str, bool], options: Sequence[str]
    ) -> Process:
        server = self.access.certificate("kube-apiserver")
        new_key(self._account_key)
        flags = [
            f"--etcd-servers=http://127.0.0.1:{etcd_port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--secure-port={port}",
            f"--tls-cert-file={server.certificate}",
            f"--tls-private-key-file={server.key}",
            f"--client-ca-file={self.access.authority}",
            f"--requestheader-client-ca-file={self.access.front_authority}",
            f"--requestheader-allowed-names={FRONT_PROXY}",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            f"--service-account-key-file={self._account_key}",
            f"--service-account-signing-key-file={self._account_key}",
            f"--service-account-issuer={_ISSUER}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=Node,RBAC",
            f"--runtime-config={_switches(runtime_config)}",
            f"--feature-gates={self._gates}",
            *options,
        ]
        tls = self.tls()
        return self._process("kube-apiserver", flags, lambda: _answers(f"{self.url}/readyz", tls))

    def _component(self, name: str, port: int, options: Sequence[str]) -> Process:
        """One of the programs that serve their health over TLS with a certificate that they make themselves."""
        flags = [
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self.directory / name}",
            f"--feature-gates={self._gates}",
            *options,
        ]
        return self._process(name, flags, lambda: _answers(f"https://127.0.0.1:{port}/healthz"))

    def _process(self, name: str, options: Sequence[str], ready: Callable[[], bool]) -> Process:
        """The one that there is, if it would be called in the same way; else it makes room for a new one."""
        process = Process([self._program(name), *options], self.directory / f"{name}.log", ready)
        before = self._processes.get(name)
        if before is not None and before.command == process.command:
            return before
        if before is not None:
            before.stop()
        self._processes[name] = process
        return process

    def _written(self, name: str, text: str) -> Path:
        """A file that is called another name when there is something else in it."""
        place = self.directory / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.yaml"
        place.write_text(text)
        return place

    def _program(self, name: str) -> Path:
        program = self._programs / name
        if not program.is_file():
            raise ProgramMissing(f"there is no {name} in {self._programs}")
        return program


def _switches(settings: Mapping[str, bool]) -> str:
    return ",".join(f"{name}={str(on).lower()}" for name, on in settings.items())


def _answers(url: str, tls: ssl.SSLContext | None = None) -> bool:
    try:
        return httpx.get(url, verify=tls or _trusting(), timeout=_PROBE_SECONDS, trust_env=False).is_success
    except httpx.TransportError:
        return False


@cache
def _trusting() -> ssl.SSLContext:
    """For health of programs that made their certificate themselves."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
