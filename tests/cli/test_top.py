"""`reprieve top`: how full it is, who holds most, and who waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.builders.federation import hollow_cluster
from tests.builders.pods import pod, to_yaml
from tests.cli.running import HOLLOW, Running, running, until
from tests.generators.federations import binding

FLAVOR = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "any"}}
QUOTA = {"name": "any", "resources": [{"name": "cpu", "nominalQuota": 2}]}
QUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ClusterQueue",
    "metadata": {"name": "lab"},
    "spec": {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [QUOTA]}],
    },
}
LOCAL = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "LocalQueue",
    "metadata": {"name": "mine"},
    "spec": {"clusterQueue": "lab"},
}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("top"), *HOLLOW, "--node-gpus", "1") as plane:
        first = {"nodeSelector": {"kubernetes.io/hostname": "hollow-1"}}
        pods = [pod("big", cpu="3", memory="2Gi", gpu="1", spec=first), pod("small", cpu="250m", spec=first)]
        plane.ok("apply", "-f", "-", stdin=to_yaml(*pods, pod("giant", cpu="99"), FLAVOR, QUEUE, LOCAL))
        until(lambda: [each["spec"].get("nodeName") for each in plane.pods().values()].count("hollow-1") == 2)
        yield plane


def test_nodes(plane: Running) -> None:
    assert plane.ok("top", "nodes").lines == [
        "NODE       STATUS   CPU            MEMORY          GPU          PODS",
        "hollow-1   Ready    3.25/4 (81%)   2Gi/8Gi (25%)   1/1 (100%)   2/110",
        "hollow-2   Ready    0/4 (0%)       0/8Gi (0%)      0/1 (0%)     0/110",
    ]


def test_pods_the_largest_first(plane: Running) -> None:
    assert plane.ok("top", "pods").lines == [
        "NAMESPACE   POD     NODE       PRIORITY   CPU    MEMORY   GPU",
        "default     big     hollow-1   0          3      2Gi      1",
        "default     small   hollow-1   0          0.25   0        0",
    ]
    assert plane.ok("top", "pods", "-n", "kube-system").stdout == "There are no pods.\n"


def test_queues_and_who_waits_in_them(plane: Running) -> None:
    for number in (1, 2):
        plane.ok("submit", "--name", f"q{number}", "--cpu", "1500m", "--queue", "mine", "--", "true")
    want = ["lab", "any", "cpu", "1.5/2", "0", "1", "1"]
    until(lambda: plane.ok("top", "queues").rows[1] == want)
    until(lambda: plane.ok("get", "pods", "-l", "app=q1", "-o", "name").lines)
    text = plane.ok("top").stdout
    assert [line for line in text.splitlines() if line.startswith("default") and "workload/job-q2" in line]
    plane.ok("delete", "jobs", "q1", "q2")


def test_everything_at_a_glance_tells_who_waits_and_why(plane: Running) -> None:
    waiting = next(line for line in plane.ok("top").lines if "pod/giant" in line)
    assert "Pod/default/giant is unschedulable: it needs 99 cpu" in waiting


def test_for_other_programs(plane: Running) -> None:
    found = plane.ok("top", "nodes", "-o", "json").json()
    assert found["nodes"][1] == {
        "node": "hollow-2",
        "status": "Ready",
        "cpu": "0/4 (0%)",
        "memory": "0/8Gi (0%)",
        "gpu": "0/1 (0%)",
        "pods": "0/110",
    }
    assert plane.run("top", "-o", "yaml").code == 2
    assert plane.run("top", "planets").code == 2


# Member clusters

GATES = ("--feature-gates", "PriorityBasedScheduling=true,PriorityBasedPreemptiveScheduling=true")


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("clusters"), *HOLLOW, *GATES) as plane:
        silent = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "silent"}}
        bindings = [
            binding("runs", priority=100, cpu="3"),
            binding("waits", priority=50, cpu="2", reach=["m1", "silent"]),
            binding("stopped", priority=7, cpu="1", spec={"suspension": {"scheduling": True}}),
        ]
        plane.ok("apply", "-f", "-", stdin=to_yaml(hollow_cluster("m1", {"cpu": "4", "memory": "8Gi"}), silent))
        until(lambda: plane.ok("top", "clusters").rows[1][2] == "0/4")
        plane.ok("apply", "-f", "-", stdin=to_yaml(*bindings))
        until(lambda: "m1 has insufficient resources" in plane.ok("top", "clusters").stdout)
        until(lambda: "3/4 (75%)" in plane.ok("top", "clusters").stdout)
        yield plane


def test_clusters_and_who_waits_for_them(federation: Running) -> None:
    lines = federation.ok("top", "clusters").lines
    assert lines[:4] == [
        "CLUSTER   STATUS     CPU         MEMORY       BINDINGS   LEAVING",
        "m1        Ready      3/4 (75%)   0/8Gi (0%)   1          0",
        "silent    NoReport   -           -            0          0",
        "",
    ]
    waiting = [line.split()[:3] for line in lines[4:]]
    assert waiting == [
        ["NAMESPACE", "WAITING", "PRIORITY"],
        ["default", "resourcebinding/waits", "50"],
        ["default", "resourcebinding/stopped", "7"],
    ]
    assert "m1 has insufficient resources" in lines[5]
    assert lines[6].endswith("it is suspended")
    assert federation.ok("top", "clusters", "-o", "json").json()["clusters"][0]["cpu"] == "3/4 (75%)"
    assert "resourcebinding/waits" in federation.ok("top").stdout


def test_bindings_in_wide_tables(federation: Running) -> None:
    wide = federation.ok("get", "bindings", "-o", "wide").lines
    titles = ["NAME", "SCHEDULED", "CLUSTERS", "REPLICAS", "AGE", "PRIORITY", "PREEMPTION", "REQUESTS", "LEAVING"]
    assert wide[0].split()[:9] == titles
    assert wide[1].split()[0:4] == ["runs", "True", "m1:1", "1"]
    assert wide[1].split()[5:8] == ["100", "PreemptLowerPriority", "cpu=3"]
    assert wide[2].endswith("suspended")
    assert "ResourceBinding/default/waits is unschedulable" in wide[3]
