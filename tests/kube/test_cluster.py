"""The control plane that tests run against is a real one: it starts, refuses, schedules, survives, and goes away."""

from __future__ import annotations

import ssl
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from kubernetes import client, config

from tests.cli.running import until
from tests.kube import programs
from tests.kube.client import KubeClient, Refused
from tests.kube.cluster import Cluster
from tests.kube.faults import Answer, matching
from tests.kube.hollow import pod
from tests.kube.processes import DidNotStart
from tests.kube.proxy import FaultyProxy
from tests.paths import ROOT

MakeNode = Callable[..., dict[str, Any]]


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": "text"}}


def test_it_says_which_version_it_is(admin: KubeClient) -> None:
    version = admin.request("GET", "/version")
    assert version["gitVersion"].startswith("v1.37.")
    assert (version["major"], version["minor"]) == ("1", "37")


def test_groups_of_pods_are_among_its_kinds(admin: KubeClient, namespace: str) -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "gang"}, "spec": spec}
    assert admin.create(group, namespace)["spec"]["disruptionMode"] == {"single": {}}


def test_rights_are_those_of_the_user_and_its_groups(kube: Cluster, admin: KubeClient, namespace: str) -> None:
    with kube.client("grace", ["librarians"]) as ada, pytest.raises(Refused) as refused:
        ada.list("v1", "ConfigMap", namespace)
    assert (refused.value.code, refused.value.reason) == (403, "Forbidden")
    let_read_config_maps(admin, "librarians", namespace)
    with kube.client("grace", ["librarians"]) as ada:
        until(lambda: may_list(ada, namespace))
        with pytest.raises(Refused):
            ada.create(config_map("mine"), namespace)


def let_read_config_maps(admin: KubeClient, group: str, namespace: str) -> None:
    rbac = "rbac.authorization.k8s.io"
    named = {"apiVersion": f"{rbac}/v1", "metadata": {"name": group}}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}
    admin.create({**named, "kind": "Role", "rules": [rule]}, namespace)
    subject, role = {"kind": "Group", "name": group}, {"kind": "Role", "name": group}
    whom = {"subjects": [{**subject, "apiGroup": rbac}], "roleRef": {**role, "apiGroup": rbac}}
    admin.create({**named, "kind": "RoleBinding", **whom}, namespace)


def may_list(client: KubeClient, namespace: str) -> bool:
    return client.http.get(client.path("v1", "ConfigMap", namespace)).status_code != httpx.codes.FORBIDDEN


def test_who_has_no_certificate_is_nobody(kube: Cluster) -> None:
    tls = ssl.create_default_context(cafile=str(kube.access.authority))
    answer = httpx.get(f"{kube.url}/api/v1/pods", verify=tls, trust_env=False)
    assert answer.status_code in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}


@pytest.mark.usefixtures("working_kube")
def test_a_pod_is_scheduled_runs_and_ends_with_its_grace_period(
    admin: KubeClient, namespace: str, make_node: MakeNode
) -> None:
    name = make_node(cpu="2")["metadata"]["name"]
    admin.create(pod("one", cpu="2", grace_seconds=3), namespace)
    until(lambda: phase(admin, "one", namespace) == "Running")
    assert admin.get("v1", "Pod", "one", namespace)["spec"]["nodeName"] == name
    admin.create(pod("two", cpu="2"), namespace)
    begun = time.monotonic()
    assert "deletionTimestamp" in admin.delete("v1", "Pod", "one", namespace)["metadata"]
    until(lambda: admin.find("v1", "Pod", "one", namespace) is None)
    # The server keeps whole seconds.
    assert time.monotonic() - begun >= 2
    until(lambda: phase(admin, "two", namespace) == "Running")


def test_jobs_come_to_an_end_where_that_is_wanted(
    working_kube: Cluster, admin: KubeClient, namespace: str, make_node: MakeNode
) -> None:
    working_kube.start_kwok(stop_after_ms=100, complete_after_ms=100)
    make_node()
    template = {"spec": {**pod("", cpu="1")["spec"], "restartPolicy": "Never"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "batch"}, "spec": {"template": template}}
    admin.create(job, namespace)
    admin.create(pod("stays", grace_seconds=30), namespace)
    until(lambda: admin.get("batch/v1", "Job", "batch", namespace)["status"].get("succeeded") == 1)
    until(lambda: phase(admin, "stays", namespace) == "Running")
    admin.delete("v1", "Pod", "stays", namespace)
    until(lambda: admin.find("v1", "Pod", "stays", namespace) is None, 10)


def phase(client: KubeClient, name: str, namespace: str) -> Any:
    return client.get("v1", "Pod", name, namespace)["status"].get("phase")


def test_it_keeps_its_data_over_restarts_and_kills(kube: Cluster, admin: KubeClient, namespace: str) -> None:
    admin.create(config_map("kept"), namespace)
    before = kube.api_server.pid
    kube.api_server.kill()
    with pytest.raises(httpx.TransportError):
        admin.request("GET", "/readyz")
    kube.api_server.start()
    assert kube.api_server.pid != before
    assert admin.get("v1", "ConfigMap", "kept", namespace)["data"] == {"key": "text"}


def test_while_etcd_is_halted_nothing_is_written(kube: Cluster, admin: KubeClient, namespace: str) -> None:
    """The server knows no answer, or says that it failed."""
    kube.etcd.halt()
    answered = 504
    try:
        with suppress(httpx.ReadTimeout):
            where = admin.path("v1", "ConfigMap", namespace)
            answered = admin.http.post(where, json=config_map("late"), timeout=1).status_code
        assert answered >= 500
    finally:
        kube.etcd.go_on()
    kube.api_server.wait_until_ready()
    until(lambda: admin.list("v1", "Namespace"))


def test_through_the_proxy_rights_stay_those_of_the_user(kube: Cluster, namespace: str) -> None:
    with FaultyProxy(kube.access, kube.url) as proxy:
        with kube.client(server=proxy.url) as admin, kube.client("eve", server=proxy.url) as eve:
            proxy.inject(Answer(409), matching(verb="create"))
            with pytest.raises(Refused, match="409 Conflict"):
                admin.create(config_map("one"), namespace)
            admin.create(config_map("one"), namespace)
            with pytest.raises(Refused, match=r'403 Forbidden: .*User "eve"'):
                eve.list("v1", "ConfigMap", namespace)
        assert proxy.count(verb="create", path="/configmaps$") == 2
        assert proxy.count(user="eve", verb="list") == 1


def test_other_programs_come_in_by_kubeconfig(kube: Cluster, namespace: str) -> None:
    connect: Any = config.new_client_from_config
    with connect(str(kube.kubeconfig())) as connection:
        found: Any = client.CoreV1Api(connection).read_namespace(namespace)
    assert found.metadata.name == namespace


def test_a_wrong_flag_shows_what_the_program_says(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, programs.folder(), feature_gates={"NoSuchGate": True})
    with pytest.raises(DidNotStart, match="NoSuchGate"), cluster:
        pass
    assert not any(process.running for process in cluster.processes)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of the end of their parent")
def test_nothing_is_left_when_it_ends_or_is_killed(tmp_path: Path) -> None:
    folder = programs.folder()
    with Cluster(tmp_path / "ends", folder) as cluster:
        pids = [process.pid for process in cluster.processes]
        assert all(psutil.pid_exists(pid) for pid in pids)
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert not (tmp_path / "ends" / "etcd").exists()
    assert (tmp_path / "ends" / "etcd.log").stat().st_size > 0
    script = """
    import sys
    from pathlib import Path
    from tests.kube.cluster import Cluster
    with Cluster(Path(sys.argv[1]), Path(sys.argv[2])) as cluster:
        print(*(process.pid for process in cluster.processes), flush=True)
        sys.stdin.read()
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "killed"), str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert len(pids) == 2
        parent.kill()
    until(lambda: not any(psutil.pid_exists(pid) for pid in pids), 10)
