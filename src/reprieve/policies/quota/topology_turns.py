"""The places that the earlier heads of a cycle took, and those that their victims will leave.

The ledger itself stays as it was when the cycle began: everybody is nominated over that. Whoever has its turn finds its
places in what is left now, beside those who were admitted, and will be left once all victims of the cycle are gone and
those have come for whom they go: so nobody is sent where somebody else is about to be.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from reprieve.policies.quota.topology import DomainPlace, PlacedPods, TopologyLedger
from reprieve.policies.quota.topology_domains import Ints, PlaceRequest
from reprieve.policies.quota.workloads import WorkloadFacts

Requests = tuple[PlaceRequest, ...]


class EarlierPlaces:
    """What is left of topologies in one cycle."""

    def __init__(self) -> None:
        self._admitted: list[DomainPlace] = []
        self._promised: list[DomainPlace] = []
        """Of those who wait for victims."""
        self._gone: dict[WorkloadFacts, None] = {}

    def place(self, ledger: TopologyLedger | None, requests: Requests) -> dict[str, PlacedPods] | None:
        """Where it goes at once."""
        if ledger is None or not requests:
            return {}
        if not self._admitted and not self._promised:
            return ledger.place(requests)
        now, later = ledger.frees(), self._later(ledger, ())
        ledger.move(self._admitted, -1, now)
        return ledger.place(requests, {name: np.minimum(free, later[name]) for name, free in now.items()})

    def leave(self, ledger: TopologyLedger | None, requests: Requests, gone: Iterable[WorkloadFacts]) -> bool:
        """Whether there is a place for it once these, and all victims of this cycle, are gone."""
        return ledger is None or not requests or ledger.fits(requests, self._later(ledger, gone))

    def take(
        self,
        ledger: TopologyLedger | None,
        requests: Requests,
        gone: Iterable[WorkloadFacts],
        placed: Mapping[str, PlacedPods] | None,
    ) -> None:
        """A head has its places; or, where it has none yet, will have some once these are gone."""
        if ledger is None or not requests:
            self._gone |= dict.fromkeys(gone)
            return
        taker = self._admitted if placed else self._promised
        found = placed or ledger.place(requests, self._later(ledger, gone)) or {}
        self._gone |= dict.fromkeys(gone)
        each = {request.pod_set: dict(request.each) for request in requests}
        for name, (flavor, _, domains) in found.items():
            taker += [DomainPlace(flavor, values, each[name], pods) for values, pods in domains]

    @contextmanager
    def applied(self, ledger: TopologyLedger | None, already: Iterable[WorkloadFacts]) -> Iterator[None]:
        """The ledger as it will be when all of them have come and gone; but for those who are out of it `already`."""
        out = set(already)
        gone = [place for facts in self._gone if facts not in out for place in facts.places]
        come = [*self._admitted, *self._promised]
        if ledger is not None:
            ledger.move(gone, 1)
            ledger.move(come, -1)
        try:
            yield
        finally:
            if ledger is not None:
                ledger.move(come, 1)
                ledger.move(gone, -1)

    def _later(self, ledger: TopologyLedger, gone: Iterable[WorkloadFacts]) -> dict[str, Ints]:
        later = ledger.frees()
        for facts in {**self._gone, **dict.fromkeys(gone)}:
            ledger.move(facts.places, 1, later)
        ledger.move((*self._admitted, *self._promised), -1, later)
        return later
