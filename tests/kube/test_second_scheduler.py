"""`reprieve run` beside kube-scheduler on a real API server, with the rights of `deploy/rbac.yaml`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from tests.cli.running import until
from tests.kube.stories import HIGH, LOW, OWN, Story, priority_class

MakeNode = Callable[..., dict[str, Any]]
TOLERATION = "preemption-toleration.scheduling.x-k8s.io"


def test_pods_that_name_it_are_bound_and_told_and_all_others_are_left_alone(story: Story, one_node: str) -> None:
    story.low("other", one_node, scheduler="nobody")
    story.low("mine", one_node)
    assert story.runs("mine") == one_node
    event = story.told("mine", "Scheduled")
    assert event["reportingController"] == OWN
    assert event["action"]
    assert one_node in event["note"]
    assert story.node_of("other") == ""


def test_a_victim_leaves_gracefully_while_its_place_is_promised(story: Story, one_node: str) -> None:
    story.low("victim", one_node, cpu="3", grace_seconds=3)
    story.runs("victim")
    story.high("preemptor", one_node, cpu="3")
    victim = story.leaving("victim")
    told = time.monotonic()
    assert victim["metadata"]["deletionGracePeriodSeconds"] == 3
    target = story.condition("victim", "DisruptionTarget")
    assert (target["status"], target["reason"]) == ("True", "PreemptionByScheduler")
    assert until(lambda: story.pod("preemptor")["status"].get("nominatedNodeName")) == one_node
    assert story.node_of("preemptor") == ""
    assert story.bound("preemptor") == one_node
    assert time.monotonic() - told > 1.5, "it did not wait for the end of the grace period"
    assert f"Preempted by Pod/{story.namespace}/preemptor" in story.told("victim", "Preempted")["note"]
    assert "make" in story.told("preemptor", "Preempting")["note"]


def test_what_a_foreign_scheduler_has_placed_stays_where_nobody_says_otherwise(story: Story, one_node: str) -> None:
    story.low("foreign", one_node, cpu="3", scheduler="default-scheduler")
    story.runs("foreign")
    story.high("preemptor", one_node, cpu="3")
    assert "1 is another scheduler's" in story.waits("preemptor", "another scheduler's")
    assert "deletionTimestamp" not in story.pod("foreign")["metadata"]
    assert "another scheduler's" in story.told("preemptor", "FailedScheduling")["note"]


def test_a_replica_set_makes_its_pods_anew_and_they_wait(story: Story, one_node: str) -> None:
    spec = {
        "nodeSelector": {"kubernetes.io/hostname": one_node},
        "schedulerName": OWN,
        "priorityClassName": LOW,
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "2"}}}],
    }
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    replicas = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    story.create({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": replicas})
    before = until(lambda: set(running_on(story, one_node)) if len(running_on(story, one_node)) == 2 else None)
    story.high("preemptor", one_node, cpu="2")
    assert story.bound("preemptor") == one_node
    kept = before & set(until(lambda: running_on(story, one_node)))
    assert len(kept) == 1, "one of two is enough"
    new = until(lambda: [each for each in of_web(story) if each["metadata"]["name"] not in before])
    assert len(new) == 1
    story.waits(new[0]["metadata"]["name"], "higher priority")


def of_web(story: Story) -> list[Any]:
    return list(story.admin.list("v1", "Pod", story.namespace, labelSelector="app=web"))


def running_on(story: Story, node: str) -> list[str]:
    stay = (each for each in of_web(story) if "deletionTimestamp" not in each["metadata"])
    return [each["metadata"]["name"] for each in stay if each["spec"].get("nodeName") == node]


def test_a_class_that_tolerates_the_preemptor_protects_its_pods(story: Story, one_node: str) -> None:
    annotations = {f"{TOLERATION}/minimum-preemptable-priority": "5000", f"{TOLERATION}/toleration-seconds": "-1"}
    name = f"tolerant-{story.namespace}"
    story.admin.create(priority_class(name, 20, annotations))
    story.low("tolerant", one_node, cpu="3", priorityClassName=name)
    story.runs("tolerant")
    story.high("preemptor", one_node, cpu="3")
    story.waits("preemptor", "1 tolerates it")
    story.admin.delete("scheduling.k8s.io/v1", "PriorityClass", name)


def test_a_place_that_another_scheduler_has_promised_counts_as_taken(story: Story, one_node: str) -> None:
    story.high("promised", one_node, cpu="3", scheduler="nobody")
    promise = {"status": {"nominatedNodeName": one_node}}
    story.admin.patch("v1", "Pod", "promised", promise, story.namespace, "status")
    story.low("lower", one_node, cpu="3")
    story.waits("lower", "room is kept for 1 nominated pod")
    story.admin.delete("v1", "Pod", "promised", story.namespace, grace_seconds=0)
    assert story.bound("lower") == one_node


def test_what_the_kubelet_keeps_for_itself_is_not_given_away(story: Story, make_node: MakeNode) -> None:
    name = make_node(cpu="4")["metadata"]["name"]
    story.admin.patch("v1", "Node", name, {"status": {"allocatable": {"cpu": "2"}}}, subresource="status")
    story.low("large", name, cpu="3")
    story.waits("large", "it can never fit here")
    story.low("small", name, cpu="2")
    assert story.bound("small") == name


def test_pods_that_others_placed_take_room(story: Story, one_node: str) -> None:
    story.high("foreign", one_node, cpu="3", scheduler="default-scheduler")
    story.runs("foreign")
    story.low("late", one_node, cpu="2")
    story.waits("late", "1 is of higher priority")


def test_what_a_resized_pod_still_holds_is_given_away_when_its_node_has_it_back(story: Story, one_node: str) -> None:
    story.low("big", one_node, cpu="3")
    story.runs("big")
    resize(story, "big", says="3", asks="1")
    assert story.pod("big")["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "1"
    story.low("next", one_node, cpu="2")
    story.waits("next", "the only node has 1 free")
    resize(story, "big", says="1")
    assert story.bound("next") == one_node


def resize(story: Story, name: str, *, says: str, asks: str = "") -> None:
    """What its node says that it holds, and what it asks for from now on."""
    container = story.pod(name)["spec"]["containers"][0]["name"]
    held = {"cpu": says, "memory": "1Mi"}
    status = {"name": container, "ready": True, "image": "none", "imageID": "", "restartCount": 0}
    said = [{**status, "allocatedResources": held, "resources": {"requests": held}}]
    story.admin.patch("v1", "Pod", name, {"status": {"containerStatuses": said}}, story.namespace, subresource="status")
    if asks:
        wanted = {"spec": {"containers": [{"name": container, "resources": {"requests": {"cpu": asks}}}]}}
        path = f"/api/v1/namespaces/{story.namespace}/pods/{name}/resize"
        headers = {"Content-Type": "application/strategic-merge-patch+json"}
        story.admin.request("PATCH", path, content=json.dumps(wanted), headers=headers)


def test_a_budget_is_spared_where_somebody_else_can_go(story: Story, one_node: str) -> None:
    story.budget("keep", {"guarded": "yes"}, 1)
    story.low("guarded", one_node, cpu="2", labels={"guarded": "yes"})
    story.low("plain", one_node, cpu="2")
    story.runs("guarded")
    story.runs("plain")
    until(lambda: counted(story, "keep"))
    story.high("first", one_node, cpu="2")
    assert story.bound("first") == one_node
    assert story.node_of("guarded") == one_node
    story.high("second", one_node, cpu="2")
    assert story.bound("second") == one_node, "a budget is no reason to wait for ever"


def counted(story: Story, budget: str) -> int:
    """The pods that a budget is about, when its controller has seen them."""
    found = story.admin.get("policy/v1", "PodDisruptionBudget", budget, story.namespace)
    return int(found["status"].get("expectedPods", 0))


# Gangs, by the server's own kinds


def gang(story: Story, name: str, count: int, priority: str, node: str, cpu: str = "1") -> list[str]:
    spec = {
        "schedulingPolicy": {"gang": {"minCount": count}},
        "priorityClassName": priority,
        "disruptionMode": {"all": {}},
    }
    api_version = "scheduling.k8s.io/v1beta1"
    story.create({"apiVersion": api_version, "kind": "PodGroup", "metadata": {"name": name}, "spec": spec})
    names = [f"{name}-{number}" for number in range(count)]
    make = story.high if priority == HIGH else story.low
    for each in names:
        make(each, node, cpu=cpu, schedulingGroup={"podGroupName": name})
    return names


def test_a_gang_is_placed_whole_and_makes_another_one_leave_whole(story: Story, one_node: str) -> None:
    low = gang(story, "low", 4, LOW, one_node)
    for name in low:
        story.runs(name)
    high = gang(story, "high", 2, HIGH, one_node)
    for name in low:
        assert "PodGroup" in story.told(name, "Preempted")["note"]
    for name in high:
        assert story.bound(name) == one_node


def test_a_gang_that_does_not_fit_gets_no_place_at_all(story: Story, one_node: str) -> None:
    names = gang(story, "large", 5, LOW, one_node)
    for name in names:
        story.waits(name, "4 of the 5 pods it needs")
