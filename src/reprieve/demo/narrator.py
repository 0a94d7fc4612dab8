"""Tells what happens, as it happens: decisions in their own words, then who leaves, has left and runs."""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from reprieve.demo.accounts import Accounts, Decision
from reprieve.demo.happenings import Happening, Kind
from reprieve.demo.stage import Stage, Work
from reprieve.manifests.kinds import PODS
from reprieve.model.names import kind_of, parts_of
from reprieve.texts import demo as texts

Line = tuple[str, str]
"""A sentence, and the outcome of the decision that it tells of."""
Item = TypeVar("Item")
_UNTOLD = ("Reprieved", "CheaperElsewhere", "Priority", "NoHelp", "NotContested", "NotEnough", "Leaving")
"""Why somebody was spared, where that is nothing special."""


class Narrator:
    """Makes sentences of decisions and happenings; says nothing twice."""

    def __init__(self, stage: Stage, accounts: Accounts) -> None:
        self._stage = stage
        self._accounts = accounts
        self._told: set[str] = set()
        self._made_way: set[Work] = set()
        self._sentences: dict[Kind, Callable[[list[Happening]], str]] = {
            "runs": self._runs,
            "admitted": self._admitted,
            "leaves": self._leaves,
            "left": self._left,
            "complete": lambda group: texts.complete(str(group[0].work)),
        }

    def lines(self, namespace: str, happenings: Iterable[Happening]) -> list[Line]:
        """What there is to tell about a scene."""
        here = [happening for happening in happenings if happening.work.namespace == namespace]
        return [*self._decisions(namespace), *self._happenings(here)]

    # Decisions

    def _decisions(self, namespace: str) -> list[Line]:
        found = self._accounts.decisions(namespace)
        new = [each for each in found if each["outcome"] != "Fits" and each["message"] not in self._told]
        self._told.update(each["message"] for each in new)
        lines: list[Line] = []
        for group in _grouped(new, self._alike):
            lines += ((sentence, group[0]["outcome"]) for sentence in self._decision(group))
        return lines

    def _alike(self, decision: Decision) -> Hashable:
        """Pods of one work that wait for the same reason are told of together; who preempts is told of alone."""
        if decision["outcome"] == "Preempt":
            return int(decision["id"])
        work = self._stage.owner(decision["preemptor"])
        return work, decision["message"].replace(decision["preemptor"], "")

    def _decision(self, group: list[Decision]) -> Iterable[str]:
        others = [parts_of(each["preemptor"]).name for each in group[1:]]
        sentence = group[0]["message"]
        plan = self._accounts.plan(group[0]) if group[0]["outcome"] == "Preempt" else {}
        whys = dict.fromkeys(victim["message"] for victim in plan.get("victims", ()))
        parts = [sentence, *([texts.because(list(whys))] if whys else ())]
        yield " ".join([*parts, *([texts.the_same_for(others)] if others else ())])
        yield from _spared(plan)

    # Happenings

    def _happenings(self, happenings: list[Happening]) -> list[Line]:
        lines = []
        for group in _grouped(happenings, lambda each: (each.kind, each.work, kind_of(each.unit))):
            kind, work = group[0].kind, group[0].work
            if kind == "leaves":
                self._made_way.add(work)
            lines.append((self._sentences[kind](group), ""))
        return lines

    def _runs(self, group: list[Happening]) -> str:
        work = group[0].work
        return texts.runs(str(work), *self._stage.standing(work), _places(group), again=work in self._made_way)

    def _admitted(self, group: list[Happening]) -> str:
        work = group[0].work
        return texts.admitted(str(work), group[0].place, again=work in self._made_way)

    def _leaves(self, group: list[Happening]) -> str:
        return texts.leaves(_names(group), _places(group), group[0].seconds)

    def _left(self, group: list[Happening]) -> str:
        took = [each.seconds for each in group if each.seconds is not None]
        return texts.left(_names(group), _places(group), max(took, default=None))


def _spared(plan: dict[str, Any]) -> Iterable[str]:
    """Who was spared where the preemptor goes, for a reason that is worth telling."""
    told = [each for each in plan.get("spared", ()) if each["rule"] not in _UNTOLD and each["domain"] == plan["domain"]]
    for group in _grouped(told, lambda each: each["message"]):
        yield texts.spared([parts_of(each["unit"]).name for each in group], group[0]["message"])


def _grouped(items: Iterable[Item], by: Callable[[Item], Hashable]) -> list[list[Item]]:
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(by(item), []).append(item)
    return list(groups.values())


def _names(group: list[Happening]) -> list[str]:
    """Pods by their own names; what stands for a whole work by that."""
    units = ((parts_of(each.unit), each.work) for each in group)
    return list(dict.fromkeys(unit.name if unit.kind == PODS.kind else str(work) for unit, work in units))


def _places(group: list[Happening]) -> list[str]:
    return sorted({each.place for each in group})
