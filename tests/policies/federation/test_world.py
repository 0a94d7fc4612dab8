"""What clusters have left: by their reports, by counting where they are hollow, and without what others hold."""

from __future__ import annotations

import pytest

from reprieve.engine.holds import HOLD_ANNOTATION, Hold
from reprieve.manifests.loading import load_objects
from reprieve.policies.federation.policy import FederationPolicy
from tests.builders.pods import Dict
from tests.generators.federations import DUPLICATED, asked, binding, cluster, decided, policy_of

HOLLOW = {"reprieve.scheduling/hollow": "true"}


def hollow(name: str = "m1", **fields: str) -> Dict:
    made = cluster(name, **fields)
    made["metadata"]["annotations"] = HOLLOW
    return made


def holding(name: str, where: dict[str, int], **fields: object) -> Dict:
    made = binding(name, **fields)  # type: ignore[arg-type]
    made["metadata"]["annotations"] = {HOLD_ANNOTATION: Hold(clusters=where).text()}
    return made


def free(policy: FederationPolicy, name: str = "m1") -> int:
    policy.federation.refresh()
    return policy.federation.free[name].of("cpu") // 1000


def left(policy: FederationPolicy, name: str, *, soon: bool = False) -> int:
    """What m1 has left for a binding."""
    facts = asked(policy, name)
    views = policy.federation.free_soon(facts) if soon else policy.federation.free_now(facts)
    return views["m1"].of("cpu") // 1000


def put(policy: FederationPolicy, manifest: Dict) -> None:
    (item,) = load_objects([manifest]).objects
    policy.world.put(item)


# Reports


def test_what_bindings_use_since_a_report_is_taken_off_it_and_a_new_report_is_believed() -> None:
    policy = policy_of(cluster(used="3"), binding("a", cpu="3", on={"m1": 1}))
    assert free(policy) == 7
    put(policy, binding("b", cpu="2", on={"m1": 1}))
    assert free(policy) == 5
    put(policy, cluster(used="6"))
    assert free(policy) == 4
    policy.world.delete(type(asked(policy, "b").binding), "b", "default")
    assert free(policy) == 6


def test_a_hollow_cluster_is_counted_whatever_it_reported_and_however_late() -> None:
    policy = policy_of(hollow(used="9"), binding("a", cpu="3", on={"m1": 1}))
    assert free(policy) == 7
    put(policy, binding("b", cpu="2", on={"m1": 1}))
    put(policy, hollow(used="3"))  # made before b came
    assert free(policy) == 5


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ({"spec": {"gracefulEvictionTasks": [{"fromCluster": "m1", "replicas": 2}]}}, 5),
        ({"status": {"conditions": [{"type": "Finished", "status": "True"}]}}, 10),
    ],
)
def test_what_still_leaves_counts_and_what_has_finished_does_not(change: Dict, want: int) -> None:
    policy = policy_of(hollow(), binding("a", cpu="1", replicas=3, on={"m1": 3}, **change))
    assert free(policy) == want


# Holds


def test_a_place_that_is_held_is_left_to_higher_priorities_only() -> None:
    others = [binding(f"p{rank}", priority=rank, cpu="1") for rank in (4, 5, 6)]
    policy = policy_of(hollow(), holding("holder", {"m1": 8}, priority=5, cpu="1", replicas=8), *others)
    assert [left(policy, f"p{rank}") for rank in (4, 5, 6)] == [2, 2, 10]
    assert left(policy, "holder") == 10


def test_what_is_held_while_victims_leave_is_not_asked_of_those_who_come_later() -> None:
    """Nothing is free yet; who comes later lacks what it asks for, and not what the holder lacks besides."""
    leaving = {"gracefulEvictionTasks": [{"fromCluster": "m1", "replicas": 1}]}
    victims = [binding("gone", priority=0, cpu="5", spec=leaving), binding("low", priority=0, cpu="5", on={"m1": 1})]
    holder = holding("holder", {"m1": 1}, priority=9, cpu="5")
    policy = policy_of(hollow(), *victims, holder, binding("next", priority=9, cpu="5"))
    assert (left(policy, "next"), left(policy, "next", soon=True)) == (0, 0)
    made = decided(policy, "next")
    assert (made.outcome, [victim.unit for victim in made.victims]) == ("Preempt", ["ResourceBinding/default/low"])
    assert decided(policy, "holder").outcome == "Wait"


def test_of_two_equals_that_hold_each_may_take_its_own_as_soon_as_there_is_room() -> None:
    two = [holding(name, {"m1": 1}, priority=5, cpu="6") for name in ("a", "b")]
    policy = policy_of(hollow(), *two)
    assert [decided(policy, name).outcome for name in ("a", "b")] == ["Fits", "Fits"]
    policy.commit(decided(policy, "a"))
    assert decided(policy, "b").outcome == "Unschedulable"


def test_only_who_waits_holds() -> None:
    settled = holding("settled", {"m1": 1}, priority=9, cpu="5", on={"m1": 1})
    policy = policy_of(hollow(), settled, binding("next", priority=1, cpu="5"))
    assert left(policy, "next") == 5


# Results that no longer fit their template


def test_replicas_that_became_too_many_leave_in_proportion() -> None:
    policy = policy_of(hollow("m1"), hollow("m2"), binding("a", cpu="1", replicas=3, on={"m1": 4, "m2": 2}))
    made = decided(policy, "a")
    assert (made.outcome, made.terms.division) == ("Fits", {"m1": -2, "m2": -1})
    policy.commit(made)
    assert asked(policy, "a").held == {"m1": 2, "m2": 1}
    assert not asked(policy, "a").pending


def test_what_is_everywhere_grows_by_what_is_missing() -> None:
    grown = binding("a", cpu="2", replicas=3, scheduling=DUPLICATED, on={"m1": 1, "m2": 3})
    policy = policy_of(hollow("m1"), hollow("m2"), grown)
    assert decided(policy, "a").terms.division == {"m1": 2}


def test_a_result_that_is_complete_is_never_added_to_because_its_status_lags_behind() -> None:
    status = {"conditions": [{"type": "Scheduled", "status": "False", "reason": "Preempted"}]}
    policy = policy_of(hollow(), binding("a", cpu="1", replicas=3, on={"m1": 3}, status=status))
    made = decided(policy, "a")
    assert (made.outcome, made.terms.division) == ("Fits", {})
    policy.commit(made)
    assert asked(policy, "a").held == {"m1": 3}
