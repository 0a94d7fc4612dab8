"""A gang whose pods are leaving is not counted as being there: its new pods get their places whole, or wait."""

from __future__ import annotations

from tests.planes.running import Plane, job, live

WORKLOAD = {
    "apiVersion": "scheduling.k8s.io/v1alpha1",
    "kind": "Workload",
    "metadata": {"name": "gang"},
    "spec": {"podGroups": [{"name": "all", "policy": {"gang": {"minCount": 3, "preemptionMode": "PodGroup"}}}]},
}


def test_replacements_of_a_gang_that_leaves_are_not_placed_one_by_one() -> None:
    async def story(plane: Plane) -> None:
        for name in ("n1", "n2", "n3"):
            await plane.node(name, cpu="1")
        reference = {"name": "gang", "podGroup": "all"}
        await plane.apply(WORKLOAD, job("gang", replicas=3, run=100, leaves=5, workloadRef=reference))
        await plane.passes(2)
        first = await plane.pods()
        assert sorted([await plane.where(name) for name in first]) == ["n1", "n2", "n3"]
        await plane.node("n4", cpu="1")
        for name, record in first.items():
            await plane.store.delete(record.resource, name, record.namespace)
        await plane.passes(3)  # all three are leaving, and there is room for one of those who come after them
        fresh = [name for name in await plane.pods() if name not in first]
        assert [await plane.where(name) for name in fresh] == ["", "", ""]
        await plane.passes(20)
        assert all([await plane.where(name) for name in fresh])

    live(story)
