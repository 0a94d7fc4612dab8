"""Looking for less, head by head: what each is nominated for, next to what the design's own order finds at that moment.

In a cycle of quota heads have their turns after each other: each sees what those before it took, and whose victims they
are. So two cycles over the same store, one by each search, part at the first head that asks others. What can be
compared is each nomination of the loop, by both searches over the very tree that it was made over.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import msgspec

from reprieve.policies.quota.assignments import FIT
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.search import Without
from reprieve.policies.quota.view import Nomination, WorkloadView


class Cost(NamedTuple):
    """What it costs that some make way: the weightiest first."""

    top: tuple[int, int]
    """Of the last kind that is asked, the highest priority."""
    victims: int
    priorities: int


class Nominations:
    """Finds fault with what workloads are nominated for."""

    def __init__(self, faults: list[str]) -> None:
        self._faults = faults
        self.compared = 0
        """Nominations in which the design's order asks others."""
        self.less = 0
        """Those that cost less than that."""

    def watch(self, policy: QuotaPolicy) -> None:
        """To be called again after a restart."""
        nominate = policy.nominate
        settings = msgspec.structs.replace(policy.settings, search="Design")

        def judged(view: WorkloadView) -> Nomination:
            by_design = QuotaPolicy(policy.quota)
            by_design.settings = settings
            other = copy.copy(view)
            other.off = {}
            design = by_design.nominate(other)
            made = nominate(view)
            self._faults += [f"{view.unit}: {fault}" for fault in self._compare(view, design, made)]
            return made

        setattr(policy, "nominate", judged)  # noqa: B010 - a method, for as long as it is watched

    def _compare(self, view: WorkloadView, design: Nomination, made: Nomination) -> list[str]:
        asked, asks = _victims(design), _victims(made)
        if design.assignment.mode != FIT and not asked:
            return []  # whoever is asked in another order makes room where the design has none
        found = []
        if _terms(design) != _terms(made):
            found.append(f"nominated for {_terms(made)}, and by the design's order for {_terms(design)}")
        if not asked:
            return found
        self.compared += 1
        before, after = _cost(asked), _cost(asks)
        self.less += after < before
        if not asks or after > before or after.victims > before.victims or _most(asks) > _most(asked):
            found.append(f"asks {_names(asks)}, where the design's order asks {_names(asked)}")
        if _borrows(view, made) > _borrows(view, design):
            found.append(f"borrows without {_names(asks)}, and not without {_names(asked)}")
        return found


def _victims(nomination: Nomination) -> list[Any]:
    return nomination.found.victims if nomination.found is not None else []


def _terms(nomination: Nomination) -> tuple[Any, ...]:
    """Flavors and sizes, and all that its turn goes by."""
    assignment = nomination.assignment
    return assignment.mode, assignment.level, assignment.borrows, assignment.chosen(), assignment.sizes


def _cost(victims: list[Any]) -> Cost:
    """Whoever leaves already costs nothing."""
    asked = [(item.kind, item.facts.boosted) for item in victims if not item.facts.evicted]
    return Cost(max(asked, default=(-1, 0)), len(asked), sum(priority for _, priority in asked))


def _most(victims: list[Any]) -> float:
    """The highest priority of those that have to leave."""
    return max((item.facts.boosted for item in victims if not item.facts.evicted), default=float("-inf"))


def _borrows(view: WorkloadView, nomination: Nomination) -> bool:
    with Without(item.facts for item in _victims(nomination)):
        return any(view.queue.exceeds(key, amount) for key, amount in nomination.assignment.usage.items())


def _names(victims: list[Any]) -> list[str]:
    return sorted(f"{item.facts.unit} ({item.facts.boosted}, {item.right})" for item in victims)
