"""Topology-aware scheduling on a control plane: pods really run in the domain that their workload was admitted in."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.manifests.kinds import CLUSTER_QUEUES, EVENTS, NODES, PODS, QUOTA_WORKLOADS
from reprieve.model.clock import timestamp
from tests.builders.quota import flavor, queue, workload
from tests.builders.topology import HOSTNAME, asking, domains, node, topology
from tests.planes.running import Plane, condition, job, live, pod

QUEUE = {"kueue.x-k8s.io/queue-name": "team"}
PREFIX = "kueue.x-k8s.io/podset"
Nodes = dict[str, tuple[str, str, int]]
FOUR: Nodes = {"n1": ("b1", "r1", 2), "n2": ("b1", "r1", 2), "n3": ("b1", "r2", 3), "n4": ("b2", "r1", 1)}


async def fill(plane: Plane, nodes: Nodes = FOUR, *, levels: tuple[str, ...] = ("block", "rack", HOSTNAME)) -> None:
    """One queue on racks in blocks; two racks of different blocks may have the same name."""
    await plane.apply(*topology("default", *levels), *queue("team", {"default": {"cpu": 50}}, within="LowerPriority"))
    for name, (block, rack, cpu) in nodes.items():
        labels = {"pool": "default", HOSTNAME: name, "block": block, "rack": rack}
        await plane.node(name, cpu=str(cpu))
        await plane.change(NODES, name, {"metadata": {"labels": labels}})
    await plane.passes(2)


def asks(annotation: str, level: str) -> dict[str, str]:
    return {f"{PREFIX}-{annotation}-topology": level}


async def assigned(plane: Plane, name: str) -> dict[tuple[str, ...], int]:
    """Where the pods of the workload of a Job go; empty while it waits."""
    admission = (await plane.workload(name)).data.get("status", {}).get("admission")
    return domains(admission["podSetAssignments"][0]["topologyAssignment"]) if admission else {}


@pytest.mark.parametrize(
    ("annotation", "level", "pods", "want"),
    [
        ("required", "rack", 3, ["n3", "n3", "n3"]),  # of the racks that hold 3, the one that holds fewest
        ("required", "rack", 4, ["n1", "n1", "n2", "n2"]),
        ("required", "block", 5, ["n1", "n1", "n2", "n2", "n3"]),  # the rack that holds most first
        ("preferred", "rack", 6, ["n1", "n1", "n2", "n2", "n3", "n3"]),  # no rack holds 6, a block does
        ("preferred", HOSTNAME, 8, ["n1", "n1", "n2", "n2", "n3", "n3", "n3", "n4"]),  # no block holds 8
        ("unconstrained", "true", 1, ["n4"]),  # where least is left
        ("unconstrained", "true", 4, ["n1", "n1", "n2", "n4"]),
    ],
)
def test_pods_run_where_their_workload_was_admitted(annotation: str, level: str, pods: int, want: list[str]) -> None:
    async def story(plane: Plane) -> None:
        await fill(plane)
        await plane.apply(job("train", replicas=pods, run=600, labels=QUEUE, annotations=asks(annotation, level)))
        await plane.passes(20)
        assert await plane.homes("train") == want
        assert await assigned(plane, "train") == {(name,): want.count(name) for name in want}
        request = (await plane.workload("train")).data["spec"]["podSets"][0]["topologyRequest"]
        assert request == ({"unconstrained": True} if annotation == "unconstrained" else {annotation: level})
        await plane.passes(700)
        assert (await plane.job("train")).data["status"]["succeeded"] == pods

    live(story)


def test_who_has_no_domain_waits_though_there_is_quota_and_is_admitted_when_a_node_comes() -> None:
    async def story(plane: Plane) -> None:
        await fill(plane)
        await plane.apply(job("train", replicas=5, run=600, labels=QUEUE, annotations=asks("required", "rack")))
        await plane.passes(20)
        assert await assigned(plane, "train") == {}
        said = condition(await plane.workload("train"), "QuotaReserved")["message"]
        assert "one domain of rack has place for 4 of 5 pods of main at most" in said
        await plane.node("n5", cpu="1")
        labels = {"pool": "default", HOSTNAME: "n5", "block": "b1", "rack": "r1"}
        await plane.change(NODES, "n5", {"metadata": {"labels": labels}})
        await plane.passes(20)
        assert await plane.homes("train") == ["n1", "n1", "n2", "n2", "n5"]

    live(story)


def test_pods_that_are_none_of_quota_take_room_and_give_it_back() -> None:
    async def story(plane: Plane) -> None:
        await fill(plane, {"n1": ("b1", "r1", 4), "n2": ("b1", "r2", 3)})
        await plane.apply(pod("daemon", cpu="2", nodeName="n1"))
        await plane.apply(job("train", replicas=4, run=600, labels=QUEUE, annotations=asks("required", "rack")))
        await plane.passes(20)
        assert await assigned(plane, "train") == {}
        await plane.store.delete(PODS, "daemon", "default")
        await plane.passes(20)
        assert await plane.homes("train") == ["n1"] * 4

    live(story)


def test_a_node_that_is_not_ready_or_of_another_flavor_has_no_room() -> None:
    async def story(plane: Plane) -> None:
        await fill(plane, {"n1": ("b1", "r1", 4), "n2": ("b1", "r1", 4), "n3": ("b1", "r1", 4)})
        await plane.change(NODES, "n1", {"spec": {"unschedulable": True}})
        await plane.change(NODES, "n2", {"metadata": {"labels": {"pool": "other"}}})
        await plane.apply(job("train", replicas=5, run=600, labels=QUEUE, annotations=asks("required", "rack")))
        await plane.passes(20)
        assert await assigned(plane, "train") == {}
        await plane.change(NODES, "n1", {"spec": {"unschedulable": False}})
        await plane.passes(20)
        assert await plane.homes("train") == ["n1"] * 4 + ["n3"]

    live(story)


def test_who_is_less_important_makes_way_in_the_domain_where_that_helps_and_nobody_else_does() -> None:
    async def story(plane: Plane) -> None:
        await fill(plane, {"n1": ("b1", "r1", 2), "n2": ("b1", "r2", 2), "n3": ("b1", "r3", 1)})
        for name, cpu in (("small", "1"), ("large", "2"), ("tiny", "1")):
            annotations = asks("required", HOSTNAME)
            await plane.apply(job(name, replicas=int(cpu), run=9000, labels=QUEUE, annotations=annotations))
            await plane.passes(10)
        assert [await plane.homes(name) for name in ("small", "large", "tiny")] == [["n3"], ["n1", "n1"], ["n2"]]
        above = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "value": 9}
        await plane.apply({**above, "metadata": {"name": "high"}})
        labels = {**QUEUE, "kueue.x-k8s.io/priority-class": "high"}
        await plane.apply(job("wanted", replicas=2, run=100, labels=labels, annotations=asks("required", "rack")))
        await plane.passes(30)
        assert await plane.homes("wanted") == ["n2", "n2"], "the youngest that was in its way has gone"
        assert [await plane.homes(name) for name in ("small", "large", "tiny")] == [["n3"], ["n1", "n1"], []]
        await plane.passes(200)
        assert await plane.homes("tiny") == ["n2"], "it came back once there was room again"

    live(story)


def test_a_pod_that_fails_is_replaced_in_its_domain() -> None:
    async def story(plane: Plane) -> None:
        await fill(plane)
        await plane.apply(job("train", replicas=4, run=600, labels=QUEUE, annotations=asks("required", "rack")))
        await plane.passes(20)
        victim = next(
            record for record in await plane.starting_with("train") if record.data["spec"]["nodeName"] == "n2"
        )
        await plane.store.delete(PODS, victim.name, "default")
        await plane.passes(20)
        assert await plane.homes("train") == ["n1", "n1", "n2", "n2"]

    live(story)


def test_domains_without_nodes_as_levels_are_written_with_all_levels() -> None:
    async def story(plane: Plane) -> None:
        await fill(plane, levels=("block", "rack"))
        await plane.apply(job("train", replicas=5, run=600, labels=QUEUE, annotations=asks("preferred", "rack")))
        await plane.passes(20)
        assert await assigned(plane, "train") == {("b1", "r1"): 4, ("b1", "r2"): 1}
        assert await plane.homes("train") == ["n1", "n1", "n2", "n2", "n3"]

    live(story)


def test_single_pods_and_groups_of_pods_are_sent_to_their_domains() -> None:
    async def story(plane: Plane) -> None:
        await fill(plane)
        gate: dict[str, Any] = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
        group = {"kueue.x-k8s.io/pod-group-name": "group"}
        total = {"kueue.x-k8s.io/pod-group-total-count": "4", **asks("required", "rack")}
        for number in range(4):
            await plane.apply(pod(f"group-{number}", run=900, labels={**QUEUE, **group}, annotations=total, **gate))
        await plane.passes(20)
        assert await plane.homes("group") == ["n1", "n1", "n2", "n2"]
        await plane.apply(pod("single", run=900, labels=QUEUE, annotations=asks("required", HOSTNAME), **gate))
        await plane.passes(20)
        assert await plane.homes("single") == ["n4"]

    live(story)


def test_a_queue_whose_topology_is_missing_admits_nobody_and_says_so() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(
            flavor("default", topologyName="none", nodeLabels={"pool": "default"}),
            *queue("team", {"default": {"cpu": 5}}),
        )
        await plane.apply(asking(workload("a", "team", cpu=1), required="rack"))
        await plane.passes(10)
        active = condition(await plane.store.get(CLUSTER_QUEUES, "team"), "Active")
        assert (active["status"], active["reason"]) == ("False", "TopologyNotFound")
        record = await plane.store.get(QUOTA_WORKLOADS, "a", "default")
        assert "the Topology none does not exist" in condition(record, "QuotaReserved")["message"]
        await plane.apply(topology("none", "rack")[0])
        await plane.apply(node("n1", cpu=1, rack="r1"))
        await plane.passes(10)
        record = await plane.store.get(QUOTA_WORKLOADS, "a", "default")
        assert domains(record.data["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]) == {("r1",): 1}

    live(story)


def test_two_heads_of_one_cycle_do_not_get_the_same_place() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(*topology("default", "rack", HOSTNAME), node("n1", cpu=2, rack="r1"))
        heads: list[Any] = []
        for name in ("a", "b", "c"):
            await plane.apply(*queue(name, {"default": {"cpu": 50}}))
            heads.append(asking(workload(name, name, cpu=1, count=1), required=HOSTNAME))
        await plane.apply(*heads)
        await plane.passes(10)
        records = (await plane.store.list(QUOTA_WORKLOADS)).records
        admitted = [record.name for record in records if record.manifest.status.admission is not None]
        assert len(admitted) == 2, "two cpus, one of three has to wait"

    live(story)


def test_slices_stay_together() -> None:
    async def story(plane: Plane) -> None:
        await fill(plane, {"n1": ("b1", "r1", 3), "n2": ("b1", "r2", 3), "n3": ("b1", "r3", 1), "n4": ("b2", "r1", 2)})
        said = {f"{PREFIX}-slice-required-topology": "rack", f"{PREFIX}-slice-size": "2", **asks("preferred", "block")}
        await plane.apply(job("train", replicas=4, run=600, labels=QUEUE, annotations=said))
        await plane.passes(20)
        assert await plane.homes("train") == ["n1", "n1", "n2", "n2"], "each rack of the first block holds one slice"

    live(story)


def test_the_place_of_a_pod_that_has_done_its_work_is_free() -> None:
    async def story(plane: Plane) -> None:
        await fill(plane, {"n1": ("b1", "r1", 2)})
        labels = {**QUEUE, "kueue.x-k8s.io/pod-group-name": "both"}
        said = {"kueue.x-k8s.io/pod-group-total-count": "2", **asks("required", "rack")}
        for name, run in (("short", 30), ("long", 500)):
            await plane.apply(pod(name, run=run, labels=labels, annotations=said))
        await plane.passes(5)
        assert await plane.where("long") == "n1"
        await plane.apply(job("next", run=60, labels=QUEUE, annotations=asks("required", "rack")))
        await plane.passes(5)
        assert await assigned(plane, "next") == {}
        await plane.passes(35)
        assert await assigned(plane, "next") == {("n1",): 1}
        assert await plane.homes("next") == ["n1"]

    live(story)


@pytest.mark.parametrize("how", ["gone", "not ready"])
def test_who_was_sent_to_a_node_that_fails_starts_anew_elsewhere(how: str) -> None:
    async def story(plane: Plane) -> None:
        await fill(plane, {"n1": ("b1", "r1", 2), "n2": ("b1", "r2", 3)})
        await plane.apply(job("train", replicas=2, run=900, labels=QUEUE, annotations=asks("required", "rack")))
        await plane.passes(10)
        assert await assigned(plane, "train") == {("n1",): 2}
        if how == "gone":
            await plane.store.delete(NODES, "n1")
        else:
            now = timestamp(plane.clock())
            lost = {"conditions": [{"type": "Ready", "status": "Unknown", "lastTransitionTime": now}]}
            await plane.store.patch(NODES, "n1", "", {"status": lost}, subresource="status")
            await plane.passes(20)
            assert await assigned(plane, "train") == {("n1",): 2}, "it may come back"
        await plane.passes(60)
        assert condition(await plane.workload("train"), "Evicted")["status"] == "False"
        assert "EvictedDueToNodeFailures" in [each.data["reason"] for each in (await plane.store.list(EVENTS)).records]
        assert await assigned(plane, "train") == {("n2",): 2}
        assert await plane.homes("train") == ["n2", "n2"]

    live(story)
