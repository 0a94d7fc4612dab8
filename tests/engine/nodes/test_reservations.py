"""What is held against everybody on nodes, and what is merely promised."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.configuration import Settings
from reprieve.engine.holds import HOLD_ANNOTATION, Hold
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.nodes.reservations import is_reserved, reservations
from reprieve.manifests.loading import load_objects
from reprieve.model.resources import Resources
from reprieve.world import World
from tests.builders.pods import Dict, node, pod


def _waiting(name: str, hold: Hold | str | None, *, nominated: str | None = "n1", cpu: str = "2", **parts: Any) -> Dict:
    text = hold.text() if isinstance(hold, Hold) else hold
    return pod(name, cpu=cpu, nominated=nominated, annotations={HOLD_ANNOTATION: text} if text else None, **parts)


def _reserves(name: str) -> Hold:
    return Hold(preemptor=f"Pod/default/{name}", policy="queue", reserves=True)


def _world(*objects: Dict) -> World:
    return World(load_objects(list(objects)).objects)


def test_the_amounts_of_all_reservations_of_a_node_add_up() -> None:
    world = _world(
        _waiting("a", _reserves("a")),
        _waiting("b", _reserves("b"), cpu="1"),
        _waiting("c", _reserves("c"), nominated="n2"),
        _waiting("merely-nominated", Hold(preemptor="Pod/default/merely-nominated")),
    )
    held = reservations(world.pods.values())
    assert {name: amounts.of("cpu") for name, amounts in held.items()} == {"n1": 3000, "n2": 2000}
    assert held["n1"].of("pods") == 2
    assert reservations([]) == {}


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(_waiting("p", _reserves("p"), nominated=None), id="no node was promised to it"),
        pytest.param(_waiting("p", _reserves("p"), node="n1"), id="it is bound"),
        pytest.param(_waiting("p", _reserves("p"), deleted="2026-01-01T12:00:30Z"), id="it is deleted"),
        pytest.param(_waiting("p", _reserves("other")), id="the hold is somebody else's"),
        pytest.param(_waiting("p", Hold(preemptor="Pod/default/p")), id="the hold yields to priorities"),
        pytest.param(_waiting("p", "nonsense"), id="the hold cannot be read"),
        pytest.param(_waiting("p", None), id="there is no hold"),
    ],
)
def test_nothing_is_reserved(item: Dict) -> None:
    (facts,) = _world(item).pods.values()
    assert not is_reserved(facts)
    assert reservations([facts]) == {}


@pytest.mark.parametrize(("hold", "fits"), [(_reserves("held"), False), (Hold(preemptor="Pod/default/held"), True)])
def test_priority_takes_what_is_merely_nominated_and_nothing_that_is_reserved(hold: Hold, fits: bool) -> None:
    world = _world(node("n1", cpu="2"), _waiting("held", hold, priority=0), pod("high", cpu="1", priority=1000))
    ledger = NodeLedger(world, Settings())
    high, held = world.pods["default", "high"], world.pods["default", "held"]
    assert ledger.fits_on(high, "n1") is fits
    assert ledger.fits_on(held, "n1"), "nobody is in the way of their own reservation"
    assert reservations([held]) == ({} if fits else {"n1": Resources(held.requests)})
