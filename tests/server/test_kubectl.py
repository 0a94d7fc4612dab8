"""kubectl itself, where it is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reprieve.manifests.kinds import PODS
from tests.cli.command import reprieve
from tests.server.planes import PATIENCE, Running, kubeconfig, pod

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
Kubectl = Callable[..., str]

SPEC = pod("low", node="n1")["spec"]
MANIFESTS = """
apiVersion: v1
kind: Pod
metadata: {name: applied, labels: {team: red}}
spec:
  containers:
  - name: main
    image: work
    command: [sleep, "60"]
    env: [{name: A, value: b}]
    resources: {requests: {cpu: 100m}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: main-queue}
spec: {cohortName: red}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
"""


@pytest.fixture
def kubectl(server: Running, tmp_path: Path) -> Kubectl:
    config = kubeconfig(server, tmp_path / "config")
    environment = {**os.environ, "KUBECONFIG": str(config), "HOME": str(tmp_path)}

    def run(*words: str, given: str = "", want: int = 0) -> str:
        done = subprocess.run(
            ["kubectl", *words],
            input=given,
            env=environment,
            text=True,
            timeout=PATIENCE,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert done.returncode == want, done.stdout
        return done.stdout

    return run


def _rows(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines()]


def test_applying_changing_and_applying_again(kubectl: Kubectl) -> None:
    assert "pod/applied created" in kubectl("apply", "-f", "-", given=MANIFESTS)
    changed = MANIFESTS.replace("red", "blue")
    assert "clusterqueue.kueue.x-k8s.io/main-queue configured" in kubectl("apply", "-f", "-", given=changed)
    assert kubectl("get", "pod", "applied", "-o", "jsonpath={.metadata.labels.team}") == "blue"
    assert kubectl("get", "cq", "main-queue", "-o", "jsonpath={.spec.cohortName}") == "blue"
    assert "unchanged" in kubectl("apply", "-f", "-", given=changed)
    green = MANIFESTS.replace("red", "green")
    server_side = kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=green)
    assert "pod/applied serverside-applied" in server_side
    assert kubectl("get", "pod", "applied", "-o", "jsonpath={.metadata.labels.team}") == "green"


def test_get_prints_every_form(kubectl: Kubectl, server: Running) -> None:
    server.fill()
    assert _rows(kubectl("get", "pods"))[0] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert _rows(kubectl("get", "pods"))[2][:3] == ["low", "0/1", "Pending"]
    wide = _rows(kubectl("get", "pods", "low", "-o", "wide", "--no-headers"))[0]
    assert wide[5:] == ["<none>", "n1", "<none>", "0"]
    assert kubectl("get", "pods", "-o", "name") == "pod/high\npod/low\n"
    assert json.loads(kubectl("get", "pods", "-o", "json"))["kind"] == "List"
    assert kubectl("get", "pod", "low", "-o", "yaml").startswith("apiVersion: v1\nkind: Pod\n")
    assert _rows(kubectl("get", "pods", "-A", "-l", "app=low", "--no-headers"))[0][:2] == ["default", "low"]
    by_field = kubectl("get", "pods", "--field-selector", "spec.nodeName=n1", "-o", "name")
    assert by_field == "pod/low\n"
    assert len(_rows(kubectl("get", "pods", "--chunk-size=1", "--no-headers"))) == 2
    assert "pod/low" in kubectl("get", "all")
    assert _rows(kubectl("get", "nodes"))[1][:2] == ["n1", "Ready"]
    assert _rows(kubectl("get", "pc"))[0] == ["NAME", "VALUE", "GLOBAL-DEFAULT", "AGE", "PREEMPTIONPOLICY"]


def test_describe_and_explain(kubectl: Kubectl, server: Running) -> None:
    server.fill()
    assert "Priority:     0" in kubectl("describe", "pod", "low")
    assert "Non-terminated Pods:          (1 in total)" in kubectl("describe", "node", "n1")
    assert "preemptionPolicy" in kubectl("explain", "pod.spec")
    assert "cohortName\t<string>" in kubectl("explain", "clusterqueue.spec")


def test_patch_label_annotate_and_delete(kubectl: Kubectl, server: Running) -> None:
    server.fill()
    kubectl("patch", "pod", "low", "-p", '{"metadata":{"labels":{"one":"1"}}}')
    kubectl("patch", "pod", "low", "--type=merge", "-p", '{"metadata":{"labels":{"two":"2"}}}')
    kubectl("patch", "pod", "low", "--type=json", "-p", '[{"op":"remove","path":"/metadata/labels/app"}]')
    kubectl("label", "pod", "low", "three=3")
    kubectl("annotate", "pod", "low", "note=kept")
    found = json.loads(kubectl("get", "pod", "low", "-o", "json"))["metadata"]
    assert found["labels"] == {"one": "1", "two": "2", "three": "3"}
    assert found["annotations"] == {"note": "kept"}
    assert "dry run" in kubectl("delete", "pod", "high", "--dry-run=server")
    assert "pod/high" in kubectl("get", "pods", "-o", "name")
    kubectl("delete", "pod", "high")
    assert kubectl("get", "pods", "-o", "name") == "pod/low\n"
    kubectl("delete", "pod", "low", "--grace-period=0", "--force")
    assert kubectl("get", "pods", "-o", "name") == ""


def test_create_run_and_logs(kubectl: Kubectl, server: Running) -> None:
    assert "pod/applied created" in kubectl("create", "-f", "-", given=MANIFESTS)
    assert "already exists" in kubectl("create", "-f", "-", given=MANIFESTS, want=1)
    kubectl("run", "quick", "--image=work")
    server.plane.written["default", "applied", "main"] = [b"one\n", b"two\n"]
    assert kubectl("logs", "applied") == "one\ntwo\n"
    assert kubectl("logs", "applied", "-c", "main", "--tail=1") == "two\n"
    assert "container ../../x is not valid" in kubectl("logs", "applied", "-c", "../../x", want=1)


def test_a_misspelt_field_is_refused_before_anything_is_kept(kubectl: Kubectl) -> None:
    wrong = MANIFESTS.replace("image:", "imag:")
    assert 'did you mean "image"?' in kubectl("apply", "-f", "-", given=wrong, want=1)
    assert kubectl("get", "pods", "-o", "name") == ""


def test_wait_sees_a_pod_go(kubectl: Kubectl, server: Running) -> None:
    server.fill()
    kubectl("delete", "pod", "high", "--wait=false")
    kubectl("wait", "--for=delete", "pod/high", "--timeout=10s")
    watched = kubectl("get", "pods", "--watch", "--request-timeout=1s", "--no-headers")
    assert _rows(watched)[0][:2] == ["low", "0/1"]


def test_cordon_and_drain(kubectl: Kubectl, server: Running) -> None:
    server.fill()
    kubectl("cordon", "n1")
    assert _rows(kubectl("get", "nodes", "--no-headers"))[0][1] == "Ready,SchedulingDisabled"
    assert "evicting pod default/low" in kubectl("drain", "n1", "--force", "--grace-period=0", "--timeout=10s")
    assert "pod/low" not in kubectl("get", "pods", "-o", "name")


def test_what_kubectl_makes_up_itself_can_be_piped(kubectl: Kubectl) -> None:
    """Newer ones send that as protobuf, which is refused with this advice."""
    made = kubectl("create", "job", "quick", "--image=work", "--dry-run=client", "-o", "yaml")
    assert "job.batch/quick created" in kubectl("create", "-f", "-", given=made)


def test_deleting_a_class_that_a_running_pod_names_warns(kubectl: Kubectl, server: Running) -> None:
    kubectl("apply", "-f", "-", given=MANIFESTS)
    server.do(server.plane.store.create(PODS, {**pod("low", node="n1"), "spec": {**SPEC, "priorityClassName": "high"}}))
    assert "Warning: Pod/default/low still names PriorityClass high" in kubectl("delete", "priorityclass", "high")


QUOTA = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec: {cohortName: red, queueingStrategy: StrictFIFO}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team}
spec: {clusterQueue: team}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: wanted}
spec: {queueName: team, podSets: [{name: main, count: 1, template: {spec: {containers: [{name: main}]}}}]}
"""
OTHER = """
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: theirs}
spec: {podGroupTemplates: [{name: workers, schedulingPolicy: {gang: {minCount: 2}}}]}
"""


def test_queues_of_quota_have_the_columns_of_kueue(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=QUOTA)

    def headings(*words: str) -> list[str]:
        return [line for line in kubectl("get", *words).splitlines() if line.startswith("NAME")]

    assert [line.split("  ")[0] for line in kubectl("get", "cq", "--no-headers").splitlines()] == ["team"]
    assert " ".join(headings("clusterqueues")[0].split()) == "NAME COHORT PENDING WORKLOADS"
    every = headings("clusterqueues,localqueues,workloads.kueue.x-k8s.io", "-o", "wide")
    assert [" ".join(line.split()) for line in every] == [
        "NAME COHORT STRATEGY PENDING WORKLOADS ADMITTED WORKLOADS",
        "NAME CLUSTERQUEUE PENDING WORKLOADS ADMITTED WORKLOADS",
        "NAME QUEUE RESERVED IN ADMITTED FINISHED AGE PRIORITY",
    ]
    assert "StrictFIFO" in kubectl("get", "clusterqueue", "team", "-o", "wide")


def test_workloads_are_those_of_kueue_and_it_is_said_where_there_are_others(kubectl: Kubectl, server: Running) -> None:
    kubectl("apply", "-f", "-", given=QUOTA)
    for word in ("workloads", "workload", "wl", "kwl"):
        assert kubectl("get", word, "-o", "name") == "workload.kueue.x-k8s.io/wanted\n"
    assert "Warning" not in kubectl("get", "workloads")
    kubectl("apply", "-f", "-", given=OTHER)
    said = kubectl("get", "workloads")
    assert "these are workloads.kueue.x-k8s.io; there are also workloads.scheduling.k8s.io" in said
    assert "wanted" in said
    assert "theirs" not in said
    said = kubectl("get", "workloads.scheduling.k8s.io")
    assert "these are workloads.scheduling.k8s.io; there are also workloads.kueue.x-k8s.io" in said
    assert "theirs" in said
    done = reprieve("get", "workloads", "--server", server.url)
    assert done.returncode == 0, done.stderr
    assert "wanted" in done.stdout
    assert "theirs" not in done.stdout
    assert "these are workloads.kueue.x-k8s.io" in done.stderr
