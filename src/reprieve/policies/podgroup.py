"""The podgroup policy: KEP-5710, workload-aware preemption.

1. A group that fits as it is preempts nobody. At least minCount of its pods are placed (without gang: one), and as many
   more as can be.
2. A group whose policy is Never preempts nobody. While victims still leave a node that one of its pods is nominated
   to, and the nominations are still good, nothing new is chosen.
3. Domains: the whole cluster, or each topology domain where the group asks for one.
4. Potential victims: units of lower preemption priority, also those that reach outside the domain.
5. Units whose budget would break are reprieved first, as far as the group can be placed without them.
6. By binary search the lowest priority N is found such that the group can be placed with nobody above N touched.
7. The group is placed with only units up to N making way.
8. Victims are given back in order of importance, each unit whole or not at all, as long as all pods keep their place.
9. Of several domains the cheapest is chosen, by the criteria of the pod policy over all victims.
Nothing is preempted for a group that cannot be placed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import NamedTuple

import numpy as np

from reprieve import texts
from reprieve.configuration import Settings
from reprieve.engine.budgets import Budgets
from reprieve.engine.columns import Mask
from reprieve.engine.gang import GangPlacer
from reprieve.engine.giving_back import Giver
from reprieve.engine.labels import NodeLabels
from reprieve.engine.outlook import Ranked, Rule
from reprieve.engine.plan import Cost, Details, Plan, Spared, StalePlan, Victim
from reprieve.engine.reasons import LowerPriority, Reprieved
from reprieve.engine.rules import KeptByBudget, KnownClass, Nobody, NobodyAbove, OnlyLowerPriority, Tolerating
from reprieve.engine.search import TIE_BREAK, Criterion, choose
from reprieve.engine.table import SHIFT, Mark, NodeTable
from reprieve.engine.trial import Gang, Trial
from reprieve.engine.units import Unit
from reprieve.policies.groups import Group
from reprieve.world import NEVER, PodFacts, World

NAME = "podgroup"
CLUSTER = "cluster"


class Answer(NamedTuple):
    """What one domain would cost."""

    domain: str
    victims: list[Unit]
    placement: dict[str, str]
    violations: dict[Hashable, int]
    limit: int


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
        budgets = Budgets(self.table)
        domains = self._domains(gang)
        fitting = self._fits(gang, budgets, domains)
        if fitting is not None:
            return fitting
        if group.never_preempts:
            return self._refuse(gang, texts.never_preempts(gang.name))
        return self._ongoing(gang, budgets, domains) or self._preempt(gang, budgets, domains, now)

    # 1. Fits

    def _fits(self, gang: Gang, budgets: Budgets, domains: dict[str, Mask]) -> Plan | None:
        for name, domain in domains.items():
            with Trial(self.table) as trial:
                if self._placer(gang, budgets, domain).place(trial, [Nobody()]):
                    placement = trial.placement()
                    message = texts.group_fits(gang.name, len(placement), len(gang.members))
                    return Plan(gang.name, NAME, "Fits", message, domain=name, placement=placement)
        return None

    def _placer(self, gang: Gang, budgets: Budgets, domain: Mask) -> GangPlacer:
        return GangPlacer(self.table, self._labels, budgets, gang, domain, self.settings.scoring)

    # 2. Victims chosen earlier

    def _ongoing(self, gang: Gang, budgets: Budgets, domains: dict[str, Mask]) -> Plan | None:
        """Wait for victims that are still leaving, as long as the places chosen for the group remain valid."""
        nominated = [facts for facts in gang.members if facts.nominated in self.table.index]
        nodes = sorted({facts.nominated for facts in nominated})
        shares = [share for name in nodes for share in self.table.residents[self.table.index[name]]]
        leaving = {
            facts.unit: share.unit
            for share in shares
            if share.unit.priority < gang.priority
            for facts in share.pods
            if facts.pod.terminating_by_preemption
        }
        if not leaving or not self._still_valid(gang, budgets, domains, nominated, list(leaving.values())):
            return None
        message = texts.waits_for_victims(gang.name, texts.listed(nodes), list(leaving))
        return Plan(gang.name, NAME, "Wait", message, waiting_for=list(leaving))

    def _still_valid(
        self, gang: Gang, budgets: Budgets, domains: dict[str, Mask], nominated: list[PodFacts], leaving: list[Unit]
    ) -> bool:
        """Whether every pod would fit where it is nominated once those who are leaving have left."""
        everywhere = np.logical_or.reduce(list(domains.values()))
        placer = self._placer(gang, budgets, everywhere)
        with Trial(self.table) as trial:
            for unit in leaving:
                trial.evict(unit)
            for facts in nominated:
                if not placer.outlook(facts, [Nobody()]).fits[self.table.index[facts.nominated]]:
                    return False
                trial.place(facts, facts.nominated, gang.priority)
        return True

    # 3. Where it could go

    def _domains(self, gang: Gang) -> dict[str, Mask]:
        everywhere = ~self.table.gone[: self.table.size]
        if not gang.topology_key:
            return {CLUSTER: everywhere}
        codes, values = self._labels.column(gang.topology_key)
        return {f"{gang.topology_key}={value}": everywhere & (codes == code) for value, code in sorted(values.items())}

    # 4. to 8. The search in each domain, and 9. the choice

    def _preempt(self, gang: Gang, budgets: Budgets, domains: dict[str, Mask], now: int) -> Plan:
        rules = self._rules(gang, now, patience=False)
        answers = [
            answer for name, domain in domains.items() if (answer := self._search(gang, budgets, name, domain, rules))
        ]
        if not answers:
            return self._out_of_options(gang, budgets, domains, now)
        choice = choose(np.ones(len(answers), dtype=np.bool_), _criteria(answers))
        answer = answers[choice.domain if choice else 0]
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
            criterion=choice.criterion if choice else "",
            details=self._explain(gang, answers, answer, rules),
        )

    def _rules(self, gang: Gang, now: int, *, patience: bool) -> list[Rule]:
        classes = self.world.classes
        return [
            OnlyLowerPriority(gang.priority),
            KnownClass(self.table, classes),
            Tolerating(self.table, classes, gang.priority, now, patience=patience),
        ]

    def _search(self, gang: Gang, budgets: Budgets, name: str, domain: Mask, rules: list[Rule]) -> Answer | None:
        placer = self._placer(gang, budgets, domain)
        candidates = self._candidates(rules)
        marked = self._mark_budgets(budgets, candidates)
        try:
            if marked and not self._keep_protected(placer, rules, marked):
                return None
            limit = self._lowest_enough(placer, candidates, [*rules, KeptByBudget()])
            return None if limit is None else self._place(placer, name, limit, rules)
        finally:
            self.table.mark({}, marked)

    def _candidates(self, rules: list[Rule]) -> Mask:
        """Everybody who may be asked, on all nodes."""
        pods = Ranked(self.table, slice(0, self.table.size), self.table.depth)
        candidates = pods.get("count") > 0
        for rule in rules:
            protects = rule.protects(pods)
            candidates &= ~protects
        return candidates

    def _mark_budgets(self, budgets: Budgets, candidates: Mask) -> list[Unit]:
        """5. Whose budget would break, walking over everybody in order of importance."""
        breaks = budgets.everywhere(candidates)
        units = {}
        marks: dict[Hashable, Mark] = {}
        for rank, node in np.argwhere(breaks > 0):
            unit = self.table.residents[node][rank].unit
            units[unit.key] = unit
            marks[unit.key] = Mark(breaks=int(breaks[rank, node]))
        self.table.mark(marks, units.values())
        return list(units.values())

    def _keep_protected(self, placer: GangPlacer, rules: list[Rule], marked: list[Unit]) -> bool:
        """5. Protected units that need not go, wherever the group lands, stay for good; False: it lands nowhere."""
        with Trial(self.table) as trial:
            if not placer.place(trial, rules):
                return False
            placer.reprieve(trial, marked)
            gone = set(trial.evicted)
        marks = {key: mark if key in gone else mark._replace(kept=1) for key, mark in self.table.marks.items()}
        self.table.mark(marks, marked)
        return True

    def _lowest_enough(self, placer: GangPlacer, candidates: Mask, rules: list[Rule]) -> int | None:
        """6. The lowest priority N such that the group can be placed with nobody above N touched."""
        depth = len(candidates)
        priorities = np.unique(self.table.ranks["priority"][:depth, : self.table.size][candidates]).tolist()
        low, high = 0, len(priorities) - 1
        if high < 0 or not placer.can_place([*rules, NobodyAbove(priorities[high])]):
            return None
        while low < high:
            middle = (low + high) // 2
            if placer.can_place([*rules, NobodyAbove(priorities[middle])]):
                high = middle
            else:
                low = middle + 1
        return int(priorities[low])

    def _place(self, placer: GangPlacer, name: str, limit: int, rules: list[Rule]) -> Answer | None:
        """7. Place it, and 8. give back what need not go."""
        with Trial(self.table) as trial:
            if not placer.place(trial, [*rules, KeptByBudget(), NobodyAbove(limit)]):
                return None
            placer.reprieve(trial, [])
            victims = sorted(trial.evicted.values(), key=lambda unit: unit.importance)
            violations = {unit.key: mark.breaks for unit in victims if (mark := self.table.marks.get(unit.key))}
            return Answer(name, victims, trial.placement(), violations, limit)

    # Nothing to be done, or not yet

    def _out_of_options(self, gang: Gang, budgets: Budgets, domains: dict[str, Mask], now: int) -> Plan:
        patient = self._rules(gang, now, patience=True)
        tolerating = self._rules(gang, now, patience=False)
        self._candidates(tolerating)
        until = min(rule.good_until() for rule in tolerating)
        for name, domain in domains.items():
            if until < NEVER and self._search(gang, budgets, name, domain, patient):
                return Plan(gang.name, NAME, "Wait", texts.waits_for_toleration(gang.name, until))
        return self._refuse(gang, self._shortage(gang, budgets, domains, tolerating))

    def _shortage(self, gang: Gang, budgets: Budgets, domains: dict[str, Mask], rules: list[Rule]) -> str:
        """How far it would get if everybody who may be asked made way."""
        best = 0
        missing: dict[str, tuple[int, int]] = {}
        for domain in domains.values():
            with Trial(self.table) as trial:
                placer = self._placer(gang, budgets, domain)
                placer.place(trial, rules)
                if not missing or len(trial.placed) > best:
                    best, missing = len(trial.placed), placer.shortage(rules)
        return texts.group_unschedulable(gang.name, best, gang.required, missing)

    def _refuse(self, gang: Gang, message: str) -> Plan:
        return Plan(gang.name, NAME, "Unschedulable", message)

    # Explanations

    def _explain(self, gang: Gang, answers: list[Answer], chosen: Answer, rules: list[Rule]) -> Callable[[], Details]:
        return partial(self._details, gang, answers, chosen, rules, self.world.version)

    def _details(self, gang: Gang, answers: list[Answer], chosen: Answer, rules: list[Rule], version: int) -> Details:
        if self.world.version != version:
            raise StalePlan(f"the world has moved on since the plan for {gang.name} was made")
        costs = {
            answer.domain: Cost(
                [facts.unit for unit in answer.victims for facts in unit.pods], sum(answer.violations.values())
            )
            for answer in answers
        }
        return Details(costs, self._spared(chosen, [*rules, NobodyAbove(chosen.limit)]), {})

    def _spared(self, chosen: Answer, rules: list[Rule]) -> list[Spared]:
        gone = {unit.key for unit in chosen.victims}
        pods = Ranked(self.table, slice(0, self.table.size), self.table.depth)
        protects = [rule.protects(pods) for rule in rules]
        spared: list[Spared] = []
        for node, shares in enumerate(self.table.residents):
            for rank, share in enumerate(shares):
                if share.unit.key in gone:
                    continue
                rule = next((rule for rule, mask in zip(rules, protects, strict=True) if mask[rank, node]), None)
                spared += (
                    Spared(facts.unit, rule.reason(share.unit, facts) if rule else Reprieved(), self.table.names[node])
                    for facts in share.pods
                )
        return spared


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
