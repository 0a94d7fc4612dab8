"""What controllers would make of a manifest, before anybody applies it."""

from __future__ import annotations

from reprieve.live_planning import hypothetical
from reprieve.manifests.kinds import EVENTS, RESOURCES
from reprieve.planning.planner import Planner
from reprieve.stores.records import Record
from tests.planes.running import SETTINGS, Plane, daemon_set, live


async def _records(plane: Plane) -> list[Record]:
    kinds = (each for each in RESOURCES.values() if each != EVENTS)
    return [record for each in kinds for record in (await plane.store.list(each)).records]


def test_a_daemon_set_comes_to_one_pod_for_each_node_that_has_none() -> None:
    async def story(plane: Plane) -> None:
        for name in ("n1", "n2", "n3"):
            await plane.node(name, cpu="2")
        manifest = daemon_set("ds", cpu="1")
        planned = hypothetical(await _records(plane), [manifest], SETTINGS)
        result = Planner(planned.loaded, SETTINGS, plane.clock()).cycle(planned.units)
        places = {node for made in result.decisions for node in made.placement.values()}
        assert (len(result.decisions), places) == (3, {"n1", "n2", "n3"})
        await plane.apply(manifest)
        await plane.passes(5)
        await plane.node("n4", cpu="2")
        planned = hypothetical(await _records(plane), [manifest], SETTINGS)
        result = Planner(planned.loaded, SETTINGS, plane.clock()).cycle(planned.units)
        assert [list(made.placement.values()) for made in result.decisions] == [["n4"]]

    live(story)
