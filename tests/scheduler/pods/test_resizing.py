"""A pod that is resized where it runs: what it still holds is nobody else's, and what it gives back is free at once."""

from __future__ import annotations

from reprieve.manifests.kinds import PODS
from tests.planes.running import Plane, live


async def _says(plane: Plane, name: str, cpu: str) -> None:
    """The node, of what it has set aside for a container."""
    given = {"name": "main", "allocatedResources": {"cpu": cpu}, "resources": {"requests": {"cpu": cpu}}}
    await plane.store.patch(PODS, name, "default", {"status": {"containerStatuses": [given]}}, subresource="status")


def test_room_is_given_away_when_the_node_has_it_back() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="4")
        await plane.pod("big", cpu="1")
        await plane.passes(5)
        await _says(plane, "big", "3")
        await plane.pod("next", cpu="2")
        await plane.passes(30)
        assert await plane.where("next") == "", "its node has not taken it back yet"
        await _says(plane, "big", "1")
        await plane.passes(1)
        assert await plane.where("next") == "n1"

    live(story)
