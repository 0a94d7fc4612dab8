"""Scenario files: what is there, what happens, and how it must end, whatever the store: docs/kubernetes-tests.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import yaml

from reprieve.configuration import OWN_SCHEDULER, Settings, configure

FOLDER = Path(__file__).parent
STAGE = FOLDER / "stage"
Manifest = dict[str, Any]


class Facts(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What is wanted of one object. What is not said may be anything."""

    at: str | dict[str, int] | None = None
    """Its node, its ClusterQueue, or its clusters with how many replicas each; empty: it has no place."""
    waits: str | None = None
    """A part of what it says about why it has no place, which it must not have."""
    nominated: str | None = None
    leaving: bool | None = None
    told: str | None = None
    """The reason in the condition that tells of its preemption; empty: it was not told."""
    gone: bool = False
    """There is none of this name."""
    maybe: bool = False
    """Nobody, or any number of them, but each like this: for what somebody else does sooner or later."""


class Preempted(msgspec.Struct, forbid_unknown_fields=True):
    """Somebody who was to make way: for whom first, where, and by which rule."""

    unit: str
    by: str
    reason: str
    at: str | None = None


class Told(msgspec.Struct, forbid_unknown_fields=True):
    """An event."""

    about: str
    reason: str
    says: str = ""


class Step(msgspec.Struct, forbid_unknown_fields=True):
    """One of these things happens; for what `until` and `counted` say the next step waits."""

    apply: list[Manifest | str] = []
    patch: dict[str, Manifest] = {}
    delete: list[str] = []
    until: dict[str, Facts | list[Facts]] = {}
    counted: dict[str, int] = {}
    """Budgets, and how many healthy pods their controller has to have seen."""


class Scenario(msgspec.Struct, forbid_unknown_fields=True):
    about: str
    settings: dict[str, Any]
    steps: list[Step]
    outcome: dict[str, Facts | list[Facts]]
    """Of all pods, quota workloads and bindings: whoever is not named here must not be there."""
    preempted: list[Preempted]
    """All of them, in any order."""
    events: list[Told] = []
    names: tuple[str, ...] = (OWN_SCHEDULER,)
    """What the scheduler is called that decides."""
    name: str = ""

    @property
    def configured(self) -> Settings:
        """Whose pods make way has to be said: where it is not, one store means others than the other."""
        assert self.settings.get("victims"), f"{self.name}: settings.victims is missing: Own or Any"
        return configure({**self.settings, "validate": True})


def scenarios() -> list[Scenario]:
    """All of them; those with the same settings one after the other, so that one scheduler can play them."""
    found = [read(path) for path in sorted(FOLDER.glob("*.yaml"))]
    return sorted(found, key=lambda scenario: (str(scenario.settings), scenario.names, scenario.name))


def read(path: Path) -> Scenario:
    try:
        scenario = msgspec.convert(_load(path), Scenario)
    except msgspec.ValidationError as error:
        raise ValueError(f"{path.name}: {error}") from error
    scenario.name = path.stem
    return scenario


def manifests(step: Step) -> list[Manifest]:
    """What a step applies, with what it names in files of `stage/`."""
    found: list[Manifest] = []
    for each in step.apply:
        found += _load(STAGE / each) if isinstance(each, str) else [each]
    return found


def _load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())
