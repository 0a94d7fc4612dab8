"""Plain pods in queues: one by one, and in groups that are admitted whole."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from reprieve.manifests.kinds import PODS, QUOTA_WORKLOADS
from reprieve.stores.records import Record
from tests.builders.pods import Dict, pod
from tests.builders.quota import workload
from tests.controllers.quota.scenes import QUEUE_LABEL, TOLERATION, Scene, condition, message, play

GATE = "kueue.x-k8s.io/admission"


def queued(name: str, *, group: str = "", total: str = "", queue: str = "team", **more: Any) -> Dict:
    labels = {QUEUE_LABEL: queue, **({"kueue.x-k8s.io/pod-group-name": group} if group else {})}
    annotations = {"kueue.x-k8s.io/pod-group-total-count": total} if total else {}
    return pod(name, labels=labels, annotations=annotations, **{"cpu": "1", **more})


def gates(record: Record) -> list[str]:
    return [gate["name"] for gate in record.data["spec"].get("schedulingGates", [])]


def test_a_pod_in_a_queue_is_held_until_it_is_admitted() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(queued("a", spec={"nodeSelector": {"disk": "fast"}}))
        await scene.settle()
        made, held = await scene.workload(), await scene.get(PODS, "a")
        assert made.name.startswith("pod-a-")
        assert made.data["spec"]["queueName"] == "team"
        (pod_set,) = made.data["spec"]["podSets"]
        assert (pod_set["name"], pod_set["count"]) == ("main", 1)
        assert "schedulingGates" not in pod_set["template"]["spec"]
        assert gates(held) == [GATE]
        await scene.admit(made)
        await scene.settle()
        running = await scene.get(PODS, "a")
        assert gates(running) == []
        assert running.data["spec"]["nodeSelector"] == {"disk": "fast", "pool": "gpu"}
        assert running.data["spec"]["tolerations"] == [TOLERATION]
        assert running.data["status"]["phase"] == "Running"

    play(act)


def test_other_gates_stay() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(queued("a", spec={"schedulingGates": [{"name": "example.com/license"}]}))
        await scene.settle()
        await scene.admit(await scene.workload())
        await scene.settle()
        assert gates(await scene.get(PODS, "a")) == ["example.com/license"]

    play(act)


def test_an_evicted_pod_is_told_why_and_does_not_come_back() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(queued("a"))
        await scene.settle()
        await scene.admit(await scene.workload())
        await scene.settle()
        last: dict[str, str] = {}

        def check() -> None:
            for each in scene.now(PODS):
                if "deletionTimestamp" in each.metadata:
                    last.update(
                        reason=condition(each, "DisruptionTarget")[1], message=message(each, "DisruptionTarget")
                    )
                    assert "admission" in scene.now(QUOTA_WORKLOADS)[0].data["status"], "its quota is free too early"

        scene.check = check
        await scene.evict(await scene.workload(), "Workload/default/b is more important")
        await scene.settle()
        assert last == {"reason": "PreemptionByScheduler", "message": "Workload/default/b is more important"}
        assert await scene.all(PODS) == []
        assert await scene.all(QUOTA_WORKLOADS) == []

    play(act)


def test_evicted_before_it_was_let_go_it_waits_again() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(queued("a"))
        await scene.settle()
        await scene.admit(await scene.workload(), "gone")  # there is no such flavor, so it is held
        await scene.settle()
        await scene.evict(await scene.workload())
        await scene.settle()
        made = await scene.workload()
        assert "admission" not in made.data["status"]
        assert condition(made, "Requeued") == ("True", "Preempted")
        assert gates(await scene.get(PODS, "a")) == [GATE]

    play(act)


def test_deactivated_its_pod_ends_for_that_reason() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(queued("a"))
        await scene.settle()
        await scene.admit(await scene.workload())
        await scene.settle()
        seen: set[tuple[str, str]] = set()
        scene.check = lambda: seen.update(condition(each, "TerminationTarget") for each in scene.now(PODS))
        await scene.patch(QUOTA_WORKLOADS, (await scene.workload()).name, {"spec": {"active": False}})
        await scene.settle()
        assert ("True", "Deactivated") in seen
        assert await scene.all(PODS) == []

    play(act)


def test_a_group_that_is_not_complete_is_told_what_it_waits_for() -> None:
    """Once no other pod has come for five seconds, and again when it has more."""

    async def act(scene: Scene) -> None:
        await scene.create(queued("a", group="g", total="3"))
        await asyncio.sleep(2)
        assert await scene.events("a") == []
        await scene.settle()
        (told,) = await scene.told("a")
        assert (told.data["type"], told.data["reason"]) == ("Warning", "ErrWorkloadCompose")
        assert told.data["message"] == "The group g has 1 of its 3 pods: it asks for quota when all of them are there."
        await scene.create(queued("b", group="g", total="3"))
        await scene.settle()
        assert [each.data["message"][:26] for each in await scene.told("a")][1:] == ["The group g has 2 of its 3"]
        await scene.create(queued("c", group="g", total="3"))
        await scene.settle()
        assert len((await scene.workload()).data["metadata"]["ownerReferences"]) == 3
        assert (await scene.events("a")).count("ErrWorkloadCompose") == 2

    play(act)


def test_finished_pods_free_the_quota_and_gone_ones_take_the_workload_with_them() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(queued("a"))
        await scene.settle()
        await scene.admit(await scene.workload())
        await scene.settle()
        await scene.succeed()
        await scene.settle()
        assert condition(await scene.workload(), "Finished") == ("True", "JobFinished")
        await scene.store.delete(PODS, "a", "default")
        await scene.settle()
        assert await scene.all(QUOTA_WORKLOADS) == []

    play(act)


def test_a_waiting_pod_that_is_deleted_takes_its_workload_with_it() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(queued("a"))
        await scene.settle()
        await scene.store.delete(PODS, "a", "default")
        await scene.settle()
        assert await scene.all(QUOTA_WORKLOADS) == []

    play(act)


def test_a_pod_let_go_by_hand_ends() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(queued("a"))
        await scene.settle()
        await scene.patch(PODS, "a", {"spec": {"schedulingGates": None}})
        await scene.settle()
        assert await scene.all(PODS) == []

    play(act)


def test_a_group_is_queued_when_it_is_whole_by_the_shapes_of_its_pods() -> None:
    async def act(scene: Scene) -> None:
        more = {"group": "crew", "total": "3"}
        await scene.create(queued("leader", **more, spec={"nodeSelector": {"disk": "fast"}}), queued("w1", **more))
        await scene.settle()
        assert await scene.all(QUOTA_WORKLOADS) == []
        await scene.create(queued("w2", **more))
        await scene.settle()
        made = await scene.workload()
        assert made.name == "crew"
        assert sorted(each["count"] for each in made.data["spec"]["podSets"]) == [1, 2]
        assert {owner["name"] for owner in made.metadata["ownerReferences"]} == {"leader", "w1", "w2"}
        await scene.admit(made)
        await scene.settle()
        assert len(await scene.running()) == 3
        assert (await scene.get(PODS, "leader")).data["spec"]["nodeSelector"] == {"disk": "fast", "pool": "gpu"}

    play(act)


def test_more_pods_than_a_group_has_stay_held() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(*(queued(name, group="crew", total="2") for name in ("a", "b", "c")))
        await scene.settle()
        await scene.admit(await scene.workload())
        await scene.settle()
        assert [each.name for each in await scene.running()] == ["a", "b"]
        assert gates(await scene.get(PODS, "c")) == [GATE]

    play(act)


def test_a_group_that_loses_a_waiting_pod_waits_until_it_is_whole_again() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(*(queued(name, group="crew", total="2") for name in ("a", "b")))
        await scene.settle()
        old = await scene.workload()
        await scene.store.delete(PODS, "b", "default")
        await scene.settle()
        assert await scene.all(QUOTA_WORKLOADS) == []
        await scene.create(queued("c", group="crew", total="2"))
        await scene.settle()
        made = await scene.workload()
        assert made.uid != old.uid
        assert {owner["name"] for owner in made.metadata["ownerReferences"]} == {"a", "c"}

    play(act)


def test_a_group_is_evicted_whole() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(*(queued(name, group="crew", total="2") for name in ("a", "b")))
        await scene.settle()
        await scene.admit(await scene.workload())
        await scene.settle()
        await scene.evict(await scene.workload())
        await scene.settle()
        assert await scene.all(PODS) == []
        assert await scene.all(QUOTA_WORKLOADS) == []

    play(act)


@pytest.mark.parametrize(
    ("pods", "want"),
    [
        ([queued("a", group="crew", total="2"), queued("b", group="crew", total="3")], "do not name the same"),
        ([queued("a", group="crew", total="2"), queued("b", group="crew", total="2", queue="x")], "do not name"),
        ([queued("a", group="crew", total="many"), queued("b", group="crew", total="many")], "do not name the same"),
        ([queued(f"p{n}", group="crew", total="9", cpu=str(n)) for n in range(1, 10)], "9 different shapes"),
        ([queued("a", group="The_Crew", total="1")], "It cannot be queued"),
    ],
)
def test_a_group_that_cannot_be_queued_is_told_why(pods: list[Dict], want: str) -> None:
    async def act(scene: Scene) -> None:
        await scene.create(*pods)
        await scene.settle()
        assert await scene.all(QUOTA_WORKLOADS) == []
        told = [each.data["message"] for each in await scene.told(pods[0]["metadata"]["name"])]
        assert any(want in each for each in told), told

    play(act)


def test_a_name_that_is_taken_is_not_taken_over() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(workload("crew", "team", cpu=1), queued("a", group="crew", total="1"))
        await scene.settle()
        assert "ownerReferences" not in (await scene.workload()).metadata
        assert "NameTaken" in await scene.events("a")

    play(act)


def test_a_workload_deleted_by_hand_ends_its_pods_and_frees_the_name() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(queued("a"))
        await scene.settle()
        made = await scene.workload()
        await scene.admit(made)
        await scene.settle()
        await scene.store.delete(QUOTA_WORKLOADS, made.name, "default")
        await scene.settle()
        assert await scene.all(PODS) == []
        assert await scene.all(QUOTA_WORKLOADS) == []

    play(act)
