"""`plan`, `explain` and `top` with --context: any cluster, with nothing installed, and with the right to read only."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from reprieve.manifests.yunikorn import CONFIG_MAPS
from tests.cli.running import call, until
from tests.kube import certificates
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.conftest import MakeNode
from tests.kube.hollow import pod
from tests.kube.read_only import Onlooker, allow_reading, onlooker
from tests.paths import ROOT


@pytest.fixture
def reader(kube: Cluster, admin: KubeClient) -> Iterator[Onlooker]:
    with onlooker(kube, admin) as found:
        yield found


@pytest.fixture
def classes(admin: KubeClient) -> dict[str, int]:
    """Priority classes that all tests here share."""
    known = {"context-low": 10, "context-high": 1000}
    for name, value in known.items():
        if admin.find("scheduling.k8s.io/v1", "PriorityClass", name) is None:
            manifest = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
            admin.create({**manifest, "value": value})
    return known


@pytest.fixture
def full_node(admin: KubeClient, namespace: str, make_node: MakeNode, classes: dict[str, int]) -> str:
    """A node of 4 cpu with two unimportant pods of 2, which nothing but this test may use."""
    del classes
    node: str = make_node(cpu="4", labels={"test": namespace})["metadata"]["name"]
    for name in ("old", "young"):
        admin.create(pod(name, cpu="2", priorityClassName="context-low", scheduler="nobody"), namespace)
        admin.bind(name, node, namespace)
    return node


def job(name: str, namespace: str, *, cpu: str, parallelism: int = 1, **more: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    spec = {
        "containers": [container],
        "restartPolicy": "Never",
        "priorityClassName": "context-high",
        "nodeSelector": {"test": namespace},
        **more,
    }
    metadata = {"name": name, "namespace": namespace}
    template = {"spec": spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"parallelism": parallelism, "completions": parallelism, "template": template},
    }


def written(directory: Path, *manifests: dict[str, Any]) -> str:
    place = directory / "job.yaml"
    place.write_text(yaml.safe_dump_all(manifests))
    return str(place)


def test_plan_says_who_would_make_way_for_a_job(
    reader: Onlooker, namespace: str, full_node: str, tmp_path: Path
) -> None:
    done = reader("plan", "-f", written(tmp_path, job("train", namespace, cpu="2", parallelism=2)), "-o", "json")
    assert done.code == 0, done.stderr
    decisions = done.json()["decisions"]
    assert [made["preemptor"] for made in decisions] == [f"Pod/{namespace}/train-{number}" for number in (0, 1)]
    assert {made["outcome"] for made in decisions} == {"Preempt"}
    assert {made["domain"] for made in decisions} == {full_node}
    victims = sorted(victim["unit"] for made in decisions for victim in made["victims"])
    assert victims == [f"Pod/{namespace}/old", f"Pod/{namespace}/young"]
    assert done.stderr == ""
    assert reader.requests() > 0
    assert reader.writes() == []


def test_plan_makes_a_gang_of_a_job_and_its_group(
    reader: Onlooker, namespace: str, full_node: str, tmp_path: Path
) -> None:
    """The server has pod groups, so that gangs count without a word from the user."""
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": namespace},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "priorityClassName": "context-high"},
    }
    manifests = group, job("train", namespace, cpu="2", parallelism=2, schedulingGroup={"podGroupName": "gang"})
    done = reader("plan", "-f", written(tmp_path, *manifests), "-o", "json")
    assert done.code == 0, done.stderr
    (made,) = done.json()["decisions"]
    assert (made["preemptor"], made["outcome"]) == (f"PodGroup/{namespace}/gang", "Preempt")
    assert set(made["placement"].values()) == {full_node}
    assert len(made["victims"]) == 2


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_plan_makes_pods_of_what_has_replicas(
    reader: Onlooker, namespace: str, full_node: str, tmp_path: Path, kind: str
) -> None:
    assert full_node
    template = {**job("web", namespace, cpu="4")["spec"]["template"], "metadata": {"labels": {"app": "web"}}}
    template["spec"] = {**template["spec"], "restartPolicy": "Always"}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "serviceName": "web", "template": template}
    if kind != "StatefulSet":
        del spec["serviceName"]
    manifest = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "namespace": namespace}}
    done = reader("plan", "-f", written(tmp_path, {**manifest, "spec": spec}), "-o", "json")
    assert done.code == 0, done.stderr
    (made,) = done.json()["decisions"]
    assert (made["preemptor"], len(made["victims"])) == (f"Pod/{namespace}/web-0", 2)


def test_what_waits_for_no_place_is_a_mistake_with_a_hint(reader: Onlooker, tmp_path: Path) -> None:
    manifest = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "x"}, "value": 3}
    done = reader("plan", "-f", written(tmp_path, manifest))
    assert done.code == 2
    assert done.stderr.splitlines()[-1].startswith(
        "error: PriorityClass//x: nothing of this waits for a place; --change"
    )


def test_plan_compares_before_and_after_a_change(reader: Onlooker, full_node: str, tmp_path: Path) -> None:
    assert full_node
    done = reader("plan", "--change", written(tmp_path, pod("new", cpu="4", priorityClassName="context-high")))
    assert done.code == 0, done.stderr
    assert reader.writes() == []


def test_explain_says_why_a_pod_of_the_cluster_waits(
    reader: Onlooker, admin: KubeClient, namespace: str, full_node: str
) -> None:
    wanted = pod("big", cpu="4", priorityClassName="context-high", scheduler="nobody")
    admin.create({**wanted, "spec": {**wanted["spec"], "nodeSelector": {"test": namespace}}}, namespace)
    done = reader("explain", f"pod/{namespace}/big")
    assert done.code == 0, done.stderr
    assert done.lines[0] == (
        f"Pod/{namespace}/old and Pod/{namespace}/young make way for Pod/{namespace}/big on {full_node}."
    )
    assert reader("explain", "big").lines[0] == done.lines[0]
    spared = reader("explain", "pod/big", "-n", namespace, "--why-not", "pod/old")
    assert f"Pod/{namespace}/old is a victim" in spared.stdout
    assert reader.writes() == []


def test_explain_says_who_of_a_job_waits(
    reader: Onlooker, admin: KubeClient, namespace: str, full_node: str, working_kube: Cluster
) -> None:
    assert full_node
    assert working_kube
    admin.create(job("train", namespace, cpu="64", schedulerName="nobody"), namespace)
    until(lambda: [each for each in admin.list("v1", "Pod", namespace) if each["metadata"]["name"].startswith("train")])
    done = reader("explain", f"job/{namespace}/train")
    assert done.code == 0, done.stderr
    assert f"/{namespace}/train-" in done.lines[0]
    assert "64 cpu" in done.stdout


def test_explain_tells_of_pods_that_another_scheduler_preempted(
    reader: Onlooker, admin: KubeClient, namespace: str, full_node: str, working_kube: Cluster
) -> None:
    """From the events of kube-scheduler, after the victim is gone."""
    working_kube.start_kwok(stop_after_ms=100)
    wanted = pod("big", cpu="4", priorityClassName="context-high")
    admin.create({**wanted, "spec": {**wanted["spec"], "nodeSelector": {"test": namespace}}}, namespace)
    until(lambda: admin.find("v1", "Pod", "old", namespace) is None)
    until(lambda: "was preempted" in reader("explain", f"pod/{namespace}/old").stdout)
    told = reader("explain", f"pod/{namespace}/old").lines
    assert told[0] == f"Pod/{namespace}/old is gone."
    assert told[1].startswith(f"Pod/{namespace}/old was preempted at 20")
    assert f"for Pod/{namespace}/big by default-scheduler: Preempted by" in told[1]
    assert full_node in told[1]
    assert f"Pod/{namespace}/old was preempted" in reader("explain", f"pod/{namespace}/big").stdout
    missing = reader("explain", f"pod/{namespace}/nobody")
    assert missing.code == 2
    assert "is not in the cluster of context 'test'" in missing.stderr


def test_top_counts_what_the_cluster_has(reader: Onlooker, namespace: str, full_node: str) -> None:
    rows = reader("top").rows
    assert [full_node, "Ready", "4/4", "(100%)"] in [row[:4] for row in rows]
    pods = reader("top", "pods", "-n", namespace).rows
    assert sorted(row[1] for row in pods[1:]) == ["old", "young"]
    assert json.loads(reader("top", "nodes", "-l", f"test={namespace}", "-o", "json").stdout)["nodes"][0]["cpu"]
    assert reader("top", "queues").stdout.strip() == "There are no queues."
    assert reader.writes() == []


# What cannot be done is one line, and 2


def refused(*arguments: str, kubeconfig: str = "") -> str:
    done = call(*arguments, KUBECONFIG=kubeconfig)
    assert done.code == 2, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    return line


@pytest.mark.parametrize("verb", [("plan",), ("explain", "pod/x"), ("top",)])
def test_a_context_that_leads_nowhere_is_one_line(kube: Cluster, tmp_path: Path, verb: tuple[str, ...]) -> None:
    good = kube.kubeconfig()
    missing = str(tmp_path / "none")
    assert missing in refused(*verb, "--context", "prod", kubeconfig=missing)
    assert "'prod'" in refused(*verb, "--context", "prod", "--kubeconfig", str(good))
    data = yaml.safe_load(good.read_text())
    data["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    closed = tmp_path / "closed"
    closed.write_text(yaml.safe_dump(data))
    assert "https://127.0.0.1:1 cannot be reached" in refused(*verb, "--context", "test", "--kubeconfig", str(closed))


def test_who_may_not_list_pods_is_told_so(kube: Cluster) -> None:
    line = refused("plan", "--kubeconfig", str(kube.access.kubeconfig("stranger")))
    assert 'User "stranger" cannot list' in line
    assert line.endswith("pods and nodes must be listed to decide anything")


def test_who_is_not_known_is_told_that_his_token_may_have_expired(kube: Cluster, tmp_path: Path) -> None:
    data = yaml.safe_load(kube.kubeconfig().read_text())
    data["users"][0]["user"] = {"token": "of-yesterday"}
    place = tmp_path / "token"
    place.write_text(yaml.safe_dump(data))
    assert "401 Unauthorized" in refused("plan", "--kubeconfig", str(place))


@pytest.fixture
def expired(monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates that are issued in this test were good until a moment ago."""
    monkeypatch.setattr(certificates, "_LIFE", -timedelta(seconds=10))


@pytest.mark.usefixtures("expired")
def test_a_certificate_of_ours_that_has_expired_is_one_line(kube: Cluster) -> None:
    assert "may have expired" in refused("plan", "--kubeconfig", str(kube.access.kubeconfig("late")))


@pytest.mark.usefixtures("expired")
def test_a_certificate_of_the_server_that_has_expired_is_one_line(kube: Cluster) -> None:
    mine = kube.access.certificate("late-server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(mine.certificate, mine.key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"https://127.0.0.1:{server.server_port}"
        assert "certificate has expired" in refused("plan", "--kubeconfig", str(kube.access.kubeconfig(server=url)))
    finally:
        server.shutdown()
        server.server_close()


def test_kinds_that_may_not_be_listed_count_as_absent_and_are_named(kube: Cluster, admin: KubeClient) -> None:
    some = [{"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["list"]}]
    allow_reading(admin, "grace", some)
    done = call("plan", "--kubeconfig", str(kube.access.kubeconfig("grace")))
    assert done.code == 0, done.stderr
    warning = done.stderr.splitlines()[0]
    assert warning.startswith("warning: no right to list ")
    assert "priorityclasses.scheduling.k8s.io" in warning


def test_the_right_to_one_config_map_is_enough_for_what_that_one_says(kube: Cluster, admin: KubeClient) -> None:
    """Rights by name are what a careful administrator gives; of the other one there is a warning."""
    for name in CONFIG_MAPS:
        user = f"only-{name}"
        named = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [name], "verbs": ["list"]}
        rest = {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["list"]}
        allow_reading(admin, user, [named, rest])
        for _ in range(3):  # whichever is answered first
            done = call("plan", "--kubeconfig", str(kube.access.kubeconfig(user)))
            assert done.code == 0, done.stderr
            assert "configmaps" in done.stderr.splitlines()[0]


def test_the_rights_in_the_documentation_are_enough(kube: Cluster, admin: KubeClient) -> None:
    """For the commands, and for a shadow, which reads the same."""
    page = (ROOT / "docs" / "beside-others.md").read_text()
    role = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])
    allow_reading(admin, "mary", role["rules"])
    done = call("explain", "--kubeconfig", str(kube.access.kubeconfig("mary")), "pod/x")
    assert done.stderr.splitlines() == [
        "error: Pod/default/x is not in the cluster of context 'test', and no event there says that it was preempted"
    ]


def test_a_cluster_and_a_control_plane_cannot_be_asked_at_once(kube: Cluster) -> None:
    where = "--kubeconfig", str(kube.kubeconfig())
    for verb in (
        ("plan", "--live"),
        ("plan", "--server", "x"),
        ("top", "--server", "x"),
        ("explain", "a", "--server", "x"),
    ):
        assert "give one or the other" in refused(*verb, *where)


def test_it_is_quick(reader: Onlooker) -> None:
    """The bound is generous: machines that test are busy. How long it takes on an idle one is in the documentation."""
    began = time.monotonic()
    assert reader("plan").code == 0
    assert time.monotonic() - began < 10
