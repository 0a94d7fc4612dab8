"""The seven steps, the same for every policy: who makes way for whom.

1. **Trigger.** Whoever fits as things are asks nobody. May this preemptor preempt at all?
2. **Domains.** Where could it go? In groups: those of one group compete, the next group is asked when none would do.
3. **Candidates.** Rules allow a unit, or say what protects it.
4. **Remove** candidates until the preemptor fits.
5. **Reprieve**: give back who need not go. With 3 and 4 that is the search of a domain, and what it finds an offer.
6. **Choose** the offer that costs least, by criteria tried in order.
7. **Commit**: the plan, whole or not at all. It changes nothing; effects carry it out.

Between 6 and 7, where the settings want the best plan, it is looked for less than what was chosen (`improvement`).

A policy says what is different about it, and nothing else. A domain may be many places that are searched at once, and
its offers may be made one by one as they are asked for: `Offers` hides that from the steps.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from reprieve.engine.alternatives import Alternatives
from reprieve.engine.claims import Claim
from reprieve.engine.explanation import Explained, Told, explain
from reprieve.engine.improvement import Improved, improve
from reprieve.engine.linear_model import LinearModel
from reprieve.engine.offers import HeldBack, Offer, OfferList, Offers, Placed
from reprieve.engine.plan import Details, Plan, Remark, StalePlan
from reprieve.engine.steps import Choice, Criterion, choose, equals
from reprieve.model.names import UnitName
from reprieve.model.patience import go_on

IMPROVED = "FewestVictims"
"""The criterion that decided where it was looked for less."""
Preemptor = TypeVar("Preemptor", contravariant=True)
View = TypeVar("View", bound="PreemptorView")
Domain = TypeVar("Domain")


class PreemptorView(Protocol):
    """What can be seen for one preemptor at one moment. Making it searches nothing."""

    @property
    def unit(self) -> UnitName:
        """Whom it was made for."""


class Policy(Explained[View], Protocol[Preemptor, View, Domain]):
    """What is different about one design."""

    name: str

    def view(self, preemptor: Preemptor, now: int) -> View:
        """What can be seen for a preemptor, at a moment in microseconds since 1970."""

    def fits(self, view: View) -> Placed | None:
        """Its place, where nobody has to leave."""

    def trigger(self, view: View) -> HeldBack | None:
        """Why it may not preempt, or not yet; None: it may."""

    def domains(self, view: View) -> Iterable[Sequence[Domain]]:
        """Where it could go, group after group."""

    def rules(self, view: View, domain: Domain) -> Sequence[Any]:
        """Who may not be asked to leave a domain: the first rule that protects a unit names the reason."""

    def search(self, view: View, domain: Domain, rules: Sequence[Any]) -> Offers:
        """Remove and reprieve: what a domain would cost; nothing, where no allowed set of victims is enough."""

    def criteria(self, view: View, offers: Offers) -> Sequence[Criterion]:
        """What tells offers apart, the weightiest first."""

    def alternatives(self, view: View, chosen: Offer | None) -> Iterable[Alternatives[Any]]:
        """What the rules allowed in the domains that were searched, for whoever looks for less than was chosen."""

    def models(self, view: View) -> Iterable[LinearModel]:
        """The same in inequalities, for whoever proves what the least is; none, where it cannot be said so."""

    def search_steps(self) -> int:
        """How far it is looked for less; 0: not at all."""

    def improved(self, better: Improved) -> Remark:
        """That it was looked for less, and found."""

    def message(self, view: View, offer: Offer) -> str:
        """The chosen offer in a sentence."""

    def refusal(self, view: View) -> HeldBack:
        """No domain has an offer: why, and whether time alone will change that."""

    def remarks(self, view: View, told: Told) -> Sequence[Remark]:
        """What had a say in it that nobody would guess: a feature gate that is off, a class that is missing."""

    def stamp(self, view: View) -> object:
        """What changes when the view no longer shows what it was made over."""

    def fingerprint(self) -> str:
        """A digest of the ledgers, equal before and after a search; empty: nobody wants that checked."""


class BasePolicy:
    """What many policies have in common: one offer at most, no more to tell, no books that could be left changed."""

    def criteria(self, view: Any, offers: Offers) -> Sequence[Criterion]:  # noqa: ARG002 - there is nothing to choose
        return []

    def alternatives(self, view: Any, chosen: Offer | None) -> Iterable[Alternatives[Any]]:  # noqa: ARG002
        return ()

    def models(self, view: Any) -> Iterable[LinearModel]:  # noqa: ARG002 - the design's answer is all there is
        return ()

    def search_steps(self) -> int:
        return 0

    def improved(self, better: Improved) -> Remark:
        raise NotImplementedError(f"{type(self).__name__} has no words for {better.offer.domain}")

    def unasked(self, view: Any) -> Offers:  # noqa: ARG002 - nobody is asked, whatever it would cost
        return OfferList()

    def obstacles(self, view: Any, told: Told) -> dict[str, Claim]:  # noqa: ARG002 - the sentence says it
        return {}

    def remarks(self, view: Any, told: Told) -> Sequence[Remark]:  # noqa: ARG002 - the message says it all
        return ()

    def fingerprint(self) -> str:
        return ""


def decide(policy: Policy[Preemptor, View, Domain], preemptor: Preemptor, now: int, *, by_design: bool = False) -> Plan:
    """The decision for one preemptor, at a moment in microseconds since 1970; `by_design`: whatever the settings say,
    nobody looks for less than the design's own order finds."""
    go_on()
    view = policy.view(preemptor, now)
    before = policy.fingerprint()
    made = _decide(policy, view, 0 if by_design else policy.search_steps())
    if policy.fingerprint() != before:
        raise AssertionError(f"the search for {view.unit} left the ledger changed")
    return made


def has_place(policy: Policy[Preemptor, View, Domain], preemptor: Preemptor, now: int) -> bool:
    """The first half of step 1 alone: whether it fits as things are."""
    return policy.fits(policy.view(preemptor, now)) is not None


def _decide(policy: Policy[Any, View, Domain], view: View, steps: int) -> Plan:
    placed = policy.fits(view)
    if placed is not None:
        return _plan(policy, view, Told("Fits"), placed.message, placed)
    held_back = policy.trigger(view)
    if held_back is not None:
        return _hold_back(policy, view, held_back)
    offers: Offers = OfferList()
    for offers in _searched(policy, view):
        criteria = policy.criteria(view, offers)
        choice = choose(offers.possible, criteria)
        if choice is not None:
            offer = offers[choice.domain]
            better = _better(policy, view, offer, steps)
            if better is not None:
                return _preempt_for_less(policy, view, offers, better)
            made = _preempt(policy, view, offers, offer, choice)
            made.equals = partial(_equals, offers, criteria, choice)
            return made
    better = _better(policy, view, None, steps)
    if better is not None:
        return _preempt_for_less(policy, view, offers, better)
    made = _hold_back(policy, view, policy.refusal(view), offers)
    made.models = partial(policy.models, view)
    return made


def _better(policy: Policy[Any, View, Any], view: View, chosen: Offer | None, steps: int) -> Improved | None:
    """What costs less than was chosen; None: nothing that was found, or nobody wants to know."""
    return improve(policy.alternatives(view, chosen), steps) if steps else None


def _searched(policy: Policy[Any, View, Domain], view: View) -> Iterator[Offers]:
    """Steps 2 to 5: the offers of one group of domains after the other."""
    for group in policy.domains(view):
        go_on()
        found = [policy.search(view, domain, policy.rules(view, domain)) for domain in group]
        yield found[0] if len(found) == 1 else OfferList(offer for offers in found for offer in offers.all())


def _preempt(policy: Policy[Any, View, Any], view: View, offers: Offers, offer: Offer, choice: Choice) -> Plan:
    told = Told("Preempt", offers, offer, offer.criterion or choice.criterion, offer.waiting_for)
    made = _plan(policy, view, told, policy.message(view, offer), offer)
    made.models = partial(policy.models, view)
    return made


def _preempt_for_less(policy: Policy[Any, View, Any], view: View, offers: Offers, better: Improved) -> Plan:
    offer = better.offer
    told = Told("Preempt", offers, offer, offer.criterion or IMPROVED, offer.waiting_for)
    made = _plan(policy, view, told, policy.message(view, offer), offer, policy.improved(better))
    made.models = partial(policy.models, view)
    return made


def _hold_back(policy: Policy[Any, View, Any], view: View, held: HeldBack, offers: Offers | None = None) -> Plan:
    told = Told(held.outcome, offers, waiting_for=held.waiting_for, because=held.because)
    return _plan(policy, view, told, held.message, held)


def _plan(
    policy: Policy[Any, View, Any],
    view: View,
    told: Told,
    message: str,
    answer: Placed | HeldBack | Offer,
    *said: Remark,
) -> Plan:
    """Step 7: all that effects need, and explanations that are made when somebody asks."""
    remarks = (*said, *policy.remarks(view, told))
    return Plan(
        view.unit,
        policy.name,
        told.outcome,
        " ".join([message, *(remark.sentence for remark in remarks)]) if remarks else message,
        domain=answer.domain,
        placement=answer.placement,
        victims=list(answer.victims) if isinstance(answer, Offer) else [],
        waiting_for=list(told.waiting_for),
        criterion=told.criterion,
        remarks=remarks,
        until=answer.until if isinstance(answer, HeldBack) else None,
        claims=tuple(answer.claims) if isinstance(answer, HeldBack) else (),
        terms=answer.terms,
        reserves=not isinstance(answer, Placed) and answer.reserves,
        closes=not isinstance(answer, Placed) and answer.closes,
        explain=_Explanation(policy, view, told),
    )


def _equals(offers: Offers, criteria: Sequence[Criterion], choice: Choice) -> frozenset[str]:
    """The domains that would have done as well."""
    return frozenset(offers[number].domain for number in equals(offers.possible, criteria, choice.domain))


class _Explanation:
    """Details, or the main points, as long as the world is the one that was decided over."""

    __slots__ = ("_policy", "_stamp", "_told", "_view")

    def __init__(self, policy: Policy[Any, View, Any], view: View, told: Told) -> None:
        self._policy: Policy[Any, Any, Any] = policy
        self._view: PreemptorView = view
        self._stamp = policy.stamp(view)
        self._told = told

    def __call__(self, brief: bool) -> Details:
        if self._policy.stamp(self._view) != self._stamp:
            raise StalePlan(f"the world has moved on since the plan for {self._view.unit} was made")
        return explain(self._policy, self._view, self._told._replace(brief=brief))
