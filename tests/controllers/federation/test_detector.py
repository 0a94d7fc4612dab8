"""The detector: a binding for each template that a policy selects, in step with both, and no others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from reprieve.configuration import Settings
from reprieve.controllers.federation.detector import Detector
from reprieve.controllers.garbage import GarbageCollector
from reprieve.manifests.karmada import CLUSTER_POLICY_ANNOTATION, POLICY_ANNOTATION
from reprieve.manifests.kinds import BINDINGS, DEPLOYMENTS, JOBS, PRIORITY_CLASSES
from reprieve.model.clock import Clock
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from tests.builders.federation import CLUSTER_POLICIES, DIVIDED, DUPLICATED, POLICIES, deployment, job, policy
from tests.builders.gates import GANGS_AND_BINDINGS
from tests.builders.pods import Dict
from tests.controllers.harness import (
    Lagging,
    Unreachable,
    exists,
    in_virtual_time,
    live_through_crashes,
    running,
    until,
)
from tests.generators import federations

SETTINGS = Settings(feature_gates=GANGS_AND_BINDINGS)
Story = Callable[[EmbeddedStore], Awaitable[None]]
NAME = "web-deployment"


def live(story: Story, wrap: Callable[[EmbeddedStore], Any] = lambda store: store) -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        await store.create(PRIORITY_CLASSES, {"metadata": {"name": "low"}, "value": 5})
        async with running(Detector(wrap(store), clock, SETTINGS)):
            await story(store)

    in_virtual_time(main)


async def bindings(store: Store) -> dict[str, Record]:
    """All bindings, a moment later: time is virtual, and passes only when nobody has anything to do."""
    await asyncio.sleep(1)
    return {record.name: record for record in (await store.list(BINDINGS)).records}


async def the_binding(store: Store) -> Record:
    found = await bindings(store)
    assert list(found) == [NAME]
    return found[NAME]


async def write(store: Store, spec: Dict) -> None:
    await store.patch(DEPLOYMENTS, "web", "default", {"spec": spec})


# Making and keeping


@pytest.mark.parametrize("policy_first", [True, False])
def test_a_template_that_a_policy_selects_gets_a_binding_whichever_comes_first(policy_first: bool) -> None:
    async def story(store: EmbeddedStore) -> None:
        made = [(POLICIES, policy("low")), (DEPLOYMENTS, deployment("web", cpu="2", replicas=3))]
        for resource, data in made if policy_first else reversed(made):
            await store.create(resource, data)
            await asyncio.sleep(1)
        await store.create(DEPLOYMENTS, deployment("other", tier="unknown"))
        record = await the_binding(store)
        template = await store.get(DEPLOYMENTS, "web", "default")
        spec = record.data["spec"]
        assert spec["resource"] == {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "namespace": "default",
            "name": "web",
            "uid": template.uid,
        }
        assert (spec["replicas"], spec["replicaRequirements"]["resourceRequest"]) == (3, {"cpu": "2"})
        assert spec["schedulePriority"] == {"priority": 5, "preemptionPolicy": "PreemptLowerPriority"}
        assert record.metadata["annotations"][POLICY_ANNOTATION] == "low-deployment"
        (owner,) = record.metadata["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("Deployment", template.uid, True)

    live(story)


def test_jobs_are_templates_too() -> None:
    async def story(store: EmbeddedStore) -> None:
        await store.create(POLICIES, policy("low", kind="Job"))
        await store.create(JOBS, job("train", seconds=5))
        assert list(await bindings(store)) == ["train-job"]

    live(story)


def test_a_binding_follows_its_template_and_its_policy_and_leaves_the_rest_as_it_is() -> None:
    async def story(store: EmbeddedStore) -> None:
        await store.create(POLICIES, policy("low"))
        await store.create(DEPLOYMENTS, deployment("web", replicas=3))
        await the_binding(store)
        tasks = [{"fromCluster": "m2", "replicas": 1, "producer": "somebody"}]
        result = {"clusters": [{"name": "m1", "replicas": 3}], "gracefulEvictionTasks": tasks}
        said = {"annotations": {"reprieve.scheduling/hold": "{}", "mine": "yes"}}
        await store.patch(BINDINGS, NAME, "default", {"metadata": said, "spec": result})
        status = {"conditions": [{"type": "Scheduled", "status": "True"}]}
        await store.patch(BINDINGS, NAME, "default", {"status": status}, subresource="status")
        await write(store, {"replicas": 5})
        await store.patch(POLICIES, "low-deployment", "default", _placement(DUPLICATED))
        record = await the_binding(store)
        spec = record.data["spec"]
        assert spec["replicas"] == 5
        assert spec["placement"]["replicaScheduling"] == DUPLICATED
        assert {name: spec[name] for name in result} == result
        assert record.metadata["annotations"].items() >= said["annotations"].items()
        assert record.data["status"] == status

    live(story)


def _placement(scheduling: Dict) -> Dict:
    return {"spec": {"placement": {"replicaScheduling": {"replicaDivisionPreference": None, **scheduling}}}}


def test_what_is_right_is_not_written_again() -> None:
    async def story(store: EmbeddedStore) -> None:
        await store.create(POLICIES, policy("low"))
        await store.create(DEPLOYMENTS, deployment("web"))
        version = (await the_binding(store)).version
        await store.patch(DEPLOYMENTS, "web", "default", {"metadata": {"labels": {"colour": "red"}}})
        assert (await the_binding(store)).version == version

    live(story)


def test_a_priority_is_resolved_when_the_binding_is_made_or_changed_and_not_when_only_its_class_changes() -> None:
    async def story(store: EmbeddedStore) -> None:
        async def carried() -> tuple[int, str]:
            found = (await the_binding(store)).data["spec"]["schedulePriority"]
            return found["priority"], found["preemptionPolicy"]

        await store.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 50})
        await store.create(POLICIES, policy("low"))
        await store.create(DEPLOYMENTS, deployment("web"))
        await the_binding(store)
        await store.delete(PRIORITY_CLASSES, "low")
        await store.create(PRIORITY_CLASSES, {"metadata": {"name": "low"}, "value": 7, "preemptionPolicy": "Never"})
        await store.patch(DEPLOYMENTS, "web", "default", {"metadata": {"labels": {"colour": "red"}}})
        await store.patch(BINDINGS, NAME, "default", {"spec": {"clusters": [{"name": "m1", "replicas": 1}]}})
        assert await carried() == (5, "PreemptLowerPriority")
        await write(store, {"replicas": 2})
        assert await carried() == (7, "Never")
        asks = {"spec": {"schedulePriority": {"priorityClassName": "high"}}}
        await store.patch(POLICIES, "low-deployment", "default", asks)
        assert await carried() == (50, "PreemptLowerPriority")
        await store.patch(POLICIES, "low-deployment", "default", {"spec": {"schedulePriority": None}})
        assert await carried() == (0, "Never")

    live(story)


def test_a_class_that_the_watch_has_not_told_of_yet_is_found() -> None:
    """Classes are told of 10 seconds late, templates and policies at once: the class counts all the same."""

    class Late(Lagging):
        def watch(self, resource: Any, since: int, namespace: str = "", *, signal: asyncio.Event) -> Any:
            if resource == PRIORITY_CLASSES:
                return super().watch(resource, since, namespace, signal=signal)
            return self._store.watch(resource, since, namespace, signal=signal)

    async def story(store: EmbeddedStore) -> None:
        await asyncio.sleep(20)
        await store.create(PRIORITY_CLASSES, {"metadata": {"name": "new"}, "value": 9})
        await store.create(POLICIES, policy("new"))
        await store.create(DEPLOYMENTS, deployment("web", tier="new"))
        assert (await the_binding(store)).data["spec"]["schedulePriority"]["priority"] == 9

    live(story, lambda store: Late(store, 10))


def test_a_policy_of_the_namespace_that_preempts_wins_and_one_for_all_takes_over_when_it_goes() -> None:
    async def story(store: EmbeddedStore) -> None:
        for_all = policy("low", scheduling=DUPLICATED)
        del for_all["metadata"]["namespace"]
        await store.create(CLUSTER_POLICIES, for_all)
        await store.create(DEPLOYMENTS, deployment("web"))
        assert CLUSTER_POLICY_ANNOTATION in (await the_binding(store)).metadata["annotations"]
        await store.create(POLICIES, policy("low", scheduling=DIVIDED))
        assert CLUSTER_POLICY_ANNOTATION in (await the_binding(store)).metadata["annotations"]
        await store.patch(POLICIES, "low-deployment", "default", {"spec": {"preemption": "Always"}})
        said = (await the_binding(store)).metadata["annotations"]
        assert (POLICY_ANNOTATION in said, CLUSTER_POLICY_ANNOTATION in said) == (True, False)
        await store.delete(POLICIES, "low-deployment", "default")
        record = await the_binding(store)
        assert POLICY_ANNOTATION not in record.metadata["annotations"]
        assert record.data["spec"]["placement"]["replicaScheduling"] == DUPLICATED

    live(story)


def test_a_binding_that_somebody_deletes_is_made_again() -> None:
    async def story(store: EmbeddedStore) -> None:
        await store.create(POLICIES, policy("low"))
        await store.create(DEPLOYMENTS, deployment("web"))
        uid = (await the_binding(store)).uid
        await store.delete(BINDINGS, NAME, "default")
        assert (await the_binding(store)).uid != uid

    live(story)


# Letting go


async def _delete_template(store: EmbeddedStore) -> None:
    await store.delete(DEPLOYMENTS, "web", "default")


async def _delete_policy(store: EmbeddedStore) -> None:
    await store.delete(POLICIES, "low-deployment", "default")


async def _take_the_label_away(store: EmbeddedStore) -> None:
    await store.patch(DEPLOYMENTS, "web", "default", {"metadata": {"labels": {"tier": None}}})


@pytest.mark.parametrize("end", [_delete_template, _delete_policy, _take_the_label_away])
@pytest.mark.parametrize("while_away", [False, True])
def test_a_binding_goes_with_its_template_or_its_policy(end: Story, while_away: bool) -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        await store.create(POLICIES, policy("low"))
        await store.create(DEPLOYMENTS, deployment("web"))
        async with running(Detector(store, clock, SETTINGS)):
            await the_binding(store)
            if not while_away:
                await end(store)
                assert await bindings(store) == {}
        if while_away:
            await end(store)
            async with running(Detector(store, clock, SETTINGS)):
                assert await bindings(store) == {}

    in_virtual_time(main)


def test_a_template_that_comes_back_under_its_old_name_gets_a_binding_of_its_own() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        await store.create(POLICIES, policy("low"))
        await store.create(DEPLOYMENTS, deployment("web"))
        async with running(Detector(store, clock, SETTINGS)):
            old = await the_binding(store)
            await store.patch(BINDINGS, NAME, "default", {"spec": {"clusters": [{"name": "m1", "replicas": 1}]}})
        await store.delete(DEPLOYMENTS, "web", "default")
        again = await store.create(DEPLOYMENTS, deployment("web"))
        async with running(Detector(store, clock, SETTINGS)):
            new = await the_binding(store)
        assert new.uid != old.uid
        assert new.data["spec"]["resource"]["uid"] == again.uid
        assert not new.data["spec"].get("clusters")

    in_virtual_time(main)


def test_a_binding_that_was_made_by_hand_is_left_alone_until_a_policy_selects_its_template() -> None:
    async def story(store: EmbeddedStore) -> None:
        alone, with_template = federations.binding("alone", cpu="1"), federations.binding("web", cpu="1")
        with_template["metadata"]["name"] = NAME
        for made in (alone, with_template):
            await store.create(BINDINGS, made)
        await store.create(DEPLOYMENTS, deployment("web", replicas=4))
        assert (await bindings(store)).keys() == {"alone", NAME}
        await store.create(POLICIES, policy("low"))
        found = await bindings(store)
        assert found[NAME].data["spec"]["replicas"] == 4
        await store.delete(DEPLOYMENTS, "web", "default")
        assert list(await bindings(store)) == ["alone"]

    live(story)


# Trouble


def test_the_garbage_collector_and_the_detector_do_not_quarrel() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        async with running(Detector(store, clock, SETTINGS), GarbageCollector(store, clock)):
            await store.create(POLICIES, policy("low"))
            for _ in range(5):
                await store.create(DEPLOYMENTS, deployment("web"))
                await the_binding(store)
                await store.delete(DEPLOYMENTS, "web", "default")
                assert await bindings(store) == {}

    in_virtual_time(main)


def test_one_template_that_cannot_have_a_binding_does_not_stop_the_others() -> None:
    async def story(store: EmbeddedStore) -> None:
        await store.create(POLICIES, policy("low"))
        long = deployment("app")
        long["metadata"]["name"] = "w" * 250  # with its kind, that is no name any more
        await store.create(DEPLOYMENTS, long)
        await store.create(DEPLOYMENTS, deployment("web"))
        await the_binding(store)

    live(story)


def test_it_dies_after_any_write_and_all_is_right_in_the_end() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        await store.create(POLICIES, policy("low"))
        for number in range(4):
            await store.create(DEPLOYMENTS, deployment(f"w{number}", replicas=number + 1))

        async def over() -> bool:
            names = [f"w{number}-deployment" for number in range(4)]
            return all([await exists(store, BINDINGS, name) for name in names])

        await live_through_crashes(store, lambda mortal: [Detector(mortal, clock, SETTINGS)], [1, 1, 2], over)
        assert [record.data["spec"]["replicas"] for record in (await bindings(store)).values()] == [1, 2, 3, 4]

    in_virtual_time(main)


def test_watches_that_lag_and_get_lost_delay_it_and_nothing_else() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        far: Any = Lagging(store, 2, lost_after=3)
        async with running(Detector(far, clock, SETTINGS)):
            await store.create(POLICIES, policy("low"))
            for number in range(6):
                await asyncio.sleep(1)
                await store.create(DEPLOYMENTS, deployment(f"w{number}"))
            await store.delete(DEPLOYMENTS, "w0", "default")

            async def right() -> bool:
                return {record.name for record in (await store.list(BINDINGS)).records} == wanted

            wanted = {f"w{number}-deployment" for number in range(1, 6)}
            await until(right, 120)
        assert far.lost > 0

    in_virtual_time(main)


def test_an_answer_that_was_lost_is_no_second_binding() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        await store.create(POLICIES, policy("low"))
        lost: Any = Unreachable(store, 1)
        async with running(Detector(lost, clock, SETTINGS)):
            await store.create(DEPLOYMENTS, deployment("web"))
            first = await the_binding(store)
            await write(store, {"replicas": 2})
            second = await the_binding(store)
        assert (second.uid, second.data["spec"]["replicas"]) == (first.uid, 2)

    in_virtual_time(main)
