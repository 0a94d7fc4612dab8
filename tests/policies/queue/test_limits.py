"""When a maximum was lowered below what a queue uses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import reprieve
from reprieve.configuration import Settings
from reprieve.manifests.loading import load_objects
from reprieve.planning.planner import Planner
from reprieve.planning.result import Result
from tests.builders.pods import Dict, node
from tests.builders.queues import NOW, OPTED_OUT, in_queue, queues, tree

DELAY: Dict = {"quota_preemption_delay": "1s"}


def plan(*objects: Any, config: Dict) -> Result:
    flat = [each for item in objects for each in (item if isinstance(item, list) else [item])]
    return reprieve.plan([config, node("n1", cpu="40"), *flat], now=NOW)


def lowered(*below_root: Dict) -> Dict:
    return queues(*below_root, quotapreemptionenabled=True)


def running(queue: str, *names: str, **fields: Any) -> list[Dict]:
    leader = in_queue(f"{queue.rpartition('.')[2]}-leader", queue, node="n1", cpu="0", minutes=500)
    return [leader, *(in_queue(name, queue, node="n1", minutes=60 - n, **fields) for n, name in enumerate(names))]


def gone(result: Result) -> dict[str, list[str]]:
    return {
        made.preemptor.removeprefix("Queue//"): sorted(victim["unit"].rpartition("/")[2] for victim in made.victims)
        for made in result.decisions
        if made.outcome == "Preempt"
    }


def test_a_parent_shares_out_what_is_to_be_freed_by_what_each_child_has_above_its_guarantee() -> None:
    config = lowered(tree("p", tree("a", cpu=1), tree("b"), most={"vcore": "4"}, **DELAY))
    pods = running("root.p.a", "a1", "a2", "a3") + running("root.p.b", "b1", "b2", "b3", "b4", "b5")
    # 8 used, 4 to free; a has 2 above its guarantee, b has 5: 8/7 and 20/7, rounded down.
    assert gone(plan(pods, config=config)) == {"root.p": ["a3", "b4", "b5"]}


def test_where_a_queue_and_its_parent_use_too_much_nobody_goes_twice() -> None:
    config = lowered(tree("p", tree("a", most={"vcore": "2"}, **DELAY), tree("b"), most={"vcore": "3"}, **DELAY))
    pods = running("root.p.a", "a1", "a2", "a3", "a4") + running("root.p.b", "b1")
    assert gone(plan(pods, config=config)) == {"root.p.a": ["a3", "a4"]}


def test_who_opted_out_goes_last_and_who_must_run_there_stays() -> None:
    config = lowered(tree("a", most={"vcore": "1"}, **DELAY))
    pods = running("root.a", "a1", "a2")
    pods += [in_queue("keep", "root.a", node="n1", minutes=1, annotations=OPTED_OUT)]
    pods += [in_queue("daemon", "root.a", node="n1", minutes=1, priority=-9, daemon_on="n1")]
    assert gone(plan(pods, config=config)) == {"root.a": ["a1", "a2", "keep"]}


def test_a_guarantee_above_the_maximum_keeps_what_it_covers() -> None:
    config = lowered(tree("a", cpu=3, most={"vcore": "2"}, **DELAY))
    assert gone(plan(running("root.a", "a1", "a2", "a3", "a4"), config=config)) == {"root.a": ["a4"]}


def test_without_the_switch_or_the_delay_nobody_goes() -> None:
    pods = running("root.a", "a1", "a2")
    assert gone(plan(pods, config=queues(tree("a", most={"vcore": "1"}, **DELAY)))) == {}
    assert gone(plan(pods, config=lowered(tree("a", most={"vcore": "1"})))) == {}
    assert gone(plan(pods, config=lowered(tree("a", most={"vcore": "1"}, quota_preemption_delay="-1s")))) == {}


def test_in_a_cycle_those_who_went_are_gone_for_who_is_pending() -> None:
    config = lowered(tree("a", most={"vcore": "1"}, **DELAY), tree("b"))
    waiting = in_queue("waits", "root.b", cpu="39")
    result = plan(running("root.a", "a1", "a2"), waiting, config=config)
    assert gone(result) == {"root.a": ["a2"]}
    assert result.admitted == ["Pod/default/waits"]


# One queue, asked by its name


def test_a_queue_is_asked_by_the_name_that_decisions_give_it() -> None:
    config = lowered(tree("p", tree("a", most={"vcore": "2"}, **DELAY), tree("b"), most={"vcore": "2"}, **DELAY))
    objects = [config, node("n1", cpu="40"), *running("root.p.a", "a1", "a2", "a3"), *running("root.p.b", "b1")]
    whole = reprieve.plan(objects, now=NOW)
    for name in ("root.p.a", "root.p"):
        for asked in (f"Queue//{name}", f"Queue/{name}", {"kind": "Queue", "name": name}):
            made = reprieve.plan(objects, preemptor=asked, now=NOW).decision
            assert made == next(other for other in whole.decisions if other.preemptor == f"Queue//{name}")


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        ("Queue//root.b", "root.b has no quota.preemption.delay"),
        ("Queue//root.aa", 'there is no Queue//root.aa among what was read; did you mean "Queue//root.a"?'),
    ],
)
def test_a_queue_that_nothing_can_be_decided_for_is_told_so(asked: str, want: str) -> None:
    config = lowered(tree("a", most={"vcore": "1"}, **DELAY), tree("b"))
    with pytest.raises(reprieve.InvalidInput) as refused:
        reprieve.plan([config, node("n1"), *running("root.a", "a1")], preemptor=asked, now=NOW)
    assert want in str(refused.value)


def test_what_another_scheduler_has_placed_is_for_that_one_to_take() -> None:
    config = lowered(tree("a", most={"vcore": "2"}, **DELAY))
    theirs = in_queue("theirs", "root.a", node="n1", minutes=1, spec={"schedulerName": "volcano"})
    loaded = load_objects([config, node("n1", cpu="40"), *running("root.a", "a1", "a2", "a3"), theirs])
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert gone(Planner(loaded, Settings(), moment).cycle()) == {"root.a": ["a3", "theirs"]}
    ours = Planner(loaded, Settings(), moment, names=frozenset({"default-scheduler"})).cycle()
    assert gone(ours) == {"root.a": ["a2", "a3"]}, "as much is freed, by others"
    assert [item["rule"] for item in ours.decisions[0].spared if item["unit"] == "Pod/default/theirs"] == [
        "OtherScheduler"
    ]
