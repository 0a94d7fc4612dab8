"""Scenarios on the embedded store: the whole control plane in memory and in virtual time."""

from __future__ import annotations

from typing import Any

from reprieve.agents.hollow.nodes import AGENT_LABEL, HOLLOW, TERMINATION_SECONDS
from reprieve.control_plane import ControlPlane
from reprieve.embedded_plane import open_plane
from reprieve.manifests.kinds import JOBS, NAMESPACES, NODES, PODS, REPLICA_SETS
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock, run_virtually
from tests.planes.patience import patience
from tests.scenarios.player import Player
from tests.scenarios.scenario import Manifest, Scenario

_SECONDS = 60.0


class EmbeddedStage:
    """Hollow nodes play the nodes, and pods take their whole grace period, as kwok has it."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.store = plane.store

    async def make(self, resource: Resource, manifest: Manifest) -> None:
        if resource == NODES:
            manifest = _with(manifest, "labels", AGENT_LABEL, HOLLOW)
        elif resource == PODS:
            manifest = _slow(manifest)
        elif resource in (JOBS, REPLICA_SETS):
            spec = manifest["spec"]
            manifest = {**manifest, "spec": {**spec, "template": _slow(spec["template"])}}
        await self.store.create(resource, manifest)

    async def preemptions(self) -> list[dict[str, Any]]:
        history = self._plane.history
        found = [history.decision(each["id"]) for each in history.decisions(limit=1000) if each["outcome"] == "Preempt"]
        return [each for each in found if each is not None]


def play(scenario: Scenario) -> None:
    async def main(clock: Clock) -> None:
        plane = open_plane(None, clock, scenario.configured, seed=7, names=scenario.names)
        await plane.start()
        try:
            metadata = {"name": scenario.name}
            await plane.store.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
            await Player(EmbeddedStage(plane), scenario).play()
        finally:
            await plane.stop()

    with patience(_SECONDS):
        run_virtually(main)


def _slow(manifest: Manifest) -> Manifest:
    return _with(manifest, "annotations", TERMINATION_SECONDS, "3600")


def _with(manifest: Manifest, part: str, key: str, text: str) -> Manifest:
    metadata = manifest.get("metadata", {})
    return {**manifest, "metadata": {**metadata, part: {**metadata.get(part, {}), key: text}}}
