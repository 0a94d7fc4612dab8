"""Who is in a cluster, in the order in which they are asked to leave, in columns that rules and searches share."""

from bisect import bisect_left, insort
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.steps import LARGEST
from reprieve.policies.federation.bindings import BindingFacts


class ResidentBinding(NamedTuple):
    """A binding in one of its clusters: when it makes way there, the others are still its own."""

    facts: BindingFacts
    cluster: str


class Residents:
    """The bindings in one cluster, the first to be asked first. Columns are kept until somebody comes or goes."""

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self.bindings: list[BindingFacts] = []
        self._priorities: Ints | None = None
        self._columns: dict[str, Ints] = {}
        self._tables: dict[tuple[str, ...], Ints] = {}
        self._empty: dict[str, Mask] = {}
        self._kept: dict[str, Mask] = {}

    def settle(self) -> None:
        """Put in order what was added without, and make the columns that decisions will ask for."""
        self.bindings.sort(key=lambda facts: facts.order)
        for name in {name for facts in self.bindings for name in facts.request}:
            self.holds_none(name)
        self.priorities()

    def add(self, facts: BindingFacts, *, sort: bool) -> None:
        if sort:
            insort(self.bindings, facts, key=lambda item: item.order)
        else:
            self.bindings.append(facts)
        self._forget()

    def remove(self, facts: BindingFacts) -> None:
        del self.bindings[bisect_left(self.bindings, facts.order, key=lambda item: item.order)]
        self._forget()

    def _forget(self) -> None:
        self._priorities = None
        for columns in (self._columns, self._tables, self._empty, self._kept):
            columns.clear()

    def shares(self, names: tuple[str, ...]) -> Ints:
        """What each holds, a column for each resource."""
        found = self._tables.get(names)
        if found is None:
            found = self._tables[names] = np.stack([self._column(name) for name in names], axis=1)
        return found

    def _column(self, name: str) -> Ints:
        found = self._columns.get(name)
        if found is None:
            held = [min(facts.request.of(name) * facts.held[self.cluster], LARGEST) for facts in self.bindings]
            found = self._columns[name] = np.array(held, dtype=np.int64)
        return found

    # What rules ask

    def priorities(self) -> Ints:
        if self._priorities is None:
            self._priorities = np.array([facts.priority for facts in self.bindings], dtype=np.int64)
        return self._priorities

    def holds_none(self, name: str) -> Mask:
        """Who holds nothing of a resource."""
        found = self._empty.get(name)
        if found is None:
            found = self._empty[name] = self._column(name) <= 0
        return found

    def kept(self, scheduler: str, protected: Callable[[], list[bool]]) -> Mask:
        """Whom something protects from all preemptors of a scheduler; it is asked once."""
        found = self._kept.get(scheduler)
        if found is None:
            found = self._kept[scheduler] = np.array(protected(), dtype=np.bool_)
        return found
