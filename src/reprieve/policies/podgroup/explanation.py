"""Why a group of pods has no place, and what the rules said of those that stay."""

from collections.abc import Iterator

import numpy as np

from reprieve.engine.claims import Claim, GangBudget, GangShort, MemberTooLarge, NotReachable
from reprieve.engine.explanation import Judged, Told
from reprieve.engine.nodes.pool import NodeRule, Ranked, Resident
from reprieve.engine.nodes.rules import NobodyAbove
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import UnitShare
from reprieve.engine.reasons import Reason, SparedByBudget
from reprieve.policies.podgroup.search import FoundInDomain
from reprieve.policies.podgroup.view import Domain, GroupView
from reprieve.world import PodFacts

GangClaim = GangShort | GangBudget | MemberTooLarge


def shortage(view: GroupView) -> GangClaim:
    """How far it would get if everybody who may be asked made way, in the domain where it gets furthest."""
    found = [_short_in(view, domain) for domain in view.domains]
    return max(found, key=_how_far, default=GangShort(placed=0, required=view.gang.required))


def _short_in(view: GroupView, domain: Domain) -> GangClaim:
    placer = view.search.placer(domain.nodes)
    placed, required = placer.most(view.rules), view.gang.required
    if placed >= required:
        return GangBudget(placed=placed, required=required)
    large = placer.too_large()
    if large is not None:
        return large
    resource, (free, needed) = next(iter(placer.shortage(view.rules).items()), ("", (0, 0)))
    stay = tuple(placer.stay(view.rules))
    return GangShort(placed=placed, required=required, resource=resource, free=free, needed=needed, protected=stay)


def _how_far(claim: GangClaim) -> int:
    return -1 if isinstance(claim, MemberTooLarge) else claim.placed


def judged(table: NodeTable, view: GroupView, told: Told) -> Iterator[Judged]:
    """What the rules said in the chosen domain; where none was chosen, all that they said before."""
    found: FoundInDomain | None = told.chosen.terms if told.chosen is not None else None
    rules = [*view.rules, *([NobodyAbove(found.limit)] if found is not None and found.limit is not None else [])]
    pods = Ranked(table, slice(0, table.size), table.depth)
    protects = [rule.protects(pods) for rule in rules]
    domain_of = _domain_of(table, view)
    for node, shares in enumerate(table.residents if not told.brief else ()):
        for rank, share in enumerate(shares):
            by = [rule for rule, mask in zip(rules, protects, strict=True) if mask is not None and mask[rank, node]]
            for facts in share.pods:
                yield Judged(facts.unit, table.names[node], _reason(share, facts, by, found), domain_of[node])


def _domain_of(table: NodeTable, view: GroupView) -> list[str]:
    """The domain that each node is in; outside of all it stands for itself."""
    names = list(table.names)
    for domain in view.domains:
        for node in np.flatnonzero(domain.nodes).tolist():
            names[node] = domain.name
    return names


def obstacles(table: NodeTable, view: GroupView, told: Told) -> dict[str, Claim]:
    """Domains without an offer, and nodes outside of all domains."""
    if told.offers is None:
        return {}
    offered = {offer.domain for offer in told.offers.all()}
    inside = {domain.name for domain in view.domains}
    there = zip(_domain_of(table, view), table.nodes, strict=True)
    outside = {name: NotReachable(why="OutsideDomain") for name, node in there if node and name not in inside}
    without = [domain for domain in view.domains if domain.name not in offered] if len(inside) > 1 else []
    short = {domain.name: _short_in(view, domain) for domain in without}
    # Where only a budget stands in the way, preempting would help: nobody is asked for another reason.
    return {**{name: claim for name, claim in short.items() if not isinstance(claim, GangBudget)}, **outside}


def _reason(share: UnitShare, facts: PodFacts, by: list[NodeRule], found: FoundInDomain | None) -> Reason | None:
    if found is not None and share.unit.key in found.kept:
        return SparedByBudget()
    return by[0].reason(Resident(share.unit, facts)) if by else None
