"""Feature gates in a control plane: as the designs have them, the same as in a plan, and named where they decide."""

from __future__ import annotations

from typing import Any

from reprieve.configuration import Settings
from reprieve.manifests.kinds import BINDINGS
from tests.builders.federation import hollow_cluster
from tests.builders.gates import BINDINGS as BINDING_GATES
from tests.builders.pods import pod_group
from tests.planes.answers import Answer, decided, planned
from tests.planes.running import Plane, condition, live

PLAIN = Settings(validate=True)
GATE = "PriorityBasedPreemptiveScheduling"


def turned_on(gate: str) -> str:
    return f"the feature gate {gate} is off (--feature-gates {gate}=true turns it on)"


def test_a_pod_that_names_a_group_is_scheduled_alone_and_says_why() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="1")
        await plane.apply(pod_group("train", gang=2))
        for name in ("a", "b"):
            await plane.pod(name, cpu="1", schedulingGroup={"podGroupName": "train"})
        await plane.passes(30)
        assert [await plane.where(name) for name in ("a", "b")] == ["n1", ""]
        remark = f"It names PodGroup/default/train, but is scheduled alone: {turned_on('GenericWorkload')}."
        answers = await planned(plane)
        assert decided(plane)["Pod/default/b"] == answers["Pod/default/b"]
        assert answers["Pod/default/b"][2].endswith(remark)
        assert decided(plane)["Pod/default/a"][2].endswith(remark)
        assert condition(await plane.record("b"), "PodScheduled")["message"].endswith(remark)

    live(story, PLAIN)


def test_what_a_group_asks_for_in_vain() -> None:
    async def story(plane: Plane) -> dict[str, Answer]:
        await plane.node("n1", cpu="1", labels={"rack": "a"})
        await plane.node("n2", cpu="1", labels={"rack": "b"})
        constraints: dict[str, Any] = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}
        await plane.apply(pod_group("train", gang=2, version="v1alpha3", **constraints))
        for name in ("a", "b"):
            await plane.pod(name, cpu="1", schedulingGroup={"podGroupName": "train"})
        await plane.passes(30)
        return decided(plane)

    told = live(story, Settings(validate=True, feature_gates={"GenericWorkload": True}))["PodGroup/default/train"]
    assert told[0] == "Fits"
    gate = "TopologyAwareWorkloadScheduling"
    assert told[2].endswith(f"It asks for one rack, but may be spread over several: {turned_on(gate)}.")


async def _bindings(plane: Plane) -> dict[str, Answer]:
    await plane.apply(hollow_cluster("m1", {"cpu": "4", "pods": "10"}))
    await plane.passes(5)
    for name, priority in (("low", 1), ("high", 100)):
        resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name}
        spec: dict[str, Any] = {
            "resource": resource,
            "replicas": 1,
            "replicaRequirements": {"resourceRequest": {"cpu": "4"}},
            "schedulePriority": {"priority": priority, "preemptionPolicy": "PreemptLowerPriority"},
        }
        about = {"name": name, "namespace": "default"}
        await plane.store.create(
            BINDINGS, {"apiVersion": BINDINGS.api_version, "kind": "ResourceBinding", "metadata": about, "spec": spec}
        )
        await plane.passes(10)
    return decided(plane)


def test_a_binding_with_a_priority_waits_and_says_which_gate_would_help() -> None:
    unit = "ResourceBinding/default/high"

    async def off(plane: Plane) -> None:
        told = await _bindings(plane)
        short = f"{unit} is unschedulable: m1 has insufficient resources: it is short of 4 cpu for 1 replica"
        want: Answer = ("Unschedulable", [], f"{short}; it preempts nobody, because {turned_on(GATE)}.")
        assert told[unit] == want == (await planned(plane))[unit]
        record = await plane.store.get(BINDINGS, "high", "default")
        assert condition(record, "Scheduled")["message"] == want[2]

    async def on(plane: Plane) -> None:
        await _bindings(plane)
        await plane.passes(60)
        high = await plane.store.get(BINDINGS, "high", "default")
        assert [each["name"] for each in high.data["spec"]["clusters"]] == ["m1"]
        assert await plane.events("Preempted", "low")

    live(off, PLAIN)
    live(on, Settings(feature_gates=BINDING_GATES))
