"""Karmada's proposal on a whole control plane: what the detector resolves, who is scheduled, who makes way, what is
refused."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.configuration import Settings
from reprieve.manifests.kinds import (
    BINDINGS,
    CLUSTER_BINDINGS,
    CLUSTER_PROPAGATION_POLICIES,
    CONFIG_MAPS,
    DEPLOYMENTS,
    NAMESPACES,
    PODS,
    PRIORITY_CLASSES,
    PROPAGATION_POLICIES,
)
from reprieve.stores.errors import Invalid
from tests.builders.federation import DUPLICATED, deployment, hollow_cluster, policy
from tests.builders.pods import Dict
from tests.generators import federations
from tests.planes.running import Plane, condition, live, pod

POLICY = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy"}


def settled(plane: Plane) -> Any:
    return plane.passes(5)


async def begin(plane: Plane, **clusters: str) -> None:
    for name, value in (("low", 1), ("high", 100)):
        await plane.priority(name, value)
    for name, cpu in clusters.items():
        await plane.apply(hollow_cluster(name, {"cpu": cpu}, grace=1))


async def propagate(plane: Plane, tier: str, **spec: Any) -> None:
    await plane.apply({**POLICY, **policy(tier, **spec)})


async def run(plane: Plane, name: str, **parts: Any) -> None:
    await plane.apply({"apiVersion": "apps/v1", "kind": "Deployment", **deployment(name, **parts)})
    await settled(plane)


async def carried(plane: Plane, name: str, kind: str = "deployment") -> tuple[int, str]:
    said = (await plane.binding(name, kind)).data["spec"]["schedulePriority"]
    return said["priority"], said["preemptionPolicy"]


async def clusters_of(plane: Plane, name: str) -> dict[str, int]:
    targets = (await plane.binding(name)).data["spec"].get("clusters") or ()
    return {target["name"]: target["replicas"] for target in targets}


# Gates


def test_with_no_gate_on_no_class_is_resolved_and_nobody_preempts() -> None:
    async def story(plane: Plane) -> None:
        await begin(plane, m1="2")
        await propagate(plane, "low")
        await propagate(plane, "high")
        await run(plane, "first", cpu="2")
        await run(plane, "second", cpu="2", tier="high")
        assert "schedulePriority" not in (await plane.binding("second")).data["spec"]
        assert await clusters_of(plane, "first") == {"m1": 1}
        assert await clusters_of(plane, "second") == {}

    live(story, Settings(validate=True))


# What the detector resolves


def test_a_template_that_names_another_class_is_resolved_again() -> None:
    async def story(plane: Plane) -> None:
        await begin(plane, m1="9")
        await propagate(plane, "low", schedulePriority={"priorityClassSource": "PodPriorityClass"})
        await run(plane, "web")
        assert await carried(plane, "web") == (0, "Never")
        for name, want in (("high", 100), ("low", 1)):
            change = {"spec": {"template": {"spec": {"priorityClassName": name}}}}
            await plane.change(DEPLOYMENTS, "web", change)
            await settled(plane)
            assert await carried(plane, "web") == (want, "PreemptLowerPriority")

    live(story)


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        (None, (0, "Never")),
        ({"priorityClassName": "high"}, (100, "PreemptLowerPriority")),
        ({"priorityClassName": "nobody-knows-it"}, (0, "Never")),
    ],
    ids=["the policy asks for nothing any more", "for another class", "for one that is not there"],
)
def test_a_policy_that_asks_for_something_else_is_resolved_again(asked: Dict | None, want: tuple[int, str]) -> None:
    async def story(plane: Plane) -> None:
        await begin(plane, m1="9")
        await propagate(plane, "low")
        await run(plane, "web")
        assert await carried(plane, "web") == (1, "PreemptLowerPriority")
        await plane.change(PROPAGATION_POLICIES, "low-deployment", {"spec": {"schedulePriority": asked}})
        await settled(plane)
        assert await carried(plane, "web") == want

    live(story)


def test_a_class_that_only_changes_changes_no_binding_until_that_is_changed() -> None:
    async def story(plane: Plane) -> None:
        await begin(plane, m1="9")
        await propagate(plane, "low")
        await run(plane, "web")
        await plane.store.delete(PRIORITY_CLASSES, "low")
        await plane.priority("low", 7, preemptionPolicy="Never")
        await settled(plane)
        assert await carried(plane, "web") == (1, "PreemptLowerPriority")
        await plane.change(DEPLOYMENTS, "web", {"spec": {"replicas": 2}})
        await settled(plane)
        assert await carried(plane, "web") == (7, "Never")

    live(story)


def test_without_a_class_0_and_never_are_written() -> None:
    async def story(plane: Plane) -> None:
        await begin(plane, m1="9")
        await propagate(plane, "low", schedulePriority=None)
        await run(plane, "web")
        assert await carried(plane, "web") == (0, "Never")

    live(story)


# Who is scheduled


def test_a_suspended_binding_is_neither_scheduled_nor_does_it_preempt_until_it_is_resumed() -> None:
    async def story(plane: Plane) -> None:
        await begin(plane, m1="2")
        await propagate(plane, "low")
        await run(plane, "first", cpu="2")
        high = federations.binding("important", priority=100, cpu="2", spec={"suspension": {"scheduling": True}})
        await plane.apply(high)
        await plane.passes(400)
        assert await clusters_of(plane, "first") == {"m1": 1}
        said = condition(await plane.store.get(BINDINGS, "important", "default"), "Scheduled")
        assert (said["status"], said["reason"]) == ("False", "SchedulingSuspended")
        assert said["message"] == (
            "ResourceBinding/default/important is not scheduled, and preempts nobody: "
            "it is suspended (spec.suspension.scheduling)."
        )
        story = plane.plane.history.story("ResourceBinding/default/important")
        assert [(line["step"], line["cause"]) for line in story] == [("held", said["message"])]
        await plane.change(BINDINGS, "important", {"spec": {"suspension": {"scheduling": False}}})
        await plane.passes(60)
        record = await plane.store.get(BINDINGS, "important", "default")
        assert [target["name"] for target in record.data["spec"]["clusters"]] == ["m1"]
        assert (condition(record, "Scheduled")["status"], condition(record, "Scheduled")["reason"]) == (
            "True",
            "Success",
        )
        assert await clusters_of(plane, "first") == {}

    live(story)


def test_what_is_suspended_says_so_only_while_it_lacks_something_and_never_for_another_scheduler() -> None:
    async def said(plane: Plane, name: str) -> tuple[str | None, str | None]:
        found = condition(await plane.store.get(BINDINGS, name, "default"), "Scheduled")
        return found.get("status"), found.get("reason")

    async def suspend(plane: Plane, name: str, *, suspended: bool) -> None:
        await plane.change(BINDINGS, name, {"spec": {"suspension": {"scheduling": suspended}}})
        await plane.passes(20)

    async def story(plane: Plane) -> None:
        await begin(plane, m1="3")
        for name, scheduler in (("there", "default-scheduler"), ("theirs", "another")):
            await plane.apply(federations.binding(name, cpu="2", spec={"schedulerName": scheduler}))
        await plane.passes(20)
        await suspend(plane, "theirs", suspended=True)
        await suspend(plane, "there", suspended=True)
        assert await said(plane, "theirs") == (None, None)
        assert await said(plane, "there") == ("True", "Success")
        await plane.apply(federations.binding("waits", cpu="2"))
        await plane.passes(20)
        assert await said(plane, "waits") == ("False", "Unschedulable")
        await suspend(plane, "waits", suspended=True)
        assert await said(plane, "waits") == ("False", "SchedulingSuspended")
        await suspend(plane, "waits", suspended=False)
        assert await said(plane, "waits") == ("False", "Unschedulable")

    live(story)


def test_a_policy_that_never_preempts_leaves_what_another_has_claimed() -> None:
    async def story(plane: Plane) -> None:
        await begin(plane, m1="9")
        await propagate(plane, "low")
        await run(plane, "web")
        rival = {**POLICY, **policy("low", schedulePriority={"priorityClassName": "high"}, priority=9)}
        rival["metadata"]["name"] = "a-rival"
        await plane.apply(rival)
        await settled(plane)
        assert await carried(plane, "web") == (1, "PreemptLowerPriority")
        await plane.change(PROPAGATION_POLICIES, "a-rival", {"spec": {"preemption": "Always"}})
        await settled(plane)
        assert await carried(plane, "web") == (100, "PreemptLowerPriority")

    live(story)


STATIC = federations.weighted(("m1", 1), ("m2", 1))


@pytest.mark.parametrize("scheduling", [DUPLICATED, STATIC], ids=["duplicated", "static weights"])
def test_replicas_with_a_fixed_place_preempt_under_spread_constraints(scheduling: Dict) -> None:
    async def story(plane: Plane) -> None:
        await begin(plane, m1="2", m2="2")
        await propagate(plane, "low")
        await propagate(plane, "high")
        spread = [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}]
        placement = {"replicaScheduling": scheduling, "spreadConstraints": spread}
        await plane.change(PROPAGATION_POLICIES, "high-deployment", {"spec": {"placement": None}})
        await plane.change(PROPAGATION_POLICIES, "high-deployment", {"spec": {"placement": placement}})
        await run(plane, "first", cpu="2")
        await run(plane, "important", cpu="1", replicas=2, tier="high")
        await plane.passes(60)
        count = 2 if scheduling is DUPLICATED else 1
        assert await clusters_of(plane, "important") == {"m1": count, "m2": count}

    live(story)


def test_one_that_a_later_one_made_superfluous_keeps_running() -> None:
    async def story(plane: Plane) -> None:
        await begin(plane, m1="7")
        for value, cpu in ((1, 1), (2, 2), (3, 4)):
            await plane.apply(federations.binding(f"b{cpu}", priority=value, cpu=str(cpu)))
            await settled(plane)
        await plane.apply(federations.binding("important", priority=100, cpu="5"))
        await plane.passes(60)
        records = (await plane.store.list(BINDINGS)).records
        assert {record.name for record in records if record.data["spec"].get("clusters")} == {"b2", "important"}
        told = await plane.store.get(BINDINGS, "b1", "default")
        assert condition(told, "Scheduled")["reason"] == "Preempted"
        assert await plane.events("Preempted", "b2") == []

    live(story)


# What is refused


def test_a_second_global_default_is_refused_with_the_name_of_the_first() -> None:
    async def story(plane: Plane) -> None:
        await plane.priority("usual", 5, globalDefault=True)
        for value in (9, 1):
            with pytest.raises(Invalid, match="the PriorityClass usual is the global default already"):
                await plane.priority("another", value, globalDefault=True)
        await plane.priority("another", 9)
        with pytest.raises(Invalid):
            await plane.change(PRIORITY_CLASSES, "another", {"globalDefault": True})
        await plane.change(PRIORITY_CLASSES, "usual", {"description": "what most have"})

    live(story)


def test_the_class_of_the_proposals_own_example_is_refused_as_kubernetes_does() -> None:
    async def story(plane: Plane) -> None:
        with pytest.raises(Invalid, match="allowed: at most 1000000000"):
            await plane.priority("foo", 2_000_000_000, globalDefault=True)
        await plane.priority("foo", 1_000_000_000, globalDefault=True)

    live(story)


@pytest.mark.parametrize("half", [{"priority": 5}, {"preemptionPolicy": "Never"}])
def test_half_a_priority_is_refused(half: Dict) -> None:
    async def story(plane: Plane) -> None:
        with pytest.raises(Invalid, match="missing"):
            await plane.apply(federations.binding("half", cpu="1", spec={"schedulePriority": half}))

    live(story)


# What gets a binding


def test_pods_and_config_maps_get_bindings_and_what_has_no_namespace_one_for_the_whole_control_plane() -> None:
    async def story(plane: Plane) -> None:
        await begin(plane, m1="9", m2="9")
        selectors = [
            {"apiVersion": "v1", "kind": kind, "labelSelector": {"matchLabels": {"goes": "out"}}}
            for kind in ("Pod", "ConfigMap", "Namespace")
        ]
        classes = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "name": "low"}
        spec = {"resourceSelectors": [*selectors, classes], "placement": {}}
        everywhere = {**POLICY, "kind": "ClusterPropagationPolicy", "metadata": {"name": "out"}, "spec": spec}
        out = {"goes": "out"}
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "labels": out}}
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": out}}
        await plane.node("n1", cpu="4")
        await plane.apply(everywhere, pod("alone", cpu="2", labels=out), config, space)
        await settled(plane)
        bound = (await plane.binding("alone", "pod")).data["spec"]
        assert (bound["replicas"], bound["replicaRequirements"]["resourceRequest"]) == (1, {"cpu": "2"})
        assert sorted(target["name"] for target in bound["clusters"]) == ["m1", "m2"]
        assert await plane.where("alone") == "", "it is for member clusters"
        settings = (await plane.binding("settings", "configmap")).data["spec"]
        assert {"replicas", "replicaRequirements"} & settings.keys() == set()
        assert settings["resource"]["kind"] == "ConfigMap"
        assert sorted(target["name"] for target in settings["clusters"]) == ["m1", "m2"]
        made = (await plane.store.list(CLUSTER_BINDINGS)).records
        assert sorted(record.name for record in made) == ["low-priorityclass", "team-namespace"]
        assert all(len(record.data["spec"]["clusters"]) == 2 for record in made)
        for resource, name in ((PODS, "alone"), (CONFIG_MAPS, "settings"), (NAMESPACES, "team")):
            await plane.store.delete(resource, name, "default" if resource.namespaced else "")
        await plane.store.delete(PRIORITY_CLASSES, "low")
        await plane.passes(90)
        assert (await plane.store.list(BINDINGS)).records == []
        assert (await plane.store.list(CLUSTER_BINDINGS)).records == []

    live(story)


def test_a_pod_that_no_policy_selects_any_more_goes_to_a_node() -> None:
    async def story(plane: Plane) -> None:
        await begin(plane, m1="9")
        spec = {"resourceSelectors": [{"apiVersion": "v1", "kind": "Pod", "name": "alone"}], "placement": {}}
        await plane.apply({**POLICY, "metadata": {"name": "pods"}, "spec": spec})
        await plane.node("n1", cpu="4")
        await plane.apply(pod("alone"), pod("other"))
        await settled(plane)
        assert (await plane.where("alone"), await plane.where("other")) == ("", "n1")
        await plane.store.delete(PROPAGATION_POLICIES, "pods", "default")
        await settled(plane)
        assert await plane.where("alone") == "n1"
        assert (await plane.store.list(BINDINGS)).records == []

    live(story)


def test_what_a_controller_has_made_is_no_template() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="4")
        spec = {"resourceSelectors": [{"apiVersion": "v1", "kind": "Pod"}], "placement": {}}
        await plane.apply({**POLICY, "kind": "ClusterPropagationPolicy", "metadata": {"name": "pods"}, "spec": spec})
        await run(plane, "web")
        assert await plane.homes("web") == ["n1"]
        assert (await plane.store.list(CLUSTER_PROPAGATION_POLICIES)).records != []
        assert (await plane.store.list(BINDINGS)).records == []

    live(story)
