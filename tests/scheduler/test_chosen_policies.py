"""Which policies decide is a choice; one that is off decides for nobody, and nobody else does for its units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import reprieve
from reprieve.configuration import Settings
from reprieve.manifests.kinds import JOBS, QUOTA_WORKLOADS
from reprieve.manifests.problems import InvalidInput
from reprieve.policies.registry import choices, registered
from reprieve.scheduler import registry as lanes
from reprieve.stores.records import Record
from tests.planes.running import SETTINGS, Plane, live
from tests.seats import HELD, SERVER, WANT, SeatsEntry, SeatsLane

Dict = dict[str, Any]
QUEUES = """
partitions:
  - name: default
    queues:
      - name: root
        queues:
          - name: small
            resources: {max: {vcore: 1}}
"""


def only(*policies: str) -> Settings:
    return msgspec.structs.replace(SETTINGS, policies=policies)


def queue_configuration() -> Dict:
    metadata = {"name": "yunikorn-configs", "namespace": "yunikorn"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"queues.yaml": QUEUES}}


def quota_objects() -> list[Dict]:
    about = "kueue.x-k8s.io/v1beta2"
    quota = {"name": "cpu", "nominalQuota": "4"}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": [quota]}]}
    template = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}
    pod_sets = [{"name": "main", "count": 1, "template": template}]
    return [
        {"apiVersion": about, "kind": "ResourceFlavor", "metadata": {"name": "any"}},
        {
            "apiVersion": about,
            "kind": "ClusterQueue",
            "metadata": {"name": "all"},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group]},
        },
        {"apiVersion": about, "kind": "LocalQueue", "metadata": {"name": "lq"}, "spec": {"clusterQueue": "all"}},
        {
            "apiVersion": about,
            "kind": "Workload",
            "metadata": {"name": "w"},
            "spec": {"queueName": "lq", "podSets": pod_sets},
        },
    ]


def gang() -> Dict:
    spec = {"schedulingPolicy": {"gang": {"minCount": 1}}}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": spec}


async def _world(plane: Plane) -> dict[str, object]:
    """A pod alone, one in a group, one that a queue has no room for, and a quota workload; what became of each."""
    await plane.node("n1", cpu="8")
    await plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "yunikorn"}})
    await plane.apply(queue_configuration(), gang(), *quota_objects())
    await plane.pod("alone", cpu="1", labels={"queue": "root.small", "yunikorn.apache.org/allow-preemption": "false"})
    await plane.pod("large", cpu="2", labels={"queue": "root.small"})
    await plane.pod("member", cpu="1", schedulingGroup={"podGroupName": "g"})
    await plane.passes(60)
    workload = await plane.store.get(QUOTA_WORKLOADS, "w", "default")
    return {
        **{name: await plane.where(name) for name in ("alone", "large", "member")},
        "w": _admitted(workload),
    }


def _admitted(workload: Record) -> bool:
    return bool(workload.data.get("status", {}).get("admission"))


@pytest.mark.parametrize(
    ("policies", "want"),
    [
        (None, {"alone": "n1", "large": "", "member": "n1", "w": True}),
        (("pod",), {"alone": "n1", "large": "n1", "member": "", "w": False}),
        (("podgroup",), {"alone": "", "large": "", "member": "n1", "w": False}),
        (("queue",), {"alone": "n1", "large": "", "member": "", "w": False}),
        (("quota",), {"alone": "", "large": "", "member": "", "w": True}),
        (("federation",), {"alone": "", "large": "", "member": "", "w": False}),
        (("pod", "podgroup"), {"alone": "n1", "large": "n1", "member": "n1", "w": False}),
    ],
)
def test_only_those_that_are_on_decide(policies: tuple[str, ...] | None, want: dict[str, object]) -> None:
    got = live(_world, SETTINGS if policies is None else only(*policies))
    assert {name: value or ("" if name != "w" else False) for name, value in got.items()} == want


@pytest.fixture
def seats() -> Iterator[None]:
    lanes.register(SeatsLane, SeatsEntry.name)
    try:
        with registered(SeatsEntry.name, SeatsEntry):
            yield
    finally:
        lanes.unregister(SeatsLane)


@pytest.mark.usefixtures("seats")
@pytest.mark.parametrize(("policies", "held"), [(("seats",), "cad"), (("pod", "seats"), "cad"), (("pod",), None)])
def test_one_that_was_registered_from_outside_is_a_choice_like_any_other(
    policies: tuple[str, ...], held: str | None
) -> None:
    assert "seats" in choices()
    about = {"name": "cad", "namespace": "default", "labels": {SERVER: "yes"}}
    server = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": {"seats": "3"}}
    pods = {"containers": [{"name": "main", "image": "cad"}], "restartPolicy": "Never"}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "draw", "namespace": "default", "annotations": {WANT: "1"}},
        "spec": {"parallelism": 0, "template": {"spec": pods}},
    }

    async def story(plane: Plane) -> str | None:
        await plane.apply(server, job)
        await plane.passes(30)
        found = await plane.store.get(JOBS, "draw", "default")
        return (found.metadata.get("annotations") or {}).get(HELD)

    assert live(story, only(*policies)) == held


def test_a_plan_says_that_a_policy_is_off() -> None:
    with pytest.raises(InvalidInput, match="the policy quota is off; there is nothing to decide"):
        reprieve.plan(quota_objects(), preemptor="Workload/default/w", config={"policies": ["pod"]})


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["pod", "quotas"], '$.policies[1]: found "quotas"; allowed: federation, pod, podgroup, queue, quota'),
        (["quotas"], 'did you mean "quota"?'),
        (["queue-limits"], 'found "queue-limits"; allowed'),
        ([], "$.policies: it names no policy; allowed: federation, pod, podgroup, queue, quota"),
    ],
)
def test_what_is_no_policy_is_refused_with_those_that_are(names: list[str], said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        reprieve.plan(quota_objects(), config={"policies": names})
    assert said in str(refused.value)
