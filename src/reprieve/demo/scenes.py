"""The scenes of the demonstration: native manifests, act by act, how long what is in them takes, and putting them on
the stage. What an earlier demonstration left is taken away; nothing else is touched."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.resources import files
from math import ceil
from typing import Any, NamedTuple

import yaml

from reprieve.agents.hollow.clusters import GRACE_SECONDS
from reprieve.agents.hollow.nodes import RUN_SECONDS, TERMINATION_SECONDS
from reprieve.manifests.kinds import CONFIG_MAPS, NAMESPACES, resource_of
from reprieve.manifests.problems import ReprieveError
from reprieve.manifests.yunikorn import CONFIG_MAP
from reprieve.stores.errors import AlreadyExists, NotFound
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.texts import demo as texts

Data = dict[str, Any]
LABEL = "reprieve.scheduling/demo"
_TOLERATION = "preemption-toleration.scheduling.x-k8s.io/toleration-seconds"
_MANIFESTS = files("reprieve.demo").joinpath("manifests")


class InTheWay(ReprieveError):
    """Something of somebody else has a name that the demonstration needs."""


class SceneAct(NamedTuple):
    """What is applied at once, and what it is: the stage, work of low priority, what is too large, or what matters."""

    name: str
    manifests: list[Data]


class Scene(NamedTuple):
    """One policy at work, in a namespace and on nodes or clusters of its own."""

    policy: str
    name: str
    title: str
    rule: str

    @property
    def namespace(self) -> str:
        return f"demo-{self.name}"

    def acts(self, speed: float) -> list[SceneAct]:
        found = sorted(_MANIFESTS.joinpath(self.name).iterdir(), key=lambda file: file.name)
        return [SceneAct(file.name[2:].removesuffix(".yaml"), list(_read(file.read_text(), speed))) for file in found]


STAGE, LOW, TOO_LARGE, IMPORTANT = "stage", "low", "too-large", "important"

SCENES = (
    Scene(
        "pod",
        "pods",
        "Pods: priorities, and classes that tolerate preemption for a time",
        "A pod of higher priority takes the place of lower ones, but not of those that are still safe.",
    ),
    Scene(
        "podgroup",
        "gangs",
        "Gangs: all of it or nothing",
        "A gang is placed whole and leaves whole, and nobody makes way for a part of one.",
    ),
    Scene(
        "quota",
        "quota",
        "Quota: borrow what others leave alone, and give it back",
        "A queue may use what its cohort leaves alone, until its owner wants it back.",
    ),
    Scene(
        "queue",
        "queues",
        "Queues: guarantees",
        "A queue gets what is guaranteed to it from queues that use more than is guaranteed to them.",
    ),
    Scene(
        "federation",
        "federation",
        "Federation: member clusters",
        "A binding of higher priority takes the place of lower ones, in the member cluster where that costs least.",
    ),
)


def classes(speed: float) -> list[Data]:
    """The priority classes that all scenes share."""
    return list(_read(_MANIFESTS.joinpath("classes.yaml").read_text(), speed))


def _read(text: str, speed: float) -> Iterator[Data]:
    return (hastened(data, speed) for data in yaml.safe_load_all(text))


def hastened(data: Data, speed: float) -> Data:
    """A manifest in which everything takes so many times less long."""
    made: Data = {key: hastened(value, speed) if isinstance(value, dict) else value for key, value in data.items()}
    for name in (RUN_SECONDS, TERMINATION_SECONDS, GRACE_SECONDS):
        if name in made:
            made[name] = f"{float(made[name]) / speed:g}"
    if _TOLERATION in made:  # whole seconds only
        made[_TOLERATION] = str(ceil(float(made[_TOLERATION]) / speed))
    return made


# On the stage


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
    with suppress(NotFound):
        _ours(await store.get(NAMESPACES, scene.namespace))
        await store.delete(NAMESPACES, scene.namespace)


async def is_clear(store: Store, scene: Scene) -> bool:
    try:
        await store.get(NAMESPACES, scene.namespace)
    except NotFound:
        return True
    return False


def _ours(record: Record) -> None:
    if LABEL not in record.labels:
        raise InTheWay(texts.somebody_elses(record.unit))
