"""A scheduler dies in the middle of binding a gang, and the world changes before the next one starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import pytest

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.manifests.kinds import NODES, PODS
from reprieve.model.clock import Clock, run_virtually
from reprieve.stores.records import Record
from tests.planes.running import Dict, pod
from tests.planes.schedulers import Schedulers, add_gang, alone

Change = Callable[[Schedulers, str], Awaitable[object]]
Check = Callable[[Sequence[Record], dict[str, str]], None]
_ENOUGH = 60
ONE_RACK: Dict = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}


async def unbound(world: Schedulers) -> list[Record]:
    """The pods of a gang that is bound in part; none, where it is bound whole or not at all."""
    pods = (await world.store.list(PODS)).records
    waiting = [record for record in pods if not record.data["spec"].get("nodeName")]
    return waiting if len(waiting) < len(pods) else []


async def half_bound(clock: Clock, change: Change, check: Check) -> int:
    """For every write after which a gang is half bound: change the nodes of the others, and start again. How many."""
    found = 0
    for writes in range(1, _ENOUGH):
        async with alone(clock) as world:
            for name in ("n1", "n2"):
                await world.store.create(NODES, hollow_node(name, cpu="2", labels={"pool": "a", "rack": "r"}))
            await add_gang(world, "train", 4, spec=ONE_RACK, nodeSelector={"pool": "a"})
            if not await world.schedule(30, writes=writes):
                return found
            waiting = await unbound(world)
            nominated = {record.uid: record.data["status"]["nominatedNodeName"] for record in waiting}
            for node in set(nominated.values()):
                await change(world, node)
            await world.schedule(30)
            if nominated:
                found += 1
                check((await world.store.list(PODS)).records, nominated)
    raise AssertionError("it never came to an end")


def not_there(pods: Sequence[Record], nominated: dict[str, str]) -> None:
    for record in pods:
        assert record.data["spec"].get("nodeName") != nominated.get(record.uid, "nowhere")


def in_one_rack(pods: Sequence[Record], _: dict[str, str]) -> None:
    """Each node is a rack."""
    assert len({record.data["spec"]["nodeName"] for record in pods if "nodeName" in record.data["spec"]}) < 2


def spec(patch: Dict) -> Change:
    return lambda world, node: world.store.patch(NODES, node, "", patch)


async def fill(world: Schedulers, node: str) -> None:
    filler = await world.store.create(PODS, pod(f"filler-{node}", cpu="2"))
    await world.store.bind(filler.name, filler.namespace, node)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(spec({"spec": {"unschedulable": True}}), id="cordoned"),
        pytest.param(spec({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}), id="tainted"),
        pytest.param(spec({"metadata": {"labels": {"pool": "b"}}}), id="of other labels"),
        pytest.param(fill, id="full"),
    ],
)
def test_the_rest_of_a_gang_does_not_go_to_a_node_that_is(change: Change) -> None:
    assert run_virtually(lambda clock: half_bound(clock, change, not_there)), "it was never half bound"


def test_a_gang_that_wants_one_rack_is_not_split_when_its_nodes_are_moved_apart() -> None:
    def moved(world: Schedulers, node: str) -> Awaitable[object]:
        return world.store.patch(NODES, node, "", {"metadata": {"labels": {"rack": node}}})

    assert run_virtually(lambda clock: half_bound(clock, moved, in_one_rack)), "it was never half bound"
