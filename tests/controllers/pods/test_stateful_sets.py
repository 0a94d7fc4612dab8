"""StatefulSets: pods with names that stay, one after the other."""

from __future__ import annotations

from typing import Any

from reprieve.agents.hollow.nodes import EXIT_CODE, RUN_SECONDS
from reprieve.manifests.kinds import STATEFUL_SETS, VOLUME_CLAIMS
from tests.planes.running import Dict, Plane, live, stateful_set


async def _names(plane: Plane, name: str = "db") -> list[str]:
    return sorted(pod.name for pod in await plane.starting_with(name) if "deletionTimestamp" not in pod.metadata)


async def _status(plane: Plane) -> Dict:
    return dict((await plane.store.get(STATEFUL_SETS, "db", "default")).data["status"])


def test_pods_are_made_one_after_the_other_each_when_the_one_before_is_ready() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.apply(stateful_set("db", replicas=3, cpu="1"))
        await plane.passes(5)
        assert await _names(plane) == ["db-0", "db-1", "db-2"]
        assert await plane.where("db-2") == "", "the third is made, and finds no room"
        await plane.change(STATEFUL_SETS, "db", {"spec": {"replicas": 5}})
        await plane.passes(5)
        assert await _names(plane) == ["db-0", "db-1", "db-2"], "nobody is made behind one that is not ready"
        await plane.node("n2", cpu="4")
        await plane.passes(5)
        assert await _names(plane) == [f"db-{number}" for number in range(5)]
        said = (await plane.record("db-3")).labels
        assert said["apps.kubernetes.io/pod-index"] == "3"
        assert said["statefulset.kubernetes.io/pod-name"] == "db-3"
        assert (await _status(plane))["readyReplicas"] == 5
        await plane.rests()

    live(story)


def test_parallel_pods_are_made_at_once() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(stateful_set("db", replicas=3, more={"podManagementPolicy": "Parallel"}))
        await plane.passes(2)
        assert await _names(plane) == ["db-0", "db-1", "db-2"]

    live(story)


def test_the_last_goes_first_and_one_at_a_time() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        await plane.apply(stateful_set("db", replicas=3, leaves=10))
        await plane.passes(5)
        await plane.change(STATEFUL_SETS, "db", {"spec": {"replicas": 1}})
        await plane.passes(5)
        assert await _names(plane) == ["db-0", "db-1"]
        await plane.passes(10)
        assert await _names(plane) == ["db-0"]
        await plane.passes(20)
        assert [pod.name for pod in await plane.starting_with("db")] == ["db-0"]

    live(story)


def test_a_pod_that_goes_comes_back_under_its_name() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        await plane.apply(stateful_set("db", replicas=2))
        await plane.passes(5)
        before = await plane.record("db-0")
        await plane.store.delete(before.resource, "db-0", "default")
        await plane.passes(5)
        after = await plane.record("db-0")
        assert (after.uid != before.uid, after.data["status"]["phase"]) == (True, "Running")

    live(story)


def test_a_pod_that_fails_is_made_again_after_a_while() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        made = stateful_set("db", annotations={RUN_SECONDS: "5", EXIT_CODE: "1"})
        await plane.apply({**made, "spec": {**made["spec"], "replicas": 1}})
        await plane.passes(3)
        first = (await plane.record("db-0")).uid
        await plane.passes(6)
        assert (await plane.record("db-0")).uid == first
        await plane.passes(20)
        assert (await plane.record("db-0")).uid != first

    live(story)


def test_a_new_template_replaces_pods_from_the_last_one_down_to_the_partition() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
        await plane.apply(stateful_set("db", replicas=3, more={"updateStrategy": strategy}))
        await plane.passes(5)
        uids = {name: (await plane.record(name)).uid for name in await _names(plane)}
        labels = {"metadata": {"labels": {"version": "2"}}}
        await plane.change(STATEFUL_SETS, "db", {"spec": {"template": labels}})
        await plane.passes(20)
        new = [name for name in await _names(plane) if (await plane.record(name)).uid != uids[name]]
        assert new == ["db-1", "db-2"]
        assert (await _status(plane))["updatedReplicas"] == 2
        await plane.change(STATEFUL_SETS, "db", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
        await plane.passes(20)
        status = await _status(plane)
        assert (status["updatedReplicas"], status["currentRevision"]) == (3, status["updateRevision"])

    live(story)


def test_each_pod_has_claims_of_its_own_that_outlive_it() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        claim: dict[str, Any] = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
        more = {"volumeClaimTemplates": [claim], "podManagementPolicy": "Parallel"}
        await plane.apply(stateful_set("db", replicas=2, more=more))
        await plane.passes(5)
        claims = [each.name for each in (await plane.store.list(VOLUME_CLAIMS)).records]
        assert sorted(claims) == ["data-db-0", "data-db-1"]
        volumes = (await plane.record("db-1")).data["spec"]["volumes"]
        assert volumes == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}}]
        await plane.change(STATEFUL_SETS, "db", {"spec": {"replicas": 0}})
        await plane.passes(10)
        assert await _names(plane) == []
        assert len((await plane.store.list(VOLUME_CLAIMS)).records) == 2

    live(story)
