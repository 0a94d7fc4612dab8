"""What one workload is nominated for, and whether less than the design's order found would do.

1. Flavors and sizes, and with them its turn, go by what the design's own order finds: whoever looks for less changes
   nothing about them.
2. On the flavors that it gets it is looked for less.
3. Where the design's order finds nobody, flavors are rated once more, by what other orders find.
4. Whoever has preempted already counts on those who leave for it (`promises`), and looks for no less.
"""

from collections.abc import Callable
from typing import NamedTuple

from reprieve.policies.quota import classical, fair_sharing
from reprieve.policies.quota.alternatives import better
from reprieve.policies.quota.assignments import FlavorDemand
from reprieve.policies.quota.candidates import Candidates
from reprieve.policies.quota.fair_rules import FairRules
from reprieve.policies.quota.nomination import Nominator, possible
from reprieve.policies.quota.promises import beside_promised, on_its_flavors
from reprieve.policies.quota.rules import ClassicalRules
from reprieve.policies.quota.search import Found, Rules, RulesSaid
from reprieve.policies.quota.view import Nomination, WorkloadView

RulesOf = Callable[[WorkloadView, FlavorDemand], Rules]


class _Searched(NamedTuple):
    """What was found in a domain, and among whom: it may be looked at once more."""

    found: Found
    rules: ClassicalRules
    candidates: Candidates


class Searches:
    """The searches of one nomination, each made once."""

    def __init__(self, rules_of: RulesOf, steps: int) -> None:
        """`steps`: how far it is looked for less; 0: not at all."""
        self._rules_of = rules_of
        self._steps = steps
        self._searched: list[_Searched] = []

    def nominate(self, view: WorkloadView) -> Nomination:
        design = Nominator(view, self._by_design).nominate()
        design = on_its_flavors(view, design, self._by_design) or design
        if not self._steps or design.found is None:
            return design
        if possible(design):
            return design._replace(found=self._by_any_order(view, design.found.domain))
        if not any(self._anybody(one) for one in self._searched):
            return design
        again = Nominator(view, self._by_any_order).nominate()
        return again if possible(again) else design

    def _by_design(self, view: WorkloadView, domain: FlavorDemand) -> Found:
        known = self._known(domain)
        if known is not None:
            return known.found
        if view.promised and domain.contested:
            return beside_promised(view, domain, self._rules_of(view, domain), self._search)
        return self._search(view, domain, keep=True)

    def _search(self, view: WorkloadView, domain: FlavorDemand, *, keep: bool = False) -> Found:
        """`keep`: it may be looked at once more."""
        rules = self._rules_of(view, domain)
        if isinstance(rules, FairRules):
            return fair_sharing.search(view, domain, rules)
        if not domain.contested:
            return Found(domain, rules, [], RulesSaid())
        candidates = Candidates(view, domain, rules)
        found = classical.search(view, domain, rules, candidates)
        if keep:
            self._searched.append(_Searched(found, rules, candidates))
        return found

    def _by_any_order(self, view: WorkloadView, domain: FlavorDemand) -> Found:
        found, known = self._by_design(view, domain), self._known(domain)
        if known is None:
            return found
        return better(view, found, known.rules, known.candidates, self._steps)

    def _known(self, domain: FlavorDemand) -> _Searched | None:
        return next((one for one in self._searched if one.found.domain == domain), None)

    def _anybody(self, one: _Searched) -> bool:
        """Whether there is anybody who could be asked in another order."""
        return next(iter(one.candidates), None) is not None
