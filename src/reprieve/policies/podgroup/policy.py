"""The podgroup policy: KEP-5710, workload-aware preemption.

1. A group that fits as it is preempts nobody. At least minCount of its pods are placed (without gang: one), and as many
   more as can be.
2. A group whose policy is Never preempts nobody. While victims still leave a node that one of its pods is nominated
   to, nothing new is chosen, unless the places can no longer be had: nobody below the group can take them from it.
3. Domains: the whole cluster, or each topology domain where the group asks for one.
4. Potential victims: units of lower preemption priority, also those that reach outside the domain.
5. Units whose budget would break are reprieved first, as far as the group can be placed without them.
6. By binary search the lowest priority N is found such that as many of the group can be placed with nobody above N
   touched as with everybody below the group gone.
7. The group is placed with only units up to N making way.
8. Victims are given back, those first whose budget would break, then by importance, each unit whole or not at all, as
   long as all pods keep their place.
9. Of several domains the cheapest is chosen, by the criteria of the pod policy over all victims.
Nothing is preempted for a group that cannot be placed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from reprieve import texts
from reprieve.configuration import Settings
from reprieve.engine.arrays import Mask
from reprieve.engine.nodes.budgets import Budgets
from reprieve.engine.nodes.columns import SHIFT
from reprieve.engine.nodes.gang_placement import GangPlacer
from reprieve.engine.nodes.labels import NodeLabels
from reprieve.engine.nodes.rules import KnownClass, Nobody, NobodyAbove, OnlyLowerPriority, Tolerating
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.trial import Gang, Trial
from reprieve.engine.nodes.units import Unit
from reprieve.engine.nodes.view import Ranked, Rule
from reprieve.engine.plan import Cost, Details, Plan, Spared, StalePlan, Victim
from reprieve.engine.reasons import CheaperElsewhere, LowerPriority, Reason, Reprieved, SparedByBudget
from reprieve.engine.steps import TIE_BREAK, Choice, Criterion, choose
from reprieve.policies.podgroup.groups import Group
from reprieve.policies.podgroup.search import Answer, DomainSearch
from reprieve.world import NEVER, PodFacts, World

NAME = "podgroup"
CLUSTER = "cluster"


class PodGroupPolicy:
    """Decides for groups of pods over the table that it shares with the pod policy."""

    def __init__(self, world: World, settings: Settings, table: NodeTable, labels: NodeLabels) -> None:
        self.world = world
        self.settings = settings
        self.table = table
        self._labels = labels

    def decide(self, group: Group, now: int) -> Plan:
        """The plan for one group, at a moment in microseconds since 1970."""
        self.table.sync()
        before = self.table.fingerprint() if self.settings.validate else ""
        plan = self._decide(group, now)
        if before and self.table.fingerprint() != before:
            raise AssertionError(f"the search for {group.gang.name} left the ledger changed")
        return plan

    def _decide(self, group: Group, now: int) -> Plan:
        gang = group.gang
        if group.refused:
            return Plan(gang.name, NAME, "Unschedulable", group.refused)
        search = DomainSearch(self.table, self._labels, Budgets(self.table), gang, self.settings)
        domains = self._domains(gang)
        fitting = self._fits(gang, search, domains)
        if fitting is not None:
            return fitting
        if group.never_preempts:
            return self._refuse(gang, texts.never_preempts(gang.name))
        return self._ongoing(gang, search, domains) or self._preempt(gang, search, domains, now)

    # 1. Fits

    def _fits(self, gang: Gang, search: DomainSearch, domains: dict[str, Mask]) -> Plan | None:
        """Places for as many as can be without asking anybody, in the domain that takes most of them."""
        best: dict[str, str] = {}
        where = ""
        for name, domain in domains.items():
            with Trial(self.table) as trial:
                if search.placer(domain).place(trial, [Nobody()]) > max(len(best), gang.required - 1):
                    best, where = trial.placement(), name
        if not best:
            return None
        message = texts.group_fits(gang.name, len(best), len(gang.members))
        return Plan(gang.name, NAME, "Fits", message, domain=where, placement=best)

    # 2. Victims chosen earlier

    def _ongoing(self, gang: Gang, search: DomainSearch, domains: dict[str, Mask]) -> Plan | None:
        """Wait for victims that are still leaving, as long as the places chosen for the group can still be had."""
        nominated = [facts for facts in gang.members if facts.nominated in self.table.index]
        nodes = sorted({facts.nominated for facts in nominated})
        lower = [
            share
            for name in nodes
            for share in self.table.residents[self.table.index[name]]
            if share.unit.priority < gang.priority
        ]
        leaving = {
            facts.unit: share.unit for share in lower for facts in share.pods if facts.pod.terminating_by_preemption
        }
        if not leaving or not domains:
            return None
        placer = search.placer(np.logical_or.reduce(list(domains.values())))
        # Those who are leaving are enough; or others below the group came, and they cannot keep its place from it.
        chosen, anybody = list(leaving.values()), [share.unit for share in lower]
        if not self._can_be_had(placer, nominated, chosen) and not self._can_be_had(placer, nominated, anybody):
            return None
        message = texts.waits_for_victims(gang.name, texts.listed(nodes), list(leaving))
        return Plan(gang.name, NAME, "Wait", message, waiting_for=list(leaving))

    def _can_be_had(self, placer: GangPlacer, nominated: list[PodFacts], gone: list[Unit]) -> bool:
        """Whether every pod would fit where it is nominated once some units have gone."""
        with Trial(self.table) as trial:
            for unit in gone:
                trial.evict(unit)
            for facts in nominated:
                if not placer.outlook(facts, [Nobody()]).fits[self.table.index[facts.nominated]]:
                    return False
                trial.place(facts, facts.nominated, placer.gang.priority)
        return True

    # 3. Where it could go

    def _domains(self, gang: Gang) -> dict[str, Mask]:
        everywhere = ~self.table.gone[: self.table.size]
        if not gang.topology_key:
            return {CLUSTER: everywhere}
        codes, values = self._labels.column(gang.topology_key)
        # Pods that have their place already have chosen the domain for the rest.
        chosen = {int(codes[self.table.index[facts.node]]) for facts in gang.bound if facts.node in self.table.index}
        return {
            f"{gang.topology_key}={value}": everywhere & (codes == code)
            for value, code in sorted(values.items())
            if chosen <= {code}
        }

    # 4. to 8. The search in each domain, and 9. the choice

    def _preempt(self, gang: Gang, search: DomainSearch, domains: dict[str, Mask], now: int) -> Plan:
        rules = self._rules(gang, now, patience=False)
        answers = [
            answer for name, domain in domains.items() if (answer := search.answer(name, domain, rules)) is not None
        ]
        choice = choose(np.ones(len(answers), dtype=np.bool_), _criteria(answers))
        if choice is None:
            return self._out_of_options(gang, search, domains, now)
        answer = answers[choice.domain]
        victims = [
            Victim(facts.unit, LowerPriority(unit.priority, gang.priority), unit.key in answer.violations, unit.group)
            for unit in answer.victims
            for facts in unit.pods
        ]
        message = texts.group_preempts(
            gang.name, len(answer.placement), len(gang.members), [unit.name for unit in answer.victims], len(victims)
        )
        return Plan(
            gang.name,
            NAME,
            "Preempt",
            message,
            domain=answer.domain,
            placement=answer.placement,
            victims=victims,
            criterion=choice.criterion,
            details=self._explain(gang, answers, choice, rules),
        )

    def _rules(self, gang: Gang, now: int, *, patience: bool) -> list[Rule]:
        classes = self.world.classes
        return [
            OnlyLowerPriority(gang.priority),
            KnownClass(self.table, classes),
            Tolerating(self.table, classes, gang.priority, now, patience=patience),
        ]

    # Nothing to be done, or not yet

    def _out_of_options(self, gang: Gang, search: DomainSearch, domains: dict[str, Mask], now: int) -> Plan:
        patient = self._rules(gang, now, patience=True)
        tolerating = self._rules(gang, now, patience=False)
        everywhere = np.arange(self.table.size)
        placer = search.placer(~self.table.gone[: self.table.size])
        more = placer.allowed(patient, everywhere) & ~placer.allowed(tolerating, everywhere)
        if more.any() and any(search.answer(name, domain, patient) for name, domain in domains.items()):
            soonest = min(rule.good_until() for rule in tolerating)
            until = soonest if soonest < NEVER else None
            return Plan(gang.name, NAME, "Wait", texts.waits_for_toleration(gang.name, until), until=until)
        return self._refuse(gang, self._shortage(gang, search, domains, tolerating))

    def _shortage(self, gang: Gang, search: DomainSearch, domains: dict[str, Mask], rules: list[Rule]) -> str:
        """How far it would get if everybody who may be asked made way, in the domain where it gets furthest."""
        best = -1
        missing: dict[str, tuple[int, int]] = {}
        for domain in domains.values():
            placer = search.placer(domain)
            most = placer.most(rules)
            if most > best:
                best, missing = most, placer.shortage(rules)
        return texts.group_unschedulable(gang.name, max(best, 0), gang.required, missing)

    def _refuse(self, gang: Gang, message: str) -> Plan:
        return Plan(gang.name, NAME, "Unschedulable", message)

    # Explanations

    def _explain(self, gang: Gang, answers: list[Answer], choice: Choice, rules: list[Rule]) -> Callable[[], Details]:
        return partial(self._details, gang, answers, choice, rules, self.world.version)

    def _details(self, gang: Gang, answers: list[Answer], choice: Choice, rules: list[Rule], version: int) -> Details:
        if self.world.version != version:
            raise StalePlan(f"the world has moved on since the plan for {gang.name} was made")
        costs = {
            answer.domain: Cost(
                [facts.unit for unit in answer.victims for facts in unit.pods], sum(answer.violations.values())
            )
            for answer in answers
        }
        chosen = answers[choice.domain]
        elsewhere = {unit.key for answer in answers for unit in answer.victims}
        rules = [*rules, NobodyAbove(chosen.limit)]
        gone = {unit.key for unit in chosen.victims}
        pods = Ranked(self.table, slice(0, self.table.size), self.table.depth)
        protects = [rule.protects(pods) for rule in rules]
        spared: list[Spared] = []
        for node, shares in enumerate(self.table.residents):
            for rank, share in enumerate(shares):
                if share.unit.key in gone:
                    continue
                rule = next((rule for rule, mask in zip(rules, protects, strict=True) if mask[rank, node]), None)
                for facts in share.pods:
                    reason: Reason = rule.reason(share.unit, facts) if rule else Reprieved()
                    if share.unit.key in chosen.kept:
                        reason = SparedByBudget()
                    elif share.unit.key in elsewhere:
                        reason = CheaperElsewhere(chosen.domain, choice.criterion)
                    spared.append(Spared(facts.unit, reason, self.table.names[node]))
        return Details(costs, spared, {})


def _criteria(answers: list[Answer]) -> list[Criterion]:
    """The pod policy's criteria, over all pods of all victims of a domain."""
    pods = [[facts for unit in answer.victims for facts in unit.pods] for answer in answers]
    top = [max((facts.priority for facts in victims), default=0) for victims in pods]
    starts = [
        min((facts.start for facts in victims if facts.priority == highest), default=NEVER)
        for victims, highest in zip(pods, top, strict=True)
    ]
    columns = {
        "FewestBudgetViolations": [sum(answer.violations.values()) for answer in answers],
        "LowestHighestPriority": top,
        "SmallestSumOfPriorities": [sum(facts.priority + SHIFT for facts in victims) for victims in pods],
        "FewestVictims": [len(victims) for victims in pods],
        "LatestStart": [-start for start in starts],
        TIE_BREAK: list(range(len(answers))),
    }
    return [Criterion(name, np.array(values, dtype=np.int64)) for name, values in columns.items()]
