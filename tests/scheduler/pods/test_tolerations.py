"""Tolerations in a running control plane: a group makes way when none of its pods tolerates it any more."""

from __future__ import annotations

from tests.builders.pods import pod_group
from tests.planes.running import Plane, condition, live

ANNOTATION = "preemption-toleration.scheduling.x-k8s.io/"


def _tolerating(seconds: int) -> dict[str, str]:
    return {f"{ANNOTATION}minimum-preemptable-priority": "1000", f"{ANNOTATION}toleration-seconds": str(seconds)}


async def _cluster(plane: Plane, seconds: int) -> None:
    await plane.priority("plain", 1)
    await plane.priority("patient", 1, annotations=_tolerating(seconds))
    await plane.priority("high", 100)
    await plane.priority("critical", 1000)
    for number in (1, 2):
        await plane.node(f"n{number}", cpu="1")
    await plane.apply(pod_group("team", gang=1, whole=True, priorityClassName="plain"))


async def _member(plane: Plane, name: str, priority: str, node: str) -> None:
    chosen = {"kubernetes.io/hostname": node}
    await plane.pod(name, cpu="1", priority=priority, schedulingGroup={"podGroupName": "team"}, nodeSelector=chosen)


def test_a_group_tolerates_as_long_as_any_of_its_pods_each_since_it_was_scheduled() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 600)
        await _member(plane, "a", "patient", "n1")
        await plane.passes(300)
        await _member(plane, "b", "patient", "n2")
        await plane.passes(10)
        await plane.pod("web", cpu="1", priority="high", nodeSelector={"kubernetes.io/hostname": "n1"})
        await plane.passes(400)
        assert await plane.where("a") == "n1", "its own 600 seconds are over, those of b are not"
        assert "tolerate" in condition(await plane.record("web"), "PodScheduled")["message"]
        await plane.passes(250)
        assert (await plane.where("web"), await plane.where("b")) == ("n1", "gone")

    live(story)


def test_one_pod_that_tolerates_for_ever_spares_its_group_but_not_from_the_critical() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, -1)
        await _member(plane, "a", "plain", "n1")
        await _member(plane, "z", "patient", "n2")
        await plane.passes(10)
        await plane.pod("web", cpu="1", priority="high", nodeSelector={"kubernetes.io/hostname": "n1"})
        await plane.passes(86_400)
        assert (await plane.where("a"), await plane.where("web")) == ("n1", "")
        await plane.pod("dns", cpu="1", priority="critical", nodeSelector={"kubernetes.io/hostname": "n1"})
        await plane.passes(60)
        assert [await plane.where(name) for name in ("dns", "a", "z")] == ["n1", "gone", "gone"]

    live(story)
