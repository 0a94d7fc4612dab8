"""How what is said is set against what is so."""

from __future__ import annotations

from collections.abc import Callable

from tests.reasons.worlds import Dict, World

Check = Callable[[World, Dict, Dict], str]
"""Over a world, a decision and something that it says. Empty: it is true; else what is the case instead."""


def differs(**pairs: tuple[object, object]) -> str:
    """What is said and what is so, for each that is not the same."""
    return "; ".join(f"{name} is {so}, not {said}" for name, (said, so) in pairs.items() if said != so)
