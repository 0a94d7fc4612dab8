"""Laws of explanations: whoever could have been asked is a victim, or is told once, and truly, why it stays."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprieve.engine.plan import Plan
from reprieve.model.names import parts_of
from reprieve.planning.result import decision
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.policy import FederationPolicy
from tests.builders.pods import Dict
from tests.generators.federations import DUPLICATED, GATES, binding, cluster, decided, federations, policy_of, weighted
from tests.policies.federation.test_laws import laws

MOMENT = "2026-01-01T00:00:00Z"
HIGH = binding("high", priority=10, cpu="5")
Named = tuple[str, str]


@st.composite
def troubled(draw: st.DrawFn) -> list[Dict]:
    """Federations in which some are deleted or leave, clusters are out of reach, and not all may preempt."""
    objects = draw(federations())
    for item in objects:
        if item["kind"] == "Cluster":
            ready = draw(st.sampled_from(["True"] * 5 + ["False"]))
            item["status"]["conditions"] = [{"type": "Ready", "status": ready}]
        elif item["metadata"]["name"] != "high":
            _trouble(draw, item)
    high = objects[-1]
    never = draw(st.integers(0, 5)) == 0
    high["spec"]["schedulePriority"]["preemptionPolicy"] = "Never" if never else "PreemptLowerPriority"
    groups = [{"affinityName": name, "clusterNames": [name]} for name in ("m1", "m0")]
    high["spec"]["placement"] |= draw(st.sampled_from([{}, {}, {"clusterAffinities": groups}]))
    return objects


def _trouble(draw: st.DrawFn, item: Dict) -> None:
    if draw(st.integers(0, 5)) == 0:
        item["metadata"] |= {"deletionTimestamp": MOMENT, "finalizers": ["karmada.io/binding"]}
    elif draw(st.integers(0, 5)) == 0:
        left = item["spec"]["clusters"].pop()
        item["spec"]["gracefulEvictionTasks"] = [{"fromCluster": left["name"], "replicas": 1}]
    if draw(st.integers(0, 7)) == 0:
        del item["spec"]["replicaRequirements"]


def answer(objects: list[Dict], gates: dict[str, bool] = GATES) -> tuple[FederationPolicy, Plan]:
    policy = policy_of(*objects, gates=gates)
    return policy, decided(policy, "high")


def within_reach(policy: FederationPolicy, facts: BindingFacts) -> Counter[Named]:
    names = policy.view(facts, 0).reach
    return Counter((other.unit, name) for other in policy.federation.bindings for name in other.held if name in names)


@laws
@given(troubled(), st.sampled_from([GATES, GATES, GATES, {}]))
def test_everybody_within_reach_makes_way_or_is_named_once_in_each_of_its_clusters(
    objects: list[Dict], gates: dict[str, bool]
) -> None:
    policy, made = answer(objects, gates)
    if made.outcome == "Fits":
        return
    gone = Counter((other.unit, where) for other, where in made.terms.evictions)
    named = Counter((str(spared.unit), spared.domain) for spared in made.details.spared)
    assert gone + named == within_reach(policy, made.terms.facts)


@laws
@given(troubled())
def test_in_brief_the_same_is_told_of_the_clusters_that_were_chosen(objects: list[Dict]) -> None:
    _, made = answer(objects)
    chosen = {where for _, where in made.terms.evictions}
    brief = [spared for spared in made.brief.spared if spared.domain in chosen]
    assert brief == [spared for spared in made.details.spared if spared.domain in chosen]
    assert not (made.brief.spared and made.outcome != "Preempt")


def _lower(item: Dict) -> None:
    item["spec"]["schedulePriority"]["priority"] = -9


def _asking(item: Dict) -> None:
    item["spec"]["replicaRequirements"] = {"resourceRequest": {"cpu": "3", "nvidia.com/gpu": "1"}}
    item.pop("status", None)


OPPOSITES: dict[str, Callable[[Dict], object]] = {
    "ClusterScoped": lambda item: item.update(kind="ResourceBinding"),
    "OtherScheduler": lambda item: item["spec"].update(schedulerName="default-scheduler"),
    "BeingDeleted": lambda item: item["metadata"].pop("deletionTimestamp"),
    "NoRequirements": _asking,
    "Priority": _lower,
    "NotContested": _asking,
}


@laws
@given(troubled())
def test_without_the_fact_that_protects_it_a_binding_goes_or_stays_for_another_reason(objects: list[Dict]) -> None:
    policy, made = answer(objects)
    view = policy.view(made.terms.facts, 0)
    for spared in made.details.spared:
        name, rule = parts_of(spared.unit).name, spared.reason.rule
        # Where nothing is missing, nobody holds any of it, whatever they hold.
        own = rule in OPPOSITES and (rule != "NotContested" or view.missing(spared.domain))
        if own and name != "high":
            _, other = answer(opposite(objects, name, rule))
            assert (name, spared.domain, rule) not in rules_in(other)


def opposite(objects: list[Dict], name: str, rule: str) -> list[Dict]:
    changed = copy.deepcopy(objects)
    (item,) = [item for item in changed if item["metadata"]["name"] == name]
    OPPOSITES[rule](item)
    return changed


def rules_in(made: Plan) -> list[tuple[str, str, str]]:
    return [(parts_of(spared.unit).name, spared.domain, spared.reason.rule) for spared in made.details.spared]


def test_a_binding_that_is_being_deleted_is_told_that_and_not_that_there_is_room() -> None:
    leaving = binding("leaving", priority=0, cpu="5", on={"m1": 1})
    leaving["metadata"] |= {"deletionTimestamp": MOMENT, "finalizers": ["karmada.io/binding"]}
    low = binding("low", priority=0, cpu="5", on={"m1": 1})
    high = binding("high", priority=10, cpu="9")
    told = decision(answer([cluster(used="10"), leaving, low, high])[1])
    assert [victim["unit"] for victim in told.victims] == ["ResourceBinding/default/low"]
    assert [(item["rule"], item["message"]) for item in told.spared] == [
        ("BeingDeleted", "it is being deleted, and what it uses counts as free already")
    ]


def test_who_is_not_asked_because_nobody_is_is_told_so() -> None:
    low = binding("low", priority=0, cpu="5", on={"m1": 1})
    never = binding("high", priority=10, policy="Never", cpu="9")
    (spared,) = decision(answer([cluster(used="10"), low, never])[1]).spared
    assert (spared["rule"], spared["message"]) == ("NobodyAsked", "the preemptor's preemption policy is Never")


def test_while_victims_leave_the_others_are_told_that() -> None:
    gone = binding("gone", priority=0, cpu="5", spec={"gracefulEvictionTasks": [{"fromCluster": "m1", "replicas": 1}]})
    low = binding("low", priority=0, cpu="5", on={"m1": 1})
    told = decision(answer([cluster(used="10"), gone, low, HIGH])[1])
    assert (told.outcome, [item["message"] for item in told.spared]) == (
        "Wait",
        ["others that are leaving already are enough"],
    )


def test_a_victim_in_one_cluster_is_told_why_it_stays_in_another() -> None:
    both = binding("both", priority=0, cpu="5", replicas=2, on={"m1": 1, "m2": 1})
    full = [cluster("m1", cpu="5", used="5"), cluster("m2", cpu="5", used="5")]
    told = decision(answer([*full, both, HIGH])[1])
    assert (told.domain, [item["domain"] for item in told.spared]) == ("m1", ["m2"])
    assert told.spared[0]["rule"] == "CheaperElsewhere"


def test_whoever_leaves_one_cluster_is_not_told_that_it_leaves_another() -> None:
    tasks = {"gracefulEvictionTasks": [{"fromCluster": "m1", "replicas": 1}]}
    moving = binding("moving", priority=0, cpu="5", on={"m2": 1}, spec=tasks)
    full = [cluster("m1", cpu="5", used="5"), cluster("m2", cpu="5", used="5")]
    told = decision(answer([*full, moving, HIGH])[1])
    assert (told.outcome, told.domain, told.waiting_for) == ("Wait", "m1", ["ResourceBinding/default/moving"])
    assert [(item["domain"], item["rule"]) for item in told.spared] == [("m2", "NobodyAsked")]


def first_m1_then_m2() -> dict[str, list[Dict]]:
    return {"clusterAffinities": [{"affinityName": name, "clusterNames": [name]} for name in ("m1", "m2")]}


def test_a_cluster_of_a_later_group_that_was_never_searched_is_said_to_be_that() -> None:
    full = [cluster("m1", cpu="5", used="5"), cluster("m2", cpu="5", used="5")]
    residents = [binding(f"low-{name}", priority=0, cpu="5", on={name: 1}) for name in ("m1", "m2")]
    high = binding("high", priority=10, cpu="5", placement=first_m1_then_m2())
    told = decision(answer([*full, *residents, high])[1])
    assert told.obstacles == {"m2": "of a later affinity group, and an earlier one is enough"}
    assert [(item["rule"], item["message"]) for item in told.spared] == [
        ("CheaperElsewhere", "m1 was chosen instead: its affinity group comes first")
    ]


def test_a_cluster_that_could_hold_its_part_is_not_called_short_when_another_is() -> None:
    full = [cluster("m1", cpu="5", used="5"), cluster("m2", cpu="5", used="5"), cluster("m3", cpu="5")]
    residents = [binding("low", priority=0, cpu="5", on={"m1": 1}), binding("top", priority=20, cpu="5", on={"m2": 1})]
    high = binding("high", priority=10, cpu="5", scheduling=DUPLICATED)
    told = decision(answer([*full, *residents, high])[1])
    enough = "not the obstacle: another cluster that it needs has insufficient resources"
    short = "insufficient resources: it is short of 5 cpu for 1 replica, and no binding there may be preempted"
    assert told.obstacles == {"m1": enough, "m2": short, "m3": enough}
    assert {item["domain"]: item["rule"] for item in told.spared} == {"m1": "NoHelp", "m2": "Priority"}


def test_a_cluster_that_the_weights_give_nothing_is_said_to_be_that() -> None:
    full = [cluster("m1", cpu="5", used="5"), cluster("m2", cpu="5", used="5")]
    residents = [binding(f"low-{name}", priority=0, cpu="5", on={name: 1}) for name in ("m1", "m2")]
    high = binding("high", priority=10, cpu="5", scheduling=weighted(("m1", 1)))
    told = decision(answer([*full, *residents, high])[1])
    assert (told.domain, told.obstacles) == ("m1", {"m2": "given none of the replicas that are missing"})


SPREAD_OVER_ONE = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]


@pytest.mark.parametrize("scheduling", [DUPLICATED, weighted(("m1", 1), ("m2", 1))])
def test_replicas_with_a_fixed_place_free_the_cheapest_clusters_that_the_constraints_allow(scheduling: Dict) -> None:
    full = [cluster(name, cpu="5", used="5") for name in ("m1", "m2")]
    residents = [binding("a", priority=1, cpu="5", on={"m1": 1}), binding("b", priority=0, cpu="5", on={"m2": 1})]
    high = binding("high", priority=10, cpu="5", scheduling=scheduling, spread=SPREAD_OVER_ONE)
    told = decision(answer([*full, *residents, high])[1])
    assert (told.outcome, told.domain, told.criterion) == ("Preempt", "m2", "CheapestSelection")
    assert told.victims[0]["clusters"] == ["m2"]
    assert [(item["rule"], item["message"]) for item in told.spared] == [
        (
            "CheaperElsewhere",
            "m2 was chosen instead: of the clusters that the spread constraints allow, these cost least",
        )
    ]
    assert told.obstacles == {
        "m1": "not needed: other clusters that the spread constraints allow cost no more",
    }


def test_a_cluster_that_reports_nothing_says_so() -> None:
    silent = cluster("m1")
    del silent["status"]["resourceSummary"]
    told = decision(answer([silent, binding("high", priority=10, cpu="5")])[1])
    assert told.obstacles == {"m1": "without room that is known: it reports no status.resourceSummary"}
    assert "m1 is without room that is known: it reports no status.resourceSummary" in told.message


def test_a_preemptor_that_grows_is_not_in_its_own_list_of_the_spared() -> None:
    low = binding("low", priority=0, cpu="5", on={"m1": 1})
    high = binding("high", priority=10, cpu="5", replicas=2, on={"m1": 1})
    for policy, outcome in (("PreemptLowerPriority", "Preempt"), ("Never", "Unschedulable")):
        high["spec"]["schedulePriority"]["preemptionPolicy"] = policy
        told = decision(answer([cluster("m1", cpu="10", used="10"), low, high])[1])
        assert told.outcome == outcome
        assert "ResourceBinding/default/high" not in [item["unit"] for item in told.spared]


def test_a_cluster_that_is_left_alone_when_several_are_freed_is_told_why() -> None:
    full = [cluster(name, cpu="5", used="5") for name in ("m1", "m2", "m3")]
    residents = [binding(f"low-{name}", priority=0, cpu="5", on={name: 1}) for name in ("m1", "m2", "m3")]
    high = binding("high", priority=10, cpu="5", replicas=2)
    told = decision(answer([*full, *residents, high])[1])
    assert (told.domain, [(item["domain"], item["message"]) for item in told.spared]) == (
        "m1,m2",
        [("m3", "m1,m2 was chosen instead: no single cluster could be freed enough")],
    )
