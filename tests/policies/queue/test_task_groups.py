"""Applications with task groups: whole or not at all, by the laws; time-outs, placeholders and those who replace them.

TASK_GROUP_WORLDS says how many random worlds there are, TASK_GROUP_FIRST is the number of the first.
"""

from __future__ import annotations

import os
from typing import Any

import msgspec
import pytest

from reprieve.configuration import Settings
from reprieve.engine.plan import Plan
from reprieve.manifests.loading import load_objects
from reprieve.manifests.pods import Pod
from reprieve.policies.entry import Asked
from reprieve.policies.queue.gang_entry import GangEntry
from reprieve.policies.registry import Policies
from reprieve.world import World
from tests.builders.pods import Dict, node
from tests.builders.queues import at, decide, in_queue, policies_over, queues, rules, tree, victims
from tests.generators.task_groups import APPLICATION, GROUPS, PARAMETERS, member, task_group_world, task_groups
from tests.reference.task_groups import TaskGroupLaws

WORLDS = int(os.environ.get("TASK_GROUP_WORLDS", "100"))
FIRST = int(os.environ.get("TASK_GROUP_FIRST", "0"))
_BATCH = 50


def start(policies: Policies, now: int) -> Plan:
    found = policies.find(Asked("Application", "default", APPLICATION))
    assert found is not None
    plan = policies.decide(found, now)
    policies.commit(found, plan)
    return plan


def placed(policies: Policies, plan: Plan) -> list[Dict]:
    """The pods of a plan as they stand in a world after it, on their nodes."""
    units = {facts.unit: facts.pod for facts in policies.world.pods.values()}
    found = []
    for unit, where in plan.placement.items():
        item: Dict = msgspec.to_builtins(units[unit], enc_hook=str)
        item["spec"]["nodeName"] = where
        item["spec"]["containers"] = [
            {"resources": {"requests": {name: str(units_) for name, units_ in _written(one).items()}}}
            for one in units[unit].spec.containers
        ]
        found.append(item)
    return found


def _written(container: Any) -> dict[str, str]:
    return {name: f"{units}m" if name == "cpu" else str(units) for name, units in container.resources.requests.items()}


@pytest.mark.parametrize("first", range(FIRST, FIRST + WORLDS, _BATCH))
def test_an_application_starts_as_a_whole_and_by_the_laws(first: int) -> None:
    outcomes: list[str] = []
    for seed in range(first, min(first + _BATCH, FIRST + WORLDS)):
        objects = task_group_world(seed)
        laws = TaskGroupLaws(objects)
        policies = policies_over(objects)
        plan = start(policies, at())
        outcomes.append(plan.outcome)
        if plan.outcome in ("Fits", "Preempt"):
            gone = [victim.unit.removeprefix("Pod/default/") for victim in plan.victims]
            assert bool(gone) == (plan.outcome == "Preempt"), seed
            assert laws.start(APPLICATION, placed(policies, plan), gone) == [], seed
        else:
            assert not plan.victims, seed
            assert not plan.placement, seed
            assert not laws.overlooked(APPLICATION), seed
    assert {"Fits", "Preempt", "Unschedulable"} <= set(outcomes), "worlds in which nothing happens prove nothing"


# Pod by pod

SAID = task_groups(("lead", 1, "1"), ("work", 2, "1"))
TREE = queues(tree("mine", cpu=6), tree("other", cpu=2))
KEEPS = {"yunikorn.apache.org/placeholder": "true"}


def _mine(name: str, group: str, **fields: Any) -> Dict:
    fields = {"cpu": "1", "minutes": 5, **fields}
    said = member(group, SAID, **fields.pop("annotations", {}))
    return in_queue(name, fields.pop("queue", "root.mine"), app=APPLICATION, annotations=said, **fields)


def _started(second: str = "n1") -> list[Dict]:
    first = _mine("tg-1", "work", annotations=KEEPS, node="n1", minutes=4)
    other = _mine("tg-2", "work", annotations=KEEPS, node=second, minutes=3)
    return [TREE, node("n1", cpu="4"), node("n2", cpu="1"), _mine("lead", "lead", node="n1"), first, other]


@pytest.mark.parametrize(("second", "why"), [("n1", "Reprieved"), ("n2", "CheaperElsewhere")])
def test_a_pod_takes_the_place_of_the_oldest_placeholder_of_its_group(second: str, why: str) -> None:
    made = decide(*_started(second), _mine("ask", "work", minutes=0))
    assert (made.outcome, made.domain, victims(made)) == ("Preempt", "n1", ["tg-1"])
    assert made.victims[0]["reason"] == "PlaceholderReplaced"
    assert rules(made) == {"lead": "NotKeptForIt", "tg-2": why}


def test_no_delay_and_no_guarantee_is_asked_for_that() -> None:
    never = queues(tree("mine"), tree("other"), enabled=False)
    made = decide(never, *_started()[1:], _mine("ask", "work", minutes=0))
    assert victims(made) == ["tg-1"]


def test_a_pod_that_does_not_fit_in_the_place_of_a_placeholder_is_one_like_others() -> None:
    made = decide(*_started(), _mine("ask", "work", cpu="3"))
    assert made.outcome == "Unschedulable"
    assert "3 cpu" in made.message
    free = decide(*_started(), node("n3", cpu="3"), _mine("ask", "work", cpu="3"))
    assert (free.outcome, free.domain) == ("Fits", "n3")


def test_a_pod_of_another_group_takes_no_placeholder() -> None:
    made = decide(*_started(), _mine("ask", "lead"))
    assert (made.outcome, made.domain) == ("Fits", "n1"), "there is room beside them"


def test_members_in_several_queues_are_told_so() -> None:
    pods = [_mine("lead", "lead"), _mine("work-1", "work", queue="root.other"), _mine("work-2", "work")]
    plan = start(policies_over([TREE, node("n1", cpu="9"), *pods]), at())
    assert plan.outcome == "Unschedulable"
    assert "its first pod is in root.mine and Pod/default/work-1 in root.other" in plan.message


def test_the_limit_of_a_user_counts_all_members() -> None:
    limits = [{"users": ["*"], "maxresources": {"vcore": "2"}}]
    made = queues({**tree("mine"), "limits": limits})
    plan = start(policies_over([made, node("n1", cpu="9"), _mine("lead", "lead")]), at())
    assert plan.outcome == "Unschedulable"
    assert "user nobody uses 0 of at most 2 cpu in root.mine, and it needs 3 more" in plan.message


def test_an_application_of_which_a_pod_has_run_goes_pod_by_pod() -> None:
    done = {**_mine("done", "work", node="n1"), "status": {"phase": "Succeeded"}}
    made = decide(TREE, node("n1", cpu="1"), done, _mine("ask", "work"))
    assert (made.preemptor, made.outcome) == ("Pod/default/ask", "Fits")


def test_what_cannot_be_read_makes_no_gang_and_is_told() -> None:
    broken = _mine("ask", "work", annotations={GROUPS: '[{"name": "work"}]'})
    made = decide(TREE, node("n1", cpu="1"), broken)
    assert (made.preemptor, made.outcome) == ("Pod/default/ask", "Fits")
    assert "have no effect: Object missing required field `minMember` - at $[0]." in made.message


OWN_WAYS: dict[str, tuple[dict[str, Any], str]] = {
    "in a PodGroup": ({"schedulingGroup": {"podGroupName": "all"}}, "goes with a PodGroup"),
    "outside of the queues": ({"schedulerName": "reprieve"}, ""),
}


@pytest.mark.parametrize("way", OWN_WAYS)
def test_a_pod_that_goes_its_own_way_starts_nothing_and_nobody_waits_for_it(way: str) -> None:
    """Others of its application do not: placeholders would be made for it, and never be taken."""
    spec, why = OWN_WAYS[way]
    first = _mine("first", "work", minutes=9, spec=spec)
    ask = in_queue("ask", "root.mine", app=APPLICATION, minutes=5)
    room = [TREE, node("n1", cpu="9")]
    assert (made := decide(*room, first, ask)).outcome == "Fits"
    assert made.preemptor == "Pod/default/ask"
    alone = decide(*room, first, ask, preemptor="first")
    assert (alone.preemptor, alone.outcome) == ("Pod/default/first", "Fits")
    assert not why or f"The task groups of Pod/default/first have no effect: the pod {why}." in alone.message


def test_a_pod_outside_of_the_queues_leads_no_application() -> None:
    """The first of its application in a queue is its originator: it goes last, however little it matters."""
    spark: dict[str, Any] = {"app": "spark", "node": "n1"}
    outside = in_queue("outside", "root.other", minutes=60, spec={"schedulerName": "reprieve"}, **spark)
    driver = in_queue("driver", "root.other", minutes=30, priority=0, **spark)
    worker = in_queue("worker", "root.other", minutes=20, priority=5, **spark)
    ask = in_queue("ask", "root.mine", priority=5)
    loose = queues(tree("mine", cpu=6), tree("other"))
    assert victims(decide(loose, node("n1", cpu="3"), outside, driver, worker, ask)) == ["worker"]


@pytest.mark.parametrize(("seconds", "preemptor"), [(600, "Application/default/gang"), (200, "Pod/default/ask")])
def test_after_the_time_out_pods_go_one_by_one(seconds: int, preemptor: str) -> None:
    said = {PARAMETERS: f"placeholderTimeoutInSeconds={seconds}"}
    objects = [TREE, node("n1", cpu="2"), _mine("ask", "work", annotations=said)]
    policies = Policies(World(load_objects(objects).objects), Settings(validate=True), at())
    found = policies.find(Asked("Pod", "default", "ask"))
    assert found is not None
    assert found.unit == preemptor


def test_whose_pod_is_gone_is_known_by_name_without_it() -> None:
    """Also when nobody has looked at the queues since: what was found then would be kept until the next change."""
    pods = [_mine(name, "work", minutes=minutes) for name, minutes in (("first", 9), ("second", 5), ("third", 4))]
    policies = policies_over([TREE, node("n1", cpu="9"), *pods])
    gangs = policies[GangEntry.name]
    assert isinstance(gangs, GangEntry)
    assert _members(gangs) == ["first", "second"]
    policies.world.delete(Pod, "first", "default")
    assert _members(gangs) == ["second", "third"]


def _members(gangs: GangEntry) -> list[str]:
    found = gangs.of_name(APPLICATION)
    assert found is not None
    return [facts.key[1] for facts in found.members if facts.key not in found.missing]
