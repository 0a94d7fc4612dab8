"""One cycle over the heads of all queues, and fair sharing."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve import plan
from reprieve.planning.result import Result
from tests.builders.pods import manifest, metadata
from tests.builders.quota import cohort, condition, flavor, queue, workload

Dict = dict[str, Any]
NOW = "2026-01-01T12:00:00Z"
FAIR = {"fairSharing": {"enable": True}}
CPU4 = {"default": {"cpu": 4}}
NO_CPU = {"default": {"cpu": 0}}


def one_cycle(*objects: Dict, **question: Any) -> Result:
    return plan([flavor(), *objects], now=NOW, **question)


def names(units: list[str]) -> list[str]:
    return [unit.rpartition("/")[2] for unit in units]


def victims(result: Result) -> list[str]:
    return names([victim["unit"] for made in result.decisions for victim in made.victims])


# The cycle


def test_heads_come_by_borrowing_then_priority_then_age() -> None:
    result = one_cycle(
        *(item for name in "abcd" for item in queue(name, NO_CPU if name == "d" else CPU4, cohort="all")),
        workload("borrower", "d", cpu=1, priority=9),
        workload("young", "a", cpu=1, priority=5, created="2026-01-01T11:00:00Z"),
        workload("old", "b", cpu=1, priority=5, created="2026-01-01T10:00:00Z"),
        workload("important", "c", cpu=1, priority=7, created="2026-01-01T11:30:00Z"),
    )
    assert names(result.order) == ["important", "old", "young", "borrower"]
    assert names(result.admitted) == names(result.order)


def test_a_queue_sends_one_head_the_highest_and_then_the_oldest() -> None:
    result = one_cycle(
        *queue("a", CPU4),
        workload("young", "a", cpu=1, created="2026-01-01T11:00:00Z"),
        workload("old", "a", cpu=1, created="2026-01-01T10:00:00Z"),
        workload("low", "a", cpu=1, priority=-1, created="2026-01-01T09:00:00Z"),
    )
    assert (names(result.admitted), names(result.left)) == (["old"], ["low", "young"])


def test_each_head_sees_what_those_before_it_took() -> None:
    result = one_cycle(
        *queue("a", NO_CPU, cohort="all"),
        *queue("b", NO_CPU, cohort="all"),
        cohort("all", CPU4),
        workload("first", "a", cpu=3, priority=5),
        workload("second", "b", cpu=3),
    )
    assert (names(result.admitted), names(result.left)) == (["first"], ["second"])
    assert "went to another workload in this cycle" in result.decisions[1].message


def test_a_head_that_fits_is_admitted_though_an_earlier_one_waits_for_its_victims() -> None:
    result = one_cycle(
        *queue("a", {"default": {"cpu": 6}}, cohort="all", reclaim="Any"),
        *queue("b", {"default": {"cpu": 2}}, cohort="all"),
        workload("guest", "b", on="default", cpu=6),
        workload("reclaims", "a", cpu=4, priority=5),
        workload("fits", "a2", cpu=2),
        *queue("a2", NO_CPU, cohort="all"),
    )
    assert (names(result.admitted), victims(result)) == (["fits"], ["guest"])


def test_who_counts_on_victims_that_are_claimed_waits_where_they_are_enough_for_both() -> None:
    objects = [
        *queue("a", CPU4, cohort="all", reclaim="Any"),
        *queue("b", CPU4, cohort="all", reclaim="Any"),
        *queue("c", NO_CPU, cohort="all"),
        workload("guest", "c", on="default", cpu=8),
        workload("first", "a", cpu=4, priority=5),
        workload("second", "b", cpu=4, priority=4),
    ]
    result = one_cycle(*objects)
    assert (victims(result), result.admitted) == (["guest"], [])
    assert [made.outcome for made in result.decisions] == ["Preempt", "Wait"]
    gate = {"RecomputeAssignmentUponPreemptionTargetsOverlap": False}
    assert [made.outcome for made in one_cycle(*objects, feature_gates=gate).decisions] == ["Preempt", "Wait"]


@pytest.mark.parametrize(("reclaim", "want"), [("Never", []), ("Any", ["borrower"])])
def test_a_head_without_candidates_reserves_its_quota_unless_it_can_always_reclaim(
    reclaim: str, want: list[str]
) -> None:
    result = one_cycle(
        *queue("a", CPU4, cohort="all", reclaim=reclaim),
        *queue("b", NO_CPU, cohort="all"),
        workload("own", "a", on="default", cpu=3, priority=9),
        workload("stuck", "a", cpu=2, priority=5),
        workload("borrower", "b", cpu=1),
    )
    assert names(result.admitted) == want


@pytest.mark.parametrize(("stop", "want"), [(False, ["home", "borrower"]), (True, ["home"])])
def test_nobody_borrows_after_a_non_borrower_where_the_settings_follow_the_seed(stop: bool, want: list[str]) -> None:
    result = one_cycle(
        *queue("a", CPU4, cohort="all"),
        *queue("b", NO_CPU, cohort="all"),
        *queue("c", NO_CPU),
        workload("home", "a", cpu=1),
        workload("borrower", "b", cpu=1),
        workload("hopeless", "c", cpu=1, priority=9),
        config={"quota": {"stopBorrowingAfterNonBorrower": stop}},
    )
    assert names(result.admitted) == want


def test_who_waits_for_its_own_queue_is_no_borrower() -> None:
    """`stuck` is within the nominal quota, which its own queue uses: it reserves that, and it has its turn first."""
    objects = [
        *queue("a", CPU4, cohort="all"),
        *queue("b", {"default": {"cpu": 2}}, cohort="all"),
        workload("own", "a", on="default", cpu=3, priority=9),
        workload("stuck", "a", cpu=4),
        workload("guest", "b", on="default", cpu=2),
        workload("borrower", "b", cpu=1, priority=9, created="2026-01-01T08:00:00Z"),
    ]
    for config in (None, {"quota": {"stopBorrowingAfterNonBorrower": True}}):
        result = one_cycle(*objects, config=config)
        assert (names(result.order), result.admitted) == (["stuck", "borrower"], [])
    wants_more = [item for item in objects if item["metadata"]["name"] != "stuck"]
    more = workload("stuck", "a", cpu=5)
    assert names(one_cycle(*wants_more, more, config={"quota": {"stopBorrowingAfterNonBorrower": True}}).admitted) == [
        "borrower"
    ]


def test_a_single_decision_is_the_one_of_the_cycle() -> None:
    """Alone, the borrower would fit; but what it would borrow is reserved."""
    objects = [
        *queue("a", CPU4, cohort="all"),
        *queue("b", {"default": {"cpu": 2}}, cohort="all"),
        workload("own", "a", on="default", cpu=3, priority=9),
        workload("stuck", "a", cpu=4),
        workload("guest", "b", on="default", cpu=2),
        workload("borrower", "b", cpu=1),
    ]
    (made,) = one_cycle(*objects, preemptor="Workload/default/borrower").decisions
    assert made.outcome == "Wait"
    assert "reserved for workloads that are pending in a" in made.message


@pytest.mark.parametrize(("strategy", "want"), [("StrictFIFO", []), ("BestEffortFIFO", ["small"])])
def test_a_turn_is_passed_on_where_the_queue_is_not_strict(strategy: str, want: list[str]) -> None:
    result = one_cycle(
        *queue("a", CPU4, queueingStrategy=strategy),
        workload("own", "a", on="default", cpu=3, priority=9),
        workload("large", "a", cpu=4, priority=5),
        workload("small", "a", cpu=1),
    )
    assert names(result.admitted) == want


def test_those_behind_preempt_only_where_nothing_else_was_done() -> None:
    objects = [
        *queue("a", CPU4, cohort="all", within="LowerPriority"),
        *queue("b", CPU4, cohort="all"),
        workload("own", "a", on="default", cpu=2, priority=9),
        workload("weak", "a", on="default", cpu=2),
        workload("guest", "b", on="default", cpu=3),
        workload("large", "a", cpu=4, priority=8),
        workload("second", "a", cpu=2, priority=5),
    ]
    assert victims(one_cycle(*objects)) == ["weak"]
    result = one_cycle(*objects, workload("fits", "b", cpu=1))
    assert (names(result.admitted), victims(result)) == (["fits"], [])


def test_a_strict_head_stays_head_while_it_waits_to_be_queued_again() -> None:
    waiting = workload("waiting", "a", cpu=1, priority=5)
    waiting["status"] = {
        "conditions": [condition("Evicted", "2026-01-01T11:59:00Z", reason="PodsReadyTimeout")],
        "requeueState": {"count": 1, "requeueAt": "2026-01-01T12:30:00Z"},
    }
    objects = [*queue("a", CPU4, queueingStrategy="StrictFIFO"), waiting, workload("next", "a", cpu=1)]
    assert one_cycle(*objects).admitted == []


def test_what_a_workload_holds_gives_it_the_first_turn_in_a_plan_too() -> None:
    """It has preempted, so nobody else gets the quota; and it gets no more pods than it has preempted for."""
    hold = '{"preemptor":"Workload/default/mine","policy":"quota","counts":{"main":2}}'
    mine = workload("mine", "a", cpu=1, count=4, least=1, annotations={"reprieve.scheduling/hold": hold})
    objects = [
        *queue("a", CPU4, cohort="all"),
        *queue("b", NO_CPU, cohort="all"),
        workload("guest", "b", cpu=4, priority=9),
    ]
    result = one_cycle(*objects, mine)
    assert names(result.order) == ["mine", "guest"]
    assert result.counts == {"Workload/default/mine": {"main": 2}}


@pytest.mark.parametrize(
    ("priority", "created", "first"),
    [
        (1, "10:00", "another"),
        (1, "11:30", "mine"),
        (2, "11:30", "another"),
        (0, "10:00", "mine"),
        (1, "11:00", "mine"),
    ],
)
def test_what_a_workload_holds_is_not_held_against_the_more_important_of_its_queue(
    priority: int, created: str, first: str
) -> None:
    """Of equals the older is the more important one: it may preempt the other as soon as that is admitted."""
    hold = '{"preemptor":"Workload/default/mine","policy":"quota"}'
    result = one_cycle(
        *queue("a", CPU4, cohort="all", within="LowerOrNewerEqualPriority"),
        workload(
            "mine",
            "a",
            cpu=4,
            priority=1,
            created="2026-01-01T11:00:00Z",
            annotations={"reprieve.scheduling/hold": hold},
        ),
        workload("another", "a", cpu=4, priority=priority, created=f"2026-01-01T{created}:00Z"),
    )
    assert names(result.admitted) == [first]


def _promised(name: str, queue: str, cpu: int, **parts: Any) -> Dict:
    hold = f'{{"preemptor":"Workload/default/{name}","policy":"quota"}}'
    return workload(name, queue, cpu=cpu, annotations={"reprieve.scheduling/hold": hold}, **parts)


@pytest.mark.parametrize(("priority", "first"), [(0, "theirs"), (7, "above")])
def test_what_a_workload_holds_is_held_against_the_more_important_of_other_queues(priority: int, first: str) -> None:
    """`above` comes before `mine`, which has preempted in its queue: that is no right against `theirs`."""
    result = one_cycle(
        *(item for name in "ab" for item in queue(name, NO_CPU, cohort="all")),
        cohort("all", CPU4),
        _promised("mine", "a", 4, priority=priority),
        workload("above", "a", cpu=4, priority=10),
        _promised("theirs", "b", 4, priority=5),
    )
    assert names(result.admitted) == [first]


@pytest.mark.parametrize("design", ["Kueue", "KEP-83"])
def test_who_has_preempted_borrows_what_it_was_promised_after_one_that_need_not(design: str) -> None:
    """Else its victims come back to that, and are preempted again, without end. By KEP-83 nobody preempts to borrow."""
    result = one_cycle(
        *queue("a", {"default": {"cpu": 2}}, cohort="all"),
        *queue("b", {"default": {"cpu": 1}}, cohort="all"),
        cohort("all", {"default": {"cpu": 2}}),
        _promised("mine", "a", 4, priority=1),
        _promised("theirs", "b", 1, priority=5),
        config={"quota": {"stopBorrowingAfterNonBorrower": True, "design": design}},
    )
    assert names(result.admitted) == (["theirs"] if design == "KEP-83" else ["theirs", "mine"])


def test_an_older_one_of_its_queue_comes_before_what_a_workload_holds_though_it_borrows() -> None:
    result = one_cycle(
        *queue("a", {"default": {"cpu": 2}}, cohort="all"),
        cohort("all", {"default": {"cpu": 2}}),
        _promised("mine", "a", 2, created="2026-01-01T11:00:00Z"),
        workload("older", "a", cpu=4, created="2026-01-01T10:00:00Z"),
    )
    assert names(result.admitted) == ["older"]


def test_a_workload_of_a_namespace_that_is_not_taken_holds_up_those_behind_it() -> None:
    selector = {"matchLabels": {"team": "a"}}
    foreign = workload("foreign", "a", cpu=1, priority=5)
    foreign["metadata"]["namespace"] = "other"
    local = manifest("kueue.x-k8s.io/v1beta2", "LocalQueue", metadata("a", "other"), spec={"clusterQueue": "a"})
    spaces = [manifest("v1", "Namespace", metadata("default", labels={"team": "a"}))]
    objects = [*queue("a", CPU4, namespaceSelector=selector), local, *spaces, foreign, workload("native", "a", cpu=1)]
    assert one_cycle(*objects).admitted == []
    assert names(one_cycle(*(item for item in objects if item is not foreign)).admitted) == ["native"]


def test_a_stopped_queue_admits_nobody_and_gives_nobody() -> None:
    result = one_cycle(
        *queue("a", CPU4, cohort="all", reclaim="Any"),
        *queue("b", NO_CPU, cohort="all", stopPolicy="Hold"),
        workload("guest", "b", on="default", cpu=4),
        workload("held", "b", cpu=1),
        workload("p", "a", cpu=4, priority=5),
    )
    (made,) = result.decisions
    assert (made.outcome, names(result.left)) == ("Unschedulable", ["held", "p"])
    assert [item["rule"] for item in made.spared] == ["QueueClosed"]


def test_a_workload_that_backs_off_lets_the_next_one_be_the_head() -> None:
    waiting = workload("waiting", "a", cpu=1, priority=5)
    waiting["status"] = {
        "conditions": [condition("Evicted", "2026-01-01T11:59:00Z", reason="PodsReadyTimeout")],
        "requeueState": {"count": 1, "requeueAt": "2026-01-01T12:30:00Z"},
    }
    objects = [flavor(), *queue("a", CPU4), waiting, workload("next", "a", cpu=1)]
    assert names(plan(objects, now=NOW).admitted) == ["next"]
    assert names(plan(objects, now="2026-01-01T13:00:00Z").admitted) == ["waiting"]


def test_partial_admission_gives_as_many_pods_as_fit() -> None:
    result = one_cycle(*queue("a", CPU4), workload("p", "a", cpu=1, count=9, least=2))
    assert result.counts == {"Workload/default/p": {"main": 4}}


# Fair sharing


def shared(*running: Dict, pending: Dict, strategies: list[str] | None = None) -> Result:
    sharing: Dict = {"enable": True} | ({"preemptionStrategies": strategies} if strategies else {})
    queues = [item for name in "abc" for item in queue(name, {"default": {"cpu": 3}}, cohort="all", reclaim="Any")]
    return one_cycle(*queues, *running, pending, config={"fairSharing": sharing})


def test_the_largest_share_gives_first() -> None:
    result = shared(
        *(workload(f"b{number}", "b", on="default", cpu=1, priority=5) for number in range(5)),
        *(workload(f"c{number}", "c", on="default", cpu=1) for number in range(4)),
        pending=workload("p", "a", cpu=1),
    )
    assert victims(result)[0].startswith("b")


@pytest.mark.parametrize(
    ("strategies", "want"),
    [
        (["LessThanOrEqualToFinalShare"], []),
        (["LessThanInitialShare"], ["large"]),
        (["LessThanOrEqualToFinalShare", "LessThanInitialShare"], ["large"]),
    ],
)
def test_a_loss_that_would_turn_the_shares_is_allowed_only_by_the_initial_share(
    strategies: list[str], want: list[str]
) -> None:
    result = shared(
        workload("large", "b", on="default", cpu=9),
        pending=workload("p", "a", cpu=5),
        strategies=strategies,
    )  # fmt: skip
    assert victims(result) == want


def test_a_queue_within_its_nominal_quota_reclaims_whatever_the_shares() -> None:
    result = shared(workload("large", "b", on="default", cpu=9), pending=workload("p", "a", cpu=3))
    assert [victim["reason"] for victim in result.decisions[0].victims] == ["InCohortReclamation"]


def test_a_queue_of_no_weight_gives_before_everybody_else() -> None:
    result = one_cycle(
        *queue("a", CPU4, cohort="all", reclaim="Any"),
        *queue("b", NO_CPU, cohort="all", weight="0"),
        *queue("c", NO_CPU, cohort="all"),
        workload("weightless", "b", on="default", cpu=1, priority=9),
        workload("heavy", "c", on="default", cpu=3),
        workload("p", "a", cpu=1),
        config=FAIR,
    )
    assert victims(result) == ["weightless"]


@pytest.mark.parametrize(
    ("strategies", "want"),
    [
        (["LessThanOrEqualToFinalShare"], []),
        (["LessThanOrEqualToFinalShare", "LessThanInitialShare"], ["guest-0", "own"]),
    ],
)
def test_of_two_equal_shares_the_own_queue_is_asked_last(strategies: list[str], want: list[str]) -> None:
    """The guests are asked, and refused, before the own one's leaving makes the taker's share smaller."""
    result = one_cycle(
        *queue("a", NO_CPU, cohort="all", reclaim="Any", within="LowerPriority"),
        *queue("b", NO_CPU, cohort="all"),
        cohort("all", CPU4),
        workload("own", "a", on="default", cpu=1, priority=-5),
        *(workload(f"guest-{number}", "b", on="default", cpu=1, priority=1) for number in range(3)),
        workload("p", "a", cpu=2, priority=5),
        config={"fairSharing": {"enable": True, "preemptionStrategies": strategies}},
    )
    assert sorted(victims(result)) == want
