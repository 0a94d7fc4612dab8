"""What a user of many clusters sees: from a template and a policy to replicas in clusters, and who makes way there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reprieve.engine.holds import HOLD_ANNOTATION
from reprieve.manifests.kinds import BINDINGS, CLUSTERS, DEPLOYMENTS, JOBS, PODS
from reprieve.stores.records import Record
from tests.builders import federation as federated
from tests.builders.federation import hollow_cluster
from tests.planes.running import Dict, Plane, condition, live


async def _federation(plane: Plane, grace: int = 20, **clusters: int) -> None:
    """Hollow clusters by their cpu, three classes, and a policy for each."""
    for name, value in (("low", 1), ("middle", 10), ("high", 100)):
        await plane.priority(name, value)
        for kind in ("Deployment", "Job"):
            made = federated.policy(name, kind=kind)
            await plane.apply({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", **made})
    for name, cpu in clusters.items():
        await plane.apply(hollow_cluster(name, {"cpu": str(cpu)}, grace=grace))


def _web(name: str, **parts: Any) -> Dict:
    return {"apiVersion": "apps/v1", "kind": "Deployment", **federated.deployment(name, **parts)}


def _task(name: str, **parts: Any) -> Dict:
    return {"apiVersion": "batch/v1", "kind": "Job", **federated.job(name, **parts)}


def _clusters(binding: Record) -> dict[str, int]:
    return {target["name"]: target["replicas"] for target in binding.data["spec"].get("clusters") or ()}


def _why(binding: Record) -> tuple[str, str]:
    told = condition(binding, "Scheduled")
    return told["status"], told["reason"]


def test_a_template_and_its_policy_become_replicas_in_clusters() -> None:
    async def story(plane: Plane) -> None:
        await _federation(plane, m1=4, m2=4)
        await plane.apply(_web("web", replicas=6))
        await plane.passes(5)
        binding = await plane.binding("web")
        assert sum(_clusters(binding).values()) == 6
        assert _why(binding) == ("True", "Success")
        assert binding.data["spec"]["schedulePriority"]["priority"] == 1
        assert len(await plane.events("Scheduled", about="web-deployment")) == 1
        used = [record.data["status"]["resourceSummary"]["allocated"] for record in await _all(plane)]
        assert sorted(item["cpu"] for item in used) == ["2", "4"]
        assert (await plane.store.list(PODS)).records == [], "nothing of it runs here"

    live(story)


async def _all(plane: Plane) -> list[Record]:
    return (await plane.store.list(CLUSTERS)).records


def test_a_victim_leaves_within_its_grace_period_and_is_scheduled_again_when_there_is_room() -> None:
    async def story(plane: Plane) -> None:
        await _federation(plane, m1=4)
        await plane.apply(_web("low", replicas=4))
        await plane.passes(5)
        assert _clusters(await plane.binding("low")) == {"m1": 4}
        await plane.apply(_task("high", seconds=60, cpu="3", tier="high"))
        await plane.passes(1)

        victim, preemptor = await plane.binding("low"), await plane.binding("high", "job")
        assert _clusters(victim) == {}
        assert _why(victim) == ("False", "Preempted")
        (task,) = victim.data["spec"]["gracefulEvictionTasks"]
        assert (task["fromCluster"], task["reason"], task["replicas"]) == ("m1", "Preempted", 4)
        assert "ResourceBinding/default/high-job" in task["message"]
        assert task["message"] in await plane.events("Preempted", about="low-deployment")
        assert await plane.events("Preempting", about="high-job")
        assert _clusters(preemptor) == {}
        assert _why(preemptor) == ("False", "Unschedulable")
        assert HOLD_ANNOTATION in preemptor.metadata["annotations"]

        await plane.passes(18)
        assert _clusters(await plane.binding("high", "job")) == {}, "the victim still leaves"
        await plane.passes(3)
        assert _clusters(await plane.binding("high", "job")) == {"m1": 1}
        assert HOLD_ANNOTATION not in (await plane.binding("high", "job")).metadata["annotations"]
        assert _clusters(await plane.binding("low")) == {}

        await plane.passes(70)
        assert condition(await plane.job("high"), "Complete")["status"] == "True"
        again = await plane.binding("low")
        assert _clusters(again) == {"m1": 4}
        assert _why(again) == ("True", "Success")
        assert len(await plane.events("Preempted")) == 1

    live(story)


def test_a_binding_that_may_not_preempt_or_is_equal_waits() -> None:
    async def story(plane: Plane) -> None:
        await _federation(plane, m1=2)
        await plane.apply(_web("first", replicas=2, tier="middle"))
        await plane.passes(5)
        await plane.apply(_web("second", replicas=1, tier="middle"))
        await plane.rests()
        assert _clusters(await plane.binding("first")) == {"m1": 2}
        assert _why(await plane.binding("second")) == ("False", "Unschedulable")
        await plane.change(DEPLOYMENTS, "first", {"spec": {"replicas": 1}})
        await plane.passes(5)
        assert _clusters(await plane.binding("second")) == {"m1": 1}

    live(story)


def test_a_cluster_that_comes_serves_who_waits() -> None:
    async def story(plane: Plane) -> None:
        await _federation(plane, m1=1)
        await plane.apply(_web("web", replicas=3))
        await plane.passes(30)
        assert _clusters(await plane.binding("web")) == {}
        await plane.apply(hollow_cluster("m2", {"cpu": "4"}))
        await plane.passes(5)
        assert _clusters(await plane.binding("web")) == {"m2": 3}

    live(story)


def test_a_template_that_goes_takes_its_binding_with_it() -> None:
    async def story(plane: Plane) -> None:
        await _federation(plane, m1=2)
        await plane.apply(_web("web", replicas=2))
        await plane.passes(5)
        await plane.store.delete(DEPLOYMENTS, "web", "default")
        await plane.passes(5)
        assert (await plane.store.list(BINDINGS)).records == []
        assert (await _all(plane))[0].data["status"]["resourceSummary"]["allocated"]["cpu"] == "0"

    live(story)


def test_a_binding_of_another_scheduler_is_left_alone() -> None:
    async def story(plane: Plane) -> None:
        await _federation(plane, m1=2)
        made = federated.policy("other", kind="Deployment", schedulerName="somebody-else")
        del made["spec"]["schedulePriority"]
        await plane.apply({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", **made})
        await plane.apply(_web("theirs", tier="other"))
        await plane.passes(60)
        binding = await plane.binding("theirs")
        assert _clusters(binding) == {}
        assert "status" not in binding.data
        assert await plane.events(about="theirs-deployment") == []

    live(story)


def test_a_restart_while_a_victim_leaves_tells_nobody_twice(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await _federation(plane, m1=2)
        await plane.apply(_web("low", replicas=2))
        await plane.passes(5)
        await plane.apply(_web("high", replicas=1, tier="high"))
        await plane.passes(5)
        await plane.restart()
        await plane.passes(5)
        assert len((await plane.binding("low")).data["spec"]["gracefulEvictionTasks"]) == 1
        await plane.passes(20)
        assert _clusters(await plane.binding("high")) == {"m1": 1}
        assert len(await plane.events("Preempted")) == 1

    live(story, directory=tmp_path)


def test_a_job_in_a_member_cluster_is_not_run_here() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        await _federation(plane, m1=2)
        await plane.apply(_task("task", seconds=30))
        await plane.passes(5)
        assert (await plane.store.list(PODS)).records == []
        assert (await plane.store.get(JOBS, "task", "default")).data.get("status", {}).get("active", 0) == 0
        await plane.passes(40)
        assert condition(await plane.job("task"), "Complete")["status"] == "True"
        assert (await _all(plane))[0].data["status"]["resourceSummary"]["allocated"]["cpu"] == "0"

    live(story)


def test_who_was_preempted_and_finds_no_place_is_told_so_once() -> None:
    async def story(plane: Plane) -> None:
        await _federation(plane, m1=2)
        await plane.apply(_web("low", replicas=2))
        await plane.passes(5)
        await plane.apply(_web("high", replicas=2, tier="high"))
        await plane.rests(within=3600)
        assert _why(await plane.binding("low")) == ("False", "Preempted")
        assert len(await plane.events("FailedScheduling", about="low-deployment")) == 1

    live(story)
