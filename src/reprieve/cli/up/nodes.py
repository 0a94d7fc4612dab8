"""The hollow nodes that `reprieve up --agent hollow` asks for: as many as it says, and as large."""

from typing import Any, NamedTuple

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.manifests.kinds import NODES, PODS
from reprieve.stores.protocol import Store
from reprieve.texts.parts import count

_POOL = "reprieve.scheduling/pool"
_OURS = "up"


class HollowNodes(NamedTuple):
    """How many nodes, and how large each is."""

    number: int
    cpu: str
    memory: str
    gpus: int

    @property
    def names(self) -> list[str]:
        return [f"hollow-{number}" for number in range(1, self.number + 1)]

    @property
    def amounts(self) -> str:
        gpus = f", {count(self.gpus, 'GPU')}" if self.gpus else ""
        return f"{self.cpu} CPU, {self.memory} memory{gpus}"


async def make_nodes(store: Store, wanted: HollowNodes) -> list[str]:
    """Make the nodes what is asked for. Those of an earlier start that are too many go, or are named when pods are
    still there: these nodes take nobody new."""
    known = {record.name: record for record in (await store.list(NODES, labels=f"{_POOL}={_OURS}")).records}
    for name in wanted.names:
        node = hollow_node(name, cpu=wanted.cpu, memory=wanted.memory, gpus=wanted.gpus, labels={_POOL: _OURS})
        if name not in known:
            await store.create(NODES, node)
        else:
            await _resize(store, name, node["status"], known[name].data.get("status", {}))
    return [name for name in known if name not in wanted.names and not await _removed(store, name)]


async def _resize(store: Store, name: str, wanted: dict[str, Any], there: dict[str, Any]) -> None:
    amounts = {field: wanted[field] for field in ("capacity", "allocatable")}
    # A merge patch leaves what it does not name: amounts that are no longer offered are named with null.
    patch = {field: {**dict.fromkeys(there.get(field, {})), **new} for field, new in amounts.items()}
    await store.patch(NODES, name, "", {"spec": {"unschedulable": None}})
    await store.patch(NODES, name, "", {"status": patch}, subresource="status")


async def _removed(store: Store, name: str) -> bool:
    pods = await store.list(PODS, fields=f"spec.nodeName={name}")
    if pods.records:
        await store.patch(NODES, name, "", {"spec": {"unschedulable": True}})
        return False
    await store.delete(NODES, name)
    return True
