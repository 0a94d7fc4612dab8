"""Limits of users, groups and applications: who may start, and what is said to who may not."""

from __future__ import annotations

import json

import pytest

from reprieve import plan
from tests.builders.pods import Dict, node
from tests.builders.queues import NOW, in_queue, queues, tree
from tests.generators.limited_queues import limited_world
from tests.reference.user_limits import PlainLimits

WORLDS = 250


def user(name: str, *groups: str) -> Dict:
    return {"yunikorn.apache.org/user.info": json.dumps({"user": name, "groups": list(groups)})}


def limited(*limits: Dict, **more: object) -> Dict:
    return queues({**tree("a"), "limits": list(limits), **more}, tree("b"))


def told(configuration: Dict, *pods: Dict) -> dict[str, str]:
    """What is said to each pod, by its name: `fits`, or why not."""
    made = plan([configuration, node("n1", cpu="10"), *pods], now=NOW)
    return {
        item.preemptor.rpartition("/")[2]: "fits" if item.outcome == "Fits" else item.message.partition(": ")[2]
        for item in made.decisions
    }


def test_a_user_has_no_more_than_its_limit() -> None:
    made = limited({"users": ["sue"], "maxresources": {"vcore": "2"}})
    pods = [in_queue(f"p{number}", "root.a", annotations=user("sue"), minutes=9 - number) for number in range(3)]
    assert told(made, *pods, in_queue("bob", "root.a", annotations=user("bob"))) == {
        "p0": "fits",
        "p1": "fits",
        "p2": "user sue uses 2 of at most 2 cpu in root.a, and it needs 1 more.",
        "bob": "fits",
    }


def test_the_older_label_names_a_user_too() -> None:
    made = limited({"users": ["sue"], "maxresources": {"vcore": "1"}})
    labels = {"yunikorn.apache.org/username": "sue"}
    said = told(made, in_queue("p", "root.a", cpu="2", labels=labels), in_queue("q", "root.a", cpu="2"))
    assert said == {"p": "user sue uses 0 of at most 1 cpu in root.a, and it needs 2 more.", "q": "fits"}


def test_the_members_of_a_group_share_its_limit() -> None:
    made = limited({"groups": ["dev"], "maxresources": {"vcore": "2"}})
    pods = [
        in_queue("sue", "root.a", cpu="2", annotations=user("sue", "dev"), node="n1"),
        in_queue("bob", "root.a", annotations=user("bob", "ops", "dev")),
        in_queue("eve", "root.a", annotations=user("eve", "guests")),
    ]
    why = "group dev uses 2 of at most 2 cpu in root.a, and it needs 1 more."
    assert told(made, *pods) == {"bob": why, "eve": "fits"}


def test_a_limit_for_all_users_is_each_ones_own_and_a_named_one_stands_before_it() -> None:
    bounds = ({"users": ["sue"], "maxresources": {"pods": "2"}}, {"users": ["*"], "maxresources": {"pods": "1"}})
    pods = [
        in_queue(f"{name}-{number}", "root.a", annotations=user(name), minutes=9 - number)
        for name in ("sue", "bob", "eve")
        for number in range(2)
    ]
    said = told(limited(*bounds), *pods)
    assert [name for name, text in said.items() if text != "fits"] == ["bob-1", "eve-1"]
    assert said["bob-1"] == "user bob uses 1 of at most 1 pod in root.a, and it needs 1 more."


def test_a_limit_on_a_parent_holds_for_all_below_it() -> None:
    parent = {**tree("team", tree("x"), tree("y")), "limits": [{"users": ["sue"], "maxresources": {"vcore": "1"}}]}
    pods = [in_queue(name, f"root.team.{name}", annotations=user("sue")) for name in ("x", "y")]
    why = "user sue uses 1 of at most 1 cpu in root.team, and it needs 1 more."
    assert told(queues(parent), *pods) == {"x": "fits", "y": why}


@pytest.mark.parametrize("of_partition", [True, False])
def test_a_limit_of_the_partition_is_one_of_root(of_partition: bool) -> None:
    bound = [{"users": ["*"], "maxapplications": 1}]
    made = queues(tree("a"), tree("b"), root={} if of_partition else {"limits": bound})
    if of_partition:
        text = json.loads(made["data"]["queues.yaml"])
        text["partitions"][0]["limits"] = bound
        made["data"]["queues.yaml"] = json.dumps(text)
    pods = [in_queue(name, f"root.{name}", annotations=user("sue")) for name in ("a", "b")]
    why = "user sue runs 1 of at most 1 application in root, and b would be another."
    assert told(made, *pods) == {"a": "fits", "b": why}


def test_a_queue_runs_no_more_applications_than_it_may() -> None:
    pods = [
        in_queue("first", "root.a", app="x", minutes=9),
        in_queue("second", "root.a", app="y", minutes=8),
        in_queue("again", "root.a", app="x", minutes=7),
    ]
    why = "root.a runs 1 of at most 1 application, and y would be another."
    assert told(limited(maxapplications=1), *pods) == {"first": "fits", "second": why, "again": "fits"}


def test_pods_of_a_namespace_without_an_application_are_one() -> None:
    made = limited(maxapplications=1)
    pods = [in_queue(name, "root.a") for name in ("p", "q")]
    for item in pods:
        del item["metadata"]["labels"]["applicationId"]
    other = in_queue("r", "root.a", app="etl")
    why = "root.a runs 1 of at most 1 application, and etl would be another."
    assert told(made, *pods, other) == {"p": "fits", "q": "fits", "r": why}


def test_a_template_limits_the_applications_of_the_queues_it_makes() -> None:
    made = queues(tree("users", template={"maxapplications": 1}))
    pods = [in_queue(name, "root.users.sue", app=name) for name in ("x", "y")]
    assert told(made, *pods)["y"] == "root.users.sue runs 1 of at most 1 application, and y would be another."


def test_nobody_is_preempted_for_a_limit() -> None:
    bound = [{"users": ["sue"], "maxresources": {"vcore": "1"}}]
    made = queues({**tree("a", cpu=3), "limits": bound}, tree("b"))
    pods = [
        in_queue("mine", "root.a", annotations=user("sue"), node="n1"),
        *(in_queue(f"low-{number}", "root.b", node="n1", cpu="3") for number in range(3)),
        in_queue("ask", "root.a", app="other", annotations=user("sue"), priority=9),
    ]
    made_for = plan([made, node("n1", cpu="10"), *pods], preemptor="Pod/default/ask", now=NOW).decisions[0]
    assert (made_for.outcome, made_for.victims) == ("Unschedulable", [])
    assert "user sue uses 1 of at most 1 cpu in root.a" in made_for.message


def test_who_was_promised_a_place_does_not_stand_in_its_own_way() -> None:
    made = limited({"users": ["sue"], "maxresources": {"vcore": "1"}, "maxapplications": 1})
    asks = in_queue("ask", "root.a", annotations=user("sue"))
    asks["status"] = {"nominatedNodeName": "n1"}
    assert told(made, asks) == {"ask": "fits"}
    other = in_queue("other", "root.a", annotations=user("sue"), app="y", minutes=99)
    assert told(made, asks, other)["other"] == (
        "user sue uses 1 of at most 1 cpu in root.a, and it needs 1 more; "
        "user sue runs 1 of at most 1 application in root.a, and y would be another."
    )


@pytest.mark.parametrize("batch", range(2))
def test_in_random_worlds_limits_decide_as_they_are_written(batch: int) -> None:
    """There is room for everybody: who waits waits for a limit, and for each that it would break."""
    held = 0
    for seed in range(batch * WORLDS, batch * WORLDS + WORLDS):
        objects = limited_world(seed)
        limits, pods = PlainLimits(objects[0]), {item["metadata"]["name"]: item for item in objects[2:]}
        there = [item for item in pods.values() if item["spec"].get("nodeName")]
        for made in plan(objects, now=NOW).decisions:
            item = pods[made.preemptor.rpartition("/")[2]]
            broken = limits.broken(item, there)
            said = [
                " ".join(filter(None, [one["queue"], one["holder"], one["name"], one.get("resource", "applications")]))
                for one in made.claims
            ]
            assert sorted(said) == sorted(broken), (seed, made.message)
            assert made.outcome == ("Unschedulable" if broken else "Fits"), (seed, made.message)
            held += bool(broken)
            there += [] if broken else [item]
    assert held > WORLDS / 2
