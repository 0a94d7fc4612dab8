"""What every store can do, and what only some can."""

from __future__ import annotations

import pytest

from reprieve.stores.protocol import Rehearsing, Versioned
from tests.stores.bare import bare
from tests.stores.embedded.scene import Scene


@pytest.mark.parametrize("ability", [Rehearsing, Versioned])
def test_what_not_every_store_can_do_is_asked_for(ability: type) -> None:
    with Scene() as scene:
        assert isinstance(scene.store, ability)
        assert not isinstance(bare(scene.store), ability)
