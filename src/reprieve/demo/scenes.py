"""The scenes of the demonstration: native manifests, act by act, and how long what is in them takes."""

from collections.abc import Iterator
from importlib.resources import files
from math import ceil
from typing import Any, NamedTuple

import yaml

from reprieve.agents.hollow.clusters import GRACE_SECONDS
from reprieve.agents.hollow.nodes import RUN_SECONDS, TERMINATION_SECONDS

Data = dict[str, Any]
LABEL = "reprieve.scheduling/demo"
_TOLERATION = "preemption-toleration.scheduling.x-k8s.io/toleration-seconds"
_MANIFESTS = files("reprieve.demo").joinpath("manifests")


class Act(NamedTuple):
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

    def acts(self, speed: float) -> list[Act]:
        found = sorted(_MANIFESTS.joinpath(self.name).iterdir(), key=lambda file: file.name)
        return [Act(file.name[2:].removesuffix(".yaml"), list(_read(file.read_text(), speed))) for file in found]


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
