"""`reprieve explain` of groups, of Jobs in quota queues and of what goes to member clusters, from a control plane."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import federation as federated
from tests.builders.pods import pod, pod_group, priority_class, to_yaml
from tests.builders.quota import flavor, queue
from tests.cli.explain.test_live import explained
from tests.cli.running import Running, running, until

NODE = ("--agent", "hollow", "--nodes", "1", "--node-cpu", "8", "--node-memory", "8Gi")
GATES = (
    "GenericWorkload=true,PodGroupPreemptionPolicy=true,"
    "PriorityBasedScheduling=true,PriorityBasedPreemptiveScheduling=true"
)
CLASSES = [priority_class("low", 1), priority_class("high", 100)]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("units"), *NODE, "--feature-gates", GATES) as plane:
        plane.ok("apply", "-f", "-", stdin=to_yaml(*CLASSES))
        yield plane


def apply(plane: Running, *manifests: dict[str, Any]) -> None:
    plane.ok("apply", "-f", "-", stdin=to_yaml(*manifests))


def until_told(plane: Running, asked: str, word: str) -> None:
    until(lambda: word in plane.run("explain", asked).stdout)


def test_groups_and_their_pods(plane: Running) -> None:
    for name, group in (("low", "small"), ("high", "large")):
        member = {"schedulingGroup": {"podGroupName": group}}
        pods = [pod(f"{group}-{number}", cpu="4", priority_class=name, spec=member) for number in range(2)]
        apply(plane, pod_group(group, gang=2, priorityClassName=name), *pods)
        until_told(plane, f"podgroup/{group}", " bound ")
    for asked in ("podgroup/large", "large", "large-0"):
        assert "Decided at <time>: Pod/default/small-0 and Pod/default/small-1 make way for PodGroup/default/large" in (
            "\n".join(explained(plane, asked))
        ), asked
    for asked in ("small", "small-0"):
        assert re.search(
            r"Pod/default/small-0 was preempted at <time> by PodGroup/default/large.*, because priority 1 is below 100",
            "\n".join(explained(plane, asked)),
        ), asked
    for one, other in (("large", "small"), ("large-1", "small"), ("small", "small-1")):
        assert explained(plane, one, "--why-not", other)[-1] == (
            "Pod/default/small-1 was a victim: priority 1 is below 100, the preemptor's."
        ), (one, other)
    plane.ok("delete", "podgroup/large", "podgroup/small", "pod/large-0", "pod/large-1")
    assert explained(plane, "small", "--why-not", "large-0")


def test_jobs_in_quota_queues(plane: Running) -> None:
    nominal = {"default": {"cpu": "2"}}
    apply(plane, flavor(), *queue("a", nominal, cohort="c"), *queue("b", nominal, cohort="c", reclaim="Any"))
    for name, where in (("keeps", "a"), ("borrower", "a"), ("owner", "b")):
        plane.ok("submit", "--name", name, "--cpu", "2", "--queue", where, "--", "sleep", "600")
        until_told(plane, f"job/{name}", "(bound)")
    text = "\n".join(explained(plane, "borrower"))
    assert re.match(r"Job/default/borrower: 1 attempt: Pod/default/borrower-\w{5} \(preempted\)", text), text
    workload, preemptor = (rf"Workload/default/job-{name}-\w{{5}}" for name in ("borrower", "owner"))
    assert re.search(rf"{workload} was preempted at <time> by {preemptor} on \w+, because a borrows", text)
    assert re.search(rf"evicted +Left with {workload}, which was preempted", text)
    assert re.fullmatch(
        r"Workload/default/job-keeps-\w{5} stayed: the preemptor fits beside it\.",
        explained(plane, "job/owner", "--why-not", "job/keeps")[-1],
    )
    found = re.search(workload, text)
    assert found is not None
    for asked in (found[0], found[0].replace("Workload/default", "workload"), found[0].rpartition("/")[2]):
        assert any(f"{found[0]} was preempted" in line for line in explained(plane, asked)), asked
    plane.ok("delete", "job/keeps", "job/borrower", "job/owner")
    assert re.match(r"Job/default/borrower: 1 attempt: .* \(preempted\)", plane.ok("explain", "borrower").stdout)


def test_what_goes_to_member_clusters(plane: Running) -> None:
    policies = [
        {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", **federated.policy(tier)}
        for tier in ("low", "high")
    ]
    apply(plane, federated.hollow_cluster("m1", {"cpu": "4"}, grace=0), *policies)
    for name, tier in (("minor", "low"), ("major", "high")):
        made = federated.deployment(name, replicas=4, tier=tier)
        apply(plane, {"apiVersion": "apps/v1", "kind": "Deployment", **made})
        until_told(plane, f"deployment/{name}", " scheduled ")
    for asked in ("deployment/minor", "rb/minor-deployment", "minor-deployment", "minor"):
        text = "\n".join(explained(plane, asked))
        victim, preemptor = (f"ResourceBinding/default/{name}-deployment" for name in ("minor", "major"))
        assert f"{victim} was preempted at <time> by {preemptor} on m1, because priority 1 is below 100" in text, asked
    assert explained(plane, "deployment/major", "--why-not", "deployment/minor")[-1].startswith(
        "ResourceBinding/default/minor-deployment was a victim: priority 1 is below 100"
    )
    plane.ok("delete", "deployment/minor", "deployment/major")
    until_told(plane, "minor", " gone ")
