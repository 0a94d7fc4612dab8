"""Gangs by YuniKorn's task groups, read off manifests: what is wrong with the start of an application.

Written from what YuniKorn tells its users, and from the seven laws; it knows manifests and nothing of the code.

1. The first pod of an application that defines task groups speaks for it. Until a pod of the application has a place,
   places are given to the minimum members of all its task groups together, or to none of them.
2. A member is a pod that waits and names the group; for those that do not exist a placeholder gets the place, which
   asks for what the group says. No more of them are placed than the minimum.
3. Nodes hold all of them beside those who stay, and no queue on the way up has more than its maximum.
4. Who makes way does so by the laws: no queue has less of its guarantee than before, counting all that come (2); nobody
   of its application or queue (3); members come one after the other, each into free room or while the queue is under
   its guarantee (4); and 5, 6, 7 as for a single pod. Nobody goes who is not needed.
5. An application that could start with nobody making way is not kept waiting.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

from tests.reference.seven_laws import Amounts, SevenLaws, amounts

Dict = dict[str, Any]
GROUPS = "yunikorn.apache.org/task-groups"
GROUP = "yunikorn.apache.org/task-group-name"
PLACEHOLDER = "yunikorn.apache.org/placeholder"


def _says(pod: Dict, name: str) -> str:
    return str(pod["metadata"].get("annotations", {}).get(name, ""))


class TaskGroupLaws(SevenLaws):
    """One moment of a world, in which an application is to start."""

    # What the application says

    def of_application(self, application: str) -> list[str]:
        """Its pods, the earliest first."""
        own = [pod for pod in self.pods if self.application(pod) == application]
        return sorted(own, key=lambda pod: (self.created(pod), pod))

    def groups(self, application: str) -> dict[str, Dict]:
        said = (_says(self.pods[pod], GROUPS) for pod in self.of_application(application))
        return {group["name"]: group for group in json.loads(next(filter(None, said), "[]"))}

    def reserving(self, application: str) -> bool:
        return bool(self.groups(application)) and not any(self.node(pod) for pod in self.of_application(application))

    def named(self, application: str, group: str) -> list[str]:
        waiting = (pod for pod in self.of_application(application) if not self.node(pod) and not self.leaving(pod))
        return [pod for pod in waiting if _says(self.pods[pod], GROUP) == group]

    def members(self, application: str) -> list[Amounts]:
        """What the minimum members of all task groups ask for."""
        found: list[Amounts] = []
        for name, group in self.groups(application).items():
            exist = self.named(application, name)[: group["minMember"]]
            asked = {"pods": Fraction(1), **amounts(group["minResource"])}
            found += [self.amount(pod) for pod in exist] + [asked] * (group["minMember"] - len(exist))
        return found

    # A start

    def start(self, application: str, placed: Sequence[Dict], gone: Iterable[str]) -> list[str]:
        """What is wrong with giving places to some pods, placeholders among them, while some others leave."""
        gone = sorted(gone)
        found = list(self._not_whole(application, placed))
        if not self._hold([(pod["spec"]["nodeName"], _amount(pod)) for pod in placed], gone):
            found.append("nodes do not hold them")
        queue = self.queue(self.of_application(application)[0])
        comes = _sum(_amount(pod) for pod in placed)
        found += [f"{name} is above its maximum" for name in self._too_much(queue, comes, gone)]
        if gone:
            found += self._unlawful(application, queue, comes, gone)
            if not self._law_4(queue, [(pod["spec"]["nodeName"], _amount(pod)) for pod in placed], gone):
                found.append("law 4")
        found += [f"{pod} is not needed" for pod in gone if self._could_stay(application, queue, pod, gone)]
        return found

    def overlooked(self, application: str) -> bool:
        """Whether it could start as things are."""
        queue = self.queue(self.of_application(application)[0])
        return self._could_start(queue, self.members(application), [])

    def _not_whole(self, application: str, placed: Sequence[Dict]) -> Iterator[str]:
        for name, group in self.groups(application).items():
            own = [pod for pod in placed if _says(pod, GROUP) == name]
            if len(own) != group["minMember"]:
                yield f"{len(own)} of {group['minMember']} of {name}"
            stand_ins = [pod for pod in own if _says(pod, PLACEHOLDER)]
            if len(own) - len(stand_ins) != min(group["minMember"], len(self.named(application, name))):
                yield f"{name} has placeholders for pods that exist"
            if any(_amount(pod) != {"pods": 1, **amounts(group["minResource"])} for pod in stand_ins):
                yield f"a placeholder of {name} asks for something else"
        if any(_says(pod, GROUP) not in self.groups(application) for pod in placed):
            yield "somebody of no task group"

    def _unlawful(self, application: str, queue: str, comes: Amounts, gone: list[str]) -> Iterator[str]:
        asking = self.of_application(application)[0]
        for pod in gone:
            yield from (f"{what}: {pod}" for what in self.protected(asking, pod))
        for step in {step for pod in gone for step in self.path(self.queue(pod))}:
            more = comes if step in self.path(queue) else {}
            for name, units in self.bounds(step, "guaranteed").items():
                after = self.used(step, name, gone) + more.get(name, 0)
                if min(after, units) < min(self.used(step, name), units):
                    yield f"law 2: {step} {name}"

    def _law_4(self, queue: str, places: list[tuple[str, Amounts]], gone: list[str]) -> bool:
        """Whether they can come in some order, each into free room or while the queue is under its guarantee."""
        return any(self._in_order(queue, list(order), gone) for order in set(permutations(_hashable(places))))

    def _in_order(self, queue: str, order: list[tuple[str, tuple[tuple[str, Fraction], ...]]], gone: list[str]) -> bool:
        come: list[tuple[str, Amounts]] = []
        left: list[str] = []
        for where, said in order:
            asked = dict(said)
            before = _sum(one for _, one in come)
            free = self._hold([*come, (where, asked)], left) and not any(
                self._too_much(queue, _sum([before, asked]), left)
            )
            come.append((where, asked))
            if free:
                continue
            here = [pod for pod in gone if self.node(pod) == where]
            left = sorted({*left, *(here if self._short(come, left, where) else gone)})
            if not self._under(queue, asked, before, left):
                return False
        return True

    def _short(self, come: list[tuple[str, Amounts]], left: list[str], node: str) -> bool:
        return not self._hold([place for place in come if place[0] == node], left)

    def _under(self, queue: str, asked: Amounts, before: Amounts, gone: list[str]) -> bool:
        claimed = False
        for name in asked:
            lowest = next((step for step in self.path(queue) if name in self.bounds(step, "guaranteed")), None)
            if lowest is not None:
                claimed = True
                used = self.used(lowest, name, gone) + before.get(name, Fraction(0))
                if used >= self.bounds(lowest, "guaranteed")[name]:
                    return False
        return claimed

    def _could_stay(self, application: str, queue: str, pod: str, gone: list[str]) -> bool:
        """Whether they could start without one of those who leave, somewhere and in some order."""
        others = [other for other in gone if other != pod]
        members = self.members(application)
        if any(self._too_much(queue, _sum(members), others)):
            return False
        ways = self._ways([], members, others)
        return any(not others or self._law_4(queue, way, others) for way in ways)

    # Room

    def _could_start(self, queue: str, members: list[Amounts], gone: list[str]) -> bool:
        return not any(self._too_much(queue, _sum(members), gone)) and any(self._ways([], members, gone))

    def _ways(
        self, places: list[tuple[str, Amounts]], left: list[Amounts], gone: list[str]
    ) -> Iterator[list[tuple[str, Amounts]]]:
        """Every way to give each of them a node."""
        if not left:
            yield places
            return
        for node in self.nodes:
            way = [*places, (node, left[0])]
            if self._hold(way, gone):
                yield from self._ways(way, left[1:], gone)

    def _hold(self, places: list[tuple[str, Amounts]], gone: list[str]) -> bool:
        for node in self.nodes:
            there = [self.amount(pod) for pod in self.running() if self.node(pod) == node and pod not in gone]
            total = _sum([*there, *(asked for where, asked in places if where == node)])
            has = amounts(self.nodes[node]["status"]["allocatable"])
            if any(units > has.get(name, Fraction(0)) for name, units in total.items()):
                return False
        return True

    def _too_much(self, queue: str, comes: Amounts, gone: list[str]) -> Iterator[str]:
        for step in self.path(queue):
            for name, most in self.bounds(step, "max").items():
                if comes.get(name) and self.used(step, name, gone) + comes[name] > most:
                    yield step


def _amount(pod: Dict) -> Amounts:
    asked = [amounts(one.get("resources", {}).get("requests")) for one in pod["spec"]["containers"]]
    return {name: units for name, units in _sum([{"pods": Fraction(1)}, *asked]).items() if units}


def _sum(several: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for one in several:
        for name, units in one.items():
            total[name] = total.get(name, Fraction(0)) + units
    return total


def _hashable(places: Iterable[tuple[str, Amounts]]) -> list[tuple[str, tuple[tuple[str, Fraction], ...]]]:
    return [(where, tuple(sorted(asked.items()))) for where, asked in places]
