"""What pods ask for without saying so counts: LimitRange defaults and RuntimeClass overhead, in quota and on nodes."""

from __future__ import annotations

from typing import Any

import pytest

import reprieve
from reprieve.manifests.kinds import LIMIT_RANGES
from tests.builders.quota import flavor, queue, workload
from tests.planes.running import Dict, Plane, live, pod
from tests.scheduler.quota.companies import QUEUE, admitted_by, company, running, work


def limits(name: str = "limits", **item: Any) -> Dict:
    metadata = {"name": name, "namespace": "default"}
    spec = {"limits": [{"type": "Container", **item}, {"type": "Pod", "max": {"cpu": "64"}}]}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": spec}


def runtime(name: str, cpu: str) -> Dict:
    made: Dict = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": name}
    return {**made, "overhead": {"podFixed": {"cpu": cpu}}}


def silent(name: str, **parts: Any) -> Dict:
    """A Job whose pods do not say what they need."""
    made = work(name, "team", **parts)
    del made["spec"]["template"]["spec"]["containers"][0]["resources"]
    return made


def test_a_job_that_asks_for_nothing_asks_for_the_default_of_its_namespace_in_quota_and_on_nodes() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(limits(defaultRequest={"cpu": "1500m"}))
        await company(plane, team={"cpu": 4})
        await plane.apply(silent("work", replicas=2))
        await plane.passes(1)
        await plane.apply(silent("next"))
        await plane.passes(5)
        both = [await plane.workload(name) for name in ("work", "next")]
        assigned = both[0].data["status"]["admission"]["podSetAssignments"][0]
        assert assigned["resourceUsage"] == {"cpu": "3"}
        assert admitted_by(both[1]) == ""
        assert await running(plane, "work") == 2
        made = (await plane.starting_with("work"))[0]
        assert made.data["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "1500m"}}
        await plane.store.delete(LIMIT_RANGES, "limits", "default")
        await plane.passes(5)
        assert admitted_by(await plane.workload("next")) == "team"

    live(story)


def test_the_overhead_of_a_runtime_class_is_paid_for_and_takes_room() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(runtime("micro-vm", "500m"))
        await company(plane, team={"cpu": 4})
        await plane.apply(work("work", "team", replicas=2, runtimeClassName="micro-vm"))
        await plane.passes(5)
        status = (await plane.workload("work")).data["status"]
        assert status["admission"]["podSetAssignments"][0]["resourceUsage"] == {"cpu": "3"}
        assert (await plane.starting_with("work"))[0].data["spec"]["overhead"] == {"cpu": "500m"}

    live(story)


def test_a_pod_of_its_own_gets_both() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(limits(default={"cpu": "2"}), runtime("micro-vm", "1"))
        await company(plane, team={"cpu": 4})
        made = pod("single", labels={QUEUE: "team"}, runtimeClassName="micro-vm")
        del made["spec"]["containers"][0]["resources"]
        await plane.apply(made)
        await plane.passes(5)
        status = (await plane.workload("single")).data["status"]
        assert status["admission"]["podSetAssignments"][0]["resourceUsage"] == {"cpu": "3"}

    live(story)


@pytest.mark.parametrize(
    ("item", "needs"),
    [
        ({"defaultRequest": {"cpu": "2"}, "default": {"cpu": "4"}}, 2),
        ({"default": {"cpu": "3"}}, 3),
        ({"max": {"cpu": "4"}, "min": {"cpu": "1"}}, 4),
        ({"min": {"cpu": "2"}}, 2),
        ({"type": "Pod", "max": {"cpu": "4"}}, 0),
    ],
)
def test_which_default_counts(item: Dict, needs: int) -> None:
    asking = workload("w", "team")
    for quota, outcome in ((needs, "Fits"), (needs - 1, "Unschedulable")):
        if quota >= 0:
            objects = [limits(**item), flavor(), *queue("team", {"default": {"cpu": quota}}), asking]
            made = reprieve.plan(objects, preemptor="Workload/default/w").decisions[0]
            assert made.outcome == outcome, quota


def test_what_a_container_says_counts_before_any_default_and_so_does_its_limit() -> None:
    for said in ({"requests": {"cpu": "1"}}, {"limits": {"cpu": "1"}}):
        asking = workload("w", "team")
        asking["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"] = said
        objects = [limits(defaultRequest={"cpu": "9"}), flavor(), *queue("team", {"default": {"cpu": 1}}), asking]
        assert reprieve.plan(objects, preemptor="Workload/default/w").decisions[0].outcome == "Fits"


def test_limits_of_another_namespace_are_of_no_concern() -> None:
    other = limits(defaultRequest={"cpu": "9"})
    other["metadata"]["namespace"] = "elsewhere"
    objects = [other, flavor(), *queue("team", {"default": {"cpu": 1}}), workload("w", "team", cpu=1)]
    assert reprieve.plan(objects, preemptor="Workload/default/w").decisions[0].outcome == "Fits"
