"""DaemonSets: one pod on each node that takes it, whatever becomes of nodes, pods and templates."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from reprieve.controllers.pods import daemon_sets
from reprieve.controllers.pods.daemon_nodes import node_of
from reprieve.controllers.pods.daemon_sets import DaemonSetController
from reprieve.manifests.kinds import DAEMON_SETS, NODES, PODS
from reprieve.model.clock import Clock
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import Invalid
from tests.controllers.harness import in_virtual_time, live_through_crashes, pods_in, running
from tests.planes.running import Dict, Plane, daemon_set, live

HOSTNAME = "kubernetes.io/hostname"


async def _nodes(plane: Plane, number: int, **parts: Any) -> list[str]:
    for each in range(number):
        await plane.node(f"n{each}", cpu="4", **parts)
    return [f"n{each}" for each in range(number)]


async def _status(plane: Plane, name: str = "ds") -> Dict:
    found: Dict = (await plane.store.get(DAEMON_SETS, name, "default")).data["status"]
    return found


async def _pod(plane: Plane, node: str, name: str = "ds") -> str:
    """The name of the one pod on a node."""
    (found,) = [record.name for record in await plane.starting_with(name) if node_of(record) == node]
    return found


def _taint(key: str, effect: str) -> Dict:
    return {"spec": {"taints": [{"key": key, "effect": effect}]}}


def test_each_node_gets_one_pod_that_names_it_and_the_status_counts_them() -> None:
    async def story(plane: Plane) -> None:
        names = await _nodes(plane, 3)
        await plane.apply(daemon_set("ds"))
        await plane.passes(5)
        assert await plane.homes("ds") == names
        for record in await plane.starting_with("ds"):
            required = record.data["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            named = {"key": "metadata.name", "operator": "In", "values": [record.data["spec"]["nodeName"]]}
            assert required == {"nodeSelectorTerms": [{"matchFields": [named]}]}
        assert await _status(plane) == {
            "desiredNumberScheduled": 3,
            "currentNumberScheduled": 3,
            "updatedNumberScheduled": 3,
            "numberReady": 3,
            "numberAvailable": 3,
            "numberUnavailable": 0,
            "numberMisscheduled": 0,
            "observedGeneration": 1,
        }

    live(story)


def test_nodes_that_come_later_get_theirs_and_pods_of_nodes_that_go_are_deleted() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(daemon_set("ds"))
        await _nodes(plane, 2)
        await plane.passes(5)
        assert await plane.homes("ds") == ["n0", "n1"]
        await plane.store.delete(NODES, "n0")
        await plane.passes(60)
        assert await plane.homes("ds") == ["n1"]

    live(story)


TERMS: Dict = {"preferredDuringSchedulingIgnoredDuringExecution": []}


def _affinity(*terms: Dict) -> Dict:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": {**TERMS, **required}}}


def _expression(key: str, operator: str, *values: str) -> Dict:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": [*values]} if values else {})}]}


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ({"nodeSelector": {HOSTNAME: "n1"}}, ["n1"]),
        (_affinity(_expression(HOSTNAME, "In", "n0", "n2")), ["n0", "n2"]),
        (_affinity(_expression(HOSTNAME, "NotIn", "n0")), ["n1", "n2"]),
        (_affinity(_expression("gpu", "Exists")), []),
        (_affinity(_expression("gpu", "DoesNotExist"), _expression(HOSTNAME, "In", "n0")), ["n0", "n1", "n2"]),
        (_affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}), ["n2"]),
    ],
)
def test_only_nodes_that_the_template_means_get_one(spec: Dict, want: list[str]) -> None:
    async def story(plane: Plane) -> None:
        await _nodes(plane, 3)
        await plane.apply(daemon_set("ds", **spec))
        await plane.passes(5)
        assert await plane.homes("ds") == want
        assert (await _status(plane))["desiredNumberScheduled"] == len(want)

    live(story)


@pytest.mark.parametrize(
    ("taint", "tolerates", "new", "old"),
    [
        ({"spec": {"unschedulable": True}}, None, True, True),
        (_taint("node.kubernetes.io/disk-pressure", "NoSchedule"), None, True, True),
        (_taint("node.kubernetes.io/not-ready", "NoExecute"), None, True, True),
        (_taint("node.kubernetes.io/network-unavailable", "NoSchedule"), None, False, True),
        (_taint("maintenance", "PreferNoSchedule"), None, True, True),
        (_taint("maintenance", "NoSchedule"), None, False, True),
        (_taint("maintenance", "NoExecute"), None, False, False),
        (_taint("maintenance", "NoExecute"), "maintenance", True, True),
    ],
)
def test_taints_keep_new_pods_away_and_drive_old_ones_out(
    taint: Dict, tolerates: str | None, new: bool, old: bool
) -> None:
    async def story(plane: Plane) -> None:
        await _nodes(plane, 2)
        spec: Dict = {"tolerations": [{"key": tolerates, "operator": "Exists"}]} if tolerates else {}
        await plane.apply(daemon_set("old", **spec))
        await plane.passes(5)
        await plane.change(NODES, "n0", taint)
        await plane.apply(daemon_set("new", **spec))
        await plane.passes(60)
        assert await plane.homes("old") == (["n0", "n1"] if old else ["n1"])
        assert await plane.homes("new") == (["n0", "n1"] if new else ["n1"])
        assert (await _status(plane, "old"))["numberMisscheduled"] == (1 if old and not new else 0)

    live(story)


def test_pods_that_use_the_nodes_own_network_do_not_wait_for_one() -> None:
    async def story(plane: Plane) -> None:
        await _nodes(plane, 1)
        await plane.change(NODES, "n0", _taint("node.kubernetes.io/network-unavailable", "NoSchedule"))
        await plane.apply(daemon_set("ds", hostNetwork=True))
        await plane.passes(5)
        assert await plane.homes("ds") == ["n0"]

    live(story)


def test_a_pod_that_is_deleted_is_made_again_when_it_is_gone() -> None:
    async def story(plane: Plane) -> None:
        await _nodes(plane, 1)
        await plane.apply(daemon_set("ds", leaves=10))
        await plane.passes(5)
        first = await _pod(plane, "n0")
        await plane.store.delete(PODS, first, "default")
        await plane.passes(5)
        assert await _pod(plane, "n0") == first, "there is no second one beside it"
        await plane.passes(10)
        assert await _pod(plane, "n0") != first

    live(story)


def test_a_pod_that_fails_is_replaced_later_each_time_and_one_that_succeeds_at_once() -> None:
    async def story(plane: Plane) -> None:
        await _nodes(plane, 1)
        await plane.apply(daemon_set("bad", run=1, exit_code=1), daemon_set("good", run=1))
        await plane.passes(60)
        failed, all_good = len(await plane.events("FailedDaemonPod", "bad")), await plane.events("Scheduled")
        assert 3 <= failed <= 6, "1, 2, 4, 8 ... seconds"
        assert sum("good-" in each for each in all_good) > 20
        assert "failed on n0" in (await plane.events("FailedDaemonPod", "bad"))[0]

    live(story)


def test_of_two_pods_on_a_node_the_older_one_stays() -> None:
    async def story(plane: Plane) -> None:
        await _nodes(plane, 1)
        await plane.apply(daemon_set("ds"))
        await plane.passes(5)
        (first,) = await plane.starting_with("ds")
        copy = {"metadata": {**first.metadata, "name": "ds-second"}, "spec": {**first.data["spec"]}}
        for field in ("uid", "resourceVersion", "creationTimestamp"):
            copy["metadata"].pop(field)
        copy["spec"].pop("nodeName")
        await plane.store.create(PODS, copy)
        await plane.passes(60)
        assert [record.name for record in await plane.starting_with("ds")] == [first.name]

    live(story)


NEW = {"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}}


async def _most_without(plane: Plane, seconds: int) -> int:
    """The most nodes that were without an available pod at any moment."""
    most = 0
    for _ in range(seconds * 10):
        await plane.passes(0.1)
        most = max(most, (await _status(plane))["numberUnavailable"])
    return most


@pytest.mark.parametrize(("most", "want"), [(None, 1), (2, 2), ("50%", 2), ("100%", 4)])
def test_a_new_template_is_rolled_out_a_few_at_a_time(most: int | str | None, want: int) -> None:
    async def story(plane: Plane) -> None:
        await _nodes(plane, 4)
        update = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": most}} if most is not None else None
        await plane.apply(daemon_set("ds", leaves=2, update=update))
        await plane.passes(5)
        await plane.change(DAEMON_SETS, "ds", NEW)
        assert await _most_without(plane, 60) == want
        status = await _status(plane)
        assert (status["updatedNumberScheduled"], status["numberAvailable"], status["observedGeneration"]) == (4, 4, 2)

    live(story)


def test_with_a_surge_no_node_is_ever_without_one() -> None:
    async def story(plane: Plane) -> None:
        await _nodes(plane, 3)
        update = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        made = daemon_set("ds", leaves=2, update=update)
        made["spec"]["minReadySeconds"] = 3
        await plane.apply(made)
        await plane.passes(10)
        await plane.change(DAEMON_SETS, "ds", NEW)
        assert await _most_without(plane, 90) == 0
        assert (await _status(plane))["updatedNumberScheduled"] == 3
        assert await plane.homes("ds") == ["n0", "n1", "n2"]

    live(story)


def test_on_delete_old_pods_stay_until_somebody_deletes_them() -> None:
    async def story(plane: Plane) -> None:
        await _nodes(plane, 2)
        await plane.apply(daemon_set("ds", update={"type": "OnDelete"}))
        await plane.passes(5)
        before = {record.name for record in await plane.starting_with("ds")}
        await plane.change(DAEMON_SETS, "ds", NEW)
        await plane.passes(60)
        assert {record.name for record in await plane.starting_with("ds")} == before
        assert (await _status(plane))["updatedNumberScheduled"] == 0
        await plane.store.delete(PODS, await _pod(plane, "n0"), "default")
        await plane.passes(60)
        assert (await _status(plane))["updatedNumberScheduled"] == 1
        assert (await plane.record(await _pod(plane, "n0"))).metadata["labels"]["version"] == "2"

    live(story)


@pytest.mark.parametrize(
    ("update", "field"),
    [
        ({"type": "Recreate"}, "spec.updateStrategy.type"),
        ({"rollingUpdate": {"maxUnavailable": 0}}, "spec.updateStrategy.rollingUpdate.maxUnavailable"),
        ({"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}}, "spec.updateStrategy.rollingUpdate.maxSurge"),
        ({"rollingUpdate": {"maxUnavailable": "half"}}, "spec.updateStrategy.rollingUpdate.maxUnavailable"),
    ],
)
def test_an_update_that_could_not_be_done_is_refused_with_its_field(update: Dict, field: str) -> None:
    async def story(plane: Plane) -> None:
        with pytest.raises(Invalid) as refused:
            await plane.apply(daemon_set("ds", update=update))
        assert field in str(refused.value)

    live(story)


def test_its_pods_go_with_it() -> None:
    async def story(plane: Plane) -> None:
        await _nodes(plane, 2)
        await plane.apply(daemon_set("ds"))
        await plane.passes(5)
        await plane.store.delete(DAEMON_SETS, "ds", "default")
        await plane.passes(60)
        assert await plane.starting_with("ds") == []

    live(story)


def test_however_many_nodes_there_are_a_turn_makes_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_sets, "AT_ONCE", 10)
    created: list[int] = []
    create = DaemonSetController.create_pods

    async def counted(self: DaemonSetController, owner: Any, pods: Any) -> None:
        pods = list(pods)
        created.append(len(pods))
        await create(self, owner, pods)

    monkeypatch.setattr(DaemonSetController, "create_pods", counted)

    async def story(plane: Plane) -> None:
        names = await _nodes(plane, 35)
        await plane.apply(daemon_set("ds"))
        await plane.passes(10)
        assert await plane.homes("ds") == sorted(names)
        assert max(created) == 10

    live(story)


@pytest.mark.parametrize("lives", [[1, 1, 1, 1], [2, 3, 1], [3, 5]])
def test_crashes_leave_no_node_with_two_pods_and_none_without(lives: list[int]) -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        for name in ("a", "b", "c", "d"):
            await store.create(NODES, {"metadata": {"name": name}, "status": {"capacity": {"cpu": "4"}}})
        made = daemon_set("ds")
        await store.create(DAEMON_SETS, {"metadata": made["metadata"], "spec": made["spec"]})

        async def done() -> bool:
            return sorted(map(node_of, await pods_in(store))) == ["a", "b", "c", "d"]

        await live_through_crashes(store, lambda near: [DaemonSetController(near, clock)], lives, done)
        async with running(DaemonSetController(store, clock)):
            await asyncio.sleep(30)
            assert await done()

    in_virtual_time(main)
