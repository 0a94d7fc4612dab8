"""A pod that must run on one node, in queues: what is wrong with whom it makes leave.

Read off manifests. It takes from its node only: pods of lower or equal priority that are no DaemonSet's, do not leave
already and hold something of what it lacks there. With them gone it fits, and with any one of them back it would not.
Ordinary pods go before those that opted out, and these before those that lead their application: nobody of a later
class goes where all of the earlier ones were enough. If it takes nobody, not even all of them would be enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from tests.reference.seven_laws import SevenLaws, amounts

Dict = dict[str, Any]


class RequiredNode(SevenLaws):
    """One moment of a world; `asking` must run on `where`."""

    def broken_on(self, asking: str, where: str, gone: Iterable[str]) -> list[str]:
        gone = sorted(gone)
        found = [f"{pod} may not be asked" for pod in gone if not self._may_go(asking, where, pod)]
        if not self._enough(asking, where, gone):
            found.append("it does not fit")
        found += [f"{pod} is not needed" for pod in gone if self._enough(asking, where, set(gone) - {pod})]
        worst = max(map(self._class, gone))
        before = [pod for pod in self._candidates(asking, where) if self._class(pod) < worst]
        if self._enough(asking, where, before):
            found.append("others would go before them")
        return found

    def could(self, asking: str, where: str) -> bool:
        return self._enough(asking, where, self._candidates(asking, where))

    def _class(self, pod: str) -> int:
        return 2 if self.leads(pod) else int(self.opted_out(pod))

    def _candidates(self, asking: str, where: str) -> list[str]:
        return [pod for pod in self.pods if self._may_go(asking, where, pod)]

    def _may_go(self, asking: str, where: str, pod: str) -> bool:
        lower = self.priority(pod) <= self.priority(asking)
        return self.node(pod) == where and lower and not self.fixed(pod) and not self.leaving(pod)

    def _enough(self, asking: str, where: str, gone: Iterable[str]) -> bool:
        there = [pod for pod in self.running() if self.node(pod) == where and pod not in gone]
        has = amounts(self.nodes[where]["status"]["allocatable"])
        return all(
            sum((self.amount(pod).get(name, Fraction(0)) for pod in there), units) <= has.get(name, Fraction(0))
            for name, units in self.amount(asking).items()
        )
