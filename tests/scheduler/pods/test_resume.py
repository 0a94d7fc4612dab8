"""A scheduler dies in the middle of binding a gang, and the world changes before the next one starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.model.clock import Clock, run_virtually
from reprieve.stores.records import Record
from reprieve.stores.resources import NODES, PODS
from tests.planes.running import Dict, pod
from tests.planes.schedulers import Schedulers, add_gang, alone

Change = Callable[[Schedulers, str], Awaitable[object]]
_ENOUGH = 60


async def unbound(world: Schedulers) -> list[Record]:
    """The pods of a gang that is bound in part; none, where it is bound whole or not at all."""
    pods = (await world.store.list(PODS)).records
    waiting = [record for record in pods if not record.data["spec"].get("nodeName")]
    return waiting if len(waiting) < len(pods) else []


async def half_bound(clock: Clock, change: Change) -> int:
    """For every write after which a gang is half bound: change the nodes of the others, and start again."""
    found = 0
    for writes in range(1, _ENOUGH):
        async with alone(clock) as world:
            for name in ("n1", "n2"):
                await world.store.create(NODES, hollow_node(name, cpu="2", labels={"pool": "a"}))
            await add_gang(world, "train", 4, nodeSelector={"pool": "a"})
            if not await world.schedule(30, writes=writes):
                return found
            waiting = await unbound(world)
            nominated = {record.uid: record.data["status"]["nominatedNodeName"] for record in waiting}
            for node in set(nominated.values()):
                await change(world, node)
            await world.schedule(30)
            for record in (await world.store.list(PODS)).records:
                found += record.uid in nominated
                assert record.data["spec"].get("nodeName") != nominated.get(record.uid, "nowhere"), writes
    raise AssertionError("it never came to an end")


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
    assert run_virtually(lambda clock: half_bound(clock, change)), "it was never half bound"
