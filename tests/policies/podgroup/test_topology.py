"""Gangs that ask for one topology domain: a rack, a zone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders.pods import budget, node
from tests.policies.podgroup.gangs import (
    JOB,
    WORKLOAD_JOB,
    decide,
    gang,
    nodes,
    places,
    running,
    victims,
    workload_gang,
)

Dict = dict[str, Any]
ONE_RACK: Dict = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}


def racks() -> list[Dict]:
    return [node(f"{rack}{number}", labels={"rack": rack}) for rack in "ab" for number in (1, 2)]


@pytest.mark.parametrize(("priority_of_a", "want"), [(50, "rack=b"), (5, "rack=a")])
def test_a_gang_goes_to_the_cheapest_rack_that_takes_it_whole(priority_of_a: int, want: str) -> None:
    others = [running(f"r-{name}", name, priority_of_a if name[0] == "a" else 10) for name in ("a1", "a2", "b1", "b2")]
    for waiting, name in ((gang(2, group=ONE_RACK), JOB), (workload_gang(2, topology="rack"), WORKLOAD_JOB)):
        decision = decide(racks(), others, waiting, preemptor=name)
        assert decision.domain == want
        assert victims(decision) == [f"r-{want[-1]}1", f"r-{want[-1]}2"]


def test_a_gang_is_not_split_over_racks() -> None:
    others = [running("x", "a1", 1000), running("y", "b1", 1000)]
    waiting = gang(2, group=ONE_RACK)
    assert decide(racks(), others, waiting).outcome == "Unschedulable"
    ignored = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": False}
    assert decide(racks(), others, waiting, gates=ignored).outcome == "Fits"


def test_the_rest_of_a_gang_follows_those_who_run() -> None:
    group, *members = gang(2, least=2, group=ONE_RACK)
    first = {**members[0], "spec": {**members[0]["spec"], "nodeName": "b1"}}
    decision = decide(racks(), running("x", "b2"), group, first, members[1])
    assert (decision.outcome, victims(decision), places(decision)) == ("Preempt", ["x"], {"job-2": "b2"})


def test_budgets_are_counted_in_the_domain_that_is_looked_at() -> None:
    """Outside the rack a more important pod could use up the budget; it is not asked to leave."""
    web: Dict = {"labels": {"app": "web"}}
    others = [running("out", "a1", 60, **web), running("in", "b1", **web)]
    others += [running("full-a", "a2", 1000), running("full-b", "b2", 1000)]
    waiting = gang(1, group=ONE_RACK)
    decision = decide(racks(), others, budget("web", {"app": "web"}, allowed=1), waiting)
    assert [(victim["unit"], victim["pdbViolation"]) for victim in decision.victims] == [("Pod/default/in", False)]


@pytest.mark.parametrize("key", ["rack", "nowhere"])
def test_no_domain_no_place(key: str) -> None:
    waiting = gang(1, group={"schedulingConstraints": {"topology": [{"key": key}]}})
    assert decide(nodes(2), waiting).outcome == "Unschedulable"
    assert decide(waiting).outcome == "Unschedulable"
