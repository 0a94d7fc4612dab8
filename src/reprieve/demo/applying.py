"""Putting manifests on the stage, and taking away what an earlier demonstration left; nothing else is touched."""

from collections.abc import Iterable

from reprieve.demo.scenes import LABEL, Data, Scene
from reprieve.manifests.kinds import CONFIG_MAPS, NAMESPACES, resource_of
from reprieve.manifests.problems import ReprieveError
from reprieve.manifests.yunikorn import CONFIG_MAP
from reprieve.stores.errors import AlreadyExists, NotFound
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.texts import demo as texts


class InTheWay(ReprieveError):
    """Something of somebody else has a name that the demonstration needs."""


async def apply(store: Store, manifests: Iterable[Data]) -> None:
    """Create objects; those that an earlier demonstration left stay as they are."""
    for data in manifests:
        resource = resource_of(data["apiVersion"], data["kind"])
        assert resource is not None, data  # noqa: S101 - our own manifests
        try:
            await store.create(resource, data)
        except AlreadyExists:
            metadata = data["metadata"]
            _ours(await store.get(resource, metadata["name"], metadata.get("namespace", "")))


async def begin_to_clear(store: Store, scene: Scene) -> None:
    """Delete the namespace of a scene with all that is in it. Raises `InTheWay` when it is not ours."""
    for record in (await store.list(CONFIG_MAPS)).records:
        if record.name == CONFIG_MAP and scene.policy == "queue":
            _ours(record)  # there can only be one queue configuration
    if await is_clear(store, scene):
        return
    try:
        _ours(await store.get(NAMESPACES, scene.namespace))
        await store.delete(NAMESPACES, scene.namespace)
    except NotFound:
        return


async def is_clear(store: Store, scene: Scene) -> bool:
    try:
        await store.get(NAMESPACES, scene.namespace)
    except NotFound:
        return True
    return False


def _ours(record: Record) -> None:
    if LABEL not in record.labels:
        raise InTheWay(texts.somebody_elses(record.unit))
