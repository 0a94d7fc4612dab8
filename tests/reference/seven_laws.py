"""The seven laws of YuniKorn's design, read off manifests: which of them a preemption breaks.

Written from the design alone. It knows a configuration, priority classes, nodes and pods as they stand when somebody
preempts; who is to leave, and where the preemptor is to go. What a queue uses is what runs in it and below it and does
not leave already; what is promised to pods that wait for their victims counts as used by those who ask after them.

1. Who opted out goes only where no other single pod would do. Opting out is up to the priority class.
2. No queue, common ancestors included, has less of its guarantee afterwards than before: without the victims, with the
   preemptor.
3. No victim is of the preemptor's application or queue.
4. Of each type that is asked for, the lowest queue up the preemptor's path that guarantees it is under its guarantee,
   without those who leave it; some type has such a queue. And inside a common ancestor, who has no guarantee of its own
   there takes only from queues that are over one of theirs.
5. Every queue of a victim below the common ancestor that guarantees anything is over its guarantee of something.
6. No victim is above the preemptor's priority, as queues on the way shift it and fence it.
7. No victim is outside the preemptor's fence.

Besides: every victim is needed; all are on the preemptor's node unless that has room; no victim must run on its node,
leaves already, or is where preemption is disabled; and of two that would do alone, the less important goes, and of
equals on a node the younger; or, where it is looked for less, the one that loses less work.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from fractions import Fraction
from typing import Any

Dict = dict[str, Any]
Amounts = dict[str, Fraction]

_UNITS = {
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGT", 1)},
}
_ALLOW = "yunikorn.apache.org/allow-preemption"


def amounts(said: Dict | None, *, milli: bool = False) -> Amounts:
    """Resources as somebody wrote them. A queue's `vcore` is cpu, and a number with an m is in thousandths."""
    found: Amounts = {}
    for name, value in (said or {}).items():
        text = str(value)
        digits = text.rstrip("mkMGTKi")
        units = Fraction(digits) * _UNITS[text[len(digits) :]]
        found["cpu" if milli and name == "vcore" else name] = units
    return found


class SevenLaws:
    """One moment of a world; `objects` are all manifests there are then.

    `now`, in microseconds, is given where it is looked for less than the order of the design finds.
    """

    def __init__(self, objects: Iterable[Dict], now: int | None = None) -> None:
        objects = list(objects)
        self.now = now
        text = next(item["data"]["queues.yaml"] for item in objects if item["kind"] == "ConfigMap")
        self.queues: dict[str, Dict] = {}
        self._read(json.loads(text)["partitions"][0]["queues"][0], "")
        pods = [item for item in objects if item["kind"] == "Pod"]
        self.pods = {pod["metadata"]["name"]: pod for pod in pods if not _over(pod)}
        self.nodes = {item["metadata"]["name"]: item for item in objects if item["kind"] == "Node"}
        self.classes = {item["metadata"]["name"]: item for item in objects if item["kind"] == "PriorityClass"}

    def _read(self, queue: Dict, parent: str) -> None:
        path = f"{parent}.{queue['name']}" if parent else queue["name"]
        self.queues[path] = queue
        for child in queue.get("queues", []):
            self._read(child, path)

    # A pod

    def queue(self, pod: str) -> str:
        labels: dict[str, str] = self.pods[pod]["metadata"]["labels"]
        return labels["queue"]

    def application(self, pod: str) -> str:
        labels: dict[str, str] = self.pods[pod]["metadata"]["labels"]
        return labels["applicationId"]

    def amount(self, pod: str) -> Amounts:
        """What it asks for; it is one pod, too."""
        total: Amounts = {"pods": Fraction(1)}
        for container in self.pods[pod]["spec"]["containers"]:
            for name, units in amounts(container.get("resources", {}).get("requests")).items():
                total[name] = total.get(name, Fraction(0)) + units
        return {name: units for name, units in total.items() if units}

    def class_of(self, pod: str) -> Dict | None:
        name = self.pods[pod]["spec"].get("priorityClassName", "")
        return self.classes.get(name)

    def priority(self, pod: str) -> int:
        own = self.pods[pod]["spec"].get("priority")
        of_class = self.class_of(pod)
        return int(own) if own is not None else int(of_class["value"]) if of_class else 0

    def opted_out(self, pod: str) -> bool:
        said = self.class_of(pod) or self.pods[pod]
        return str(said["metadata"].get("annotations", {}).get(_ALLOW)) == "false"

    def leads(self, pod: str) -> bool:
        """Whether it is the earliest of its application."""
        same = [name for name in self.pods if self.application(name) == self.application(pod)]
        first: str = min(same, key=lambda name: (self.created(name), name))
        return first == pod

    def created(self, pod: str) -> str:
        return str(self.pods[pod]["metadata"]["creationTimestamp"])

    def leaving(self, pod: str) -> bool:
        return "deletionTimestamp" in self.pods[pod]["metadata"]

    def node(self, pod: str) -> str:
        return str(self.pods[pod]["spec"].get("nodeName", ""))

    def fixed(self, pod: str) -> bool:
        owners: list[Dict] = self.pods[pod]["metadata"].get("ownerReferences", [])
        return any(owner["kind"] == "DaemonSet" for owner in owners)

    # Queues

    def path(self, queue: str) -> list[str]:
        """From a queue up to root."""
        steps = queue.split(".")
        return [".".join(steps[:length]) for length in range(len(steps), 0, -1)]

    def bounds(self, queue: str, kind: str) -> Amounts:
        return amounts(self.queues[queue].get("resources", {}).get(kind), milli=True)

    def guarantees(self, queue: str) -> int:
        """How many queues up its path guarantee anything."""
        return sum(bool(self.bounds(step, "guaranteed")) for step in self.path(queue))

    def says(self, queue: str, name: str) -> str:
        return str(self.queues[queue].get("properties", {}).get(name, ""))

    def used(self, queue: str, name: str, without: Iterable[str] = ()) -> Fraction:
        inside = (pod for pod in self.running() if pod not in without and queue in self.path(self.queue(pod)))
        return sum((self.amount(pod).get(name, Fraction(0)) for pod in inside), Fraction(0))

    def running(self) -> Iterator[str]:
        return (pod for pod in self.pods if self.node(pod) and not self.leaving(pod))

    def promised(self, asking: str, queue: str, name: str) -> Fraction:
        """What others wait for who have been given a place."""
        others = (pod for pod in self.waiting(asking) if queue in self.path(self.queue(pod)))
        return sum((self.amount(pod).get(name, Fraction(0)) for pod in others), Fraction(0))

    def waiting(self, asking: str) -> Iterator[str]:
        for pod, item in self.pods.items():
            if pod != asking and not self.node(pod) and item.get("status", {}).get("nominatedNodeName"):
                yield pod

    def below_common(self, queue: str, other: str) -> list[str]:
        """The queues on a path that are not on the other."""
        return [step for step in self.path(queue) if step not in self.path(other)]

    # The laws

    def broken(self, asking: str, gone: Iterable[str], node: str) -> list[str]:
        """What is wrong with a preemption."""
        gone = sorted(gone)
        found = [f"law 2: {queue} {name}" for queue, name in self._left_lower(asking, gone)]
        found += [f"law 4: {what}" for what in self._not_under(asking, gone)]
        for pod in gone:
            found += [f"{what}: {pod}" for what in self.protected(asking, pod)]
            if self.fits(asking, node, [other for other in gone if other != pod]):
                found.append(f"{pod} is not needed")
        if not self.fits(asking, node, gone):
            found.append(f"{asking} has no room on {node}")
        if not self._room(asking, node, []) and {self.node(pod) for pod in gone} != {node}:
            found.append("victims on other nodes")
        return found + list(self._better(asking, gone, node))

    def lawful(self, asking: str, gone: Iterable[str], node: str) -> bool:
        """Whether these could go by the laws, and would be enough."""
        gone = list(gone)
        return (
            self.fits(asking, node, gone)
            and not any(self._left_lower(asking, gone))
            and not any(self._not_under(asking, gone))
            and not any(any(self.protected(asking, pod)) for pod in gone)
        )

    def _left_lower(self, asking: str, gone: list[str]) -> Iterator[tuple[str, str]]:
        """Law 2."""
        for queue in {step for pod in gone for step in self.path(self.queue(pod))}:
            comes = self.amount(asking) if queue in self.path(self.queue(asking)) else {}
            for name, units in self.bounds(queue, "guaranteed").items():
                before = self.used(queue, name)
                after = self.used(queue, name, gone) + comes.get(name, 0)
                if min(after, units) < min(before, units):
                    yield queue, name

    def _not_under(self, asking: str, gone: list[str]) -> Iterator[str]:
        """Law 4."""
        claimed = []
        for name in self.amount(asking):
            path = self.path(self.queue(asking))
            lowest = next((queue for queue in path if name in self.bounds(queue, "guaranteed")), None)
            if lowest is not None:
                claimed.append(lowest)
                used = self.used(lowest, name, gone) + self.promised(asking, lowest, name)
                if used >= self.bounds(lowest, "guaranteed")[name]:
                    yield f"{lowest} is not under its guarantee of {name}"
        if not claimed:
            yield "nobody guarantees what is asked for"

    def protected(self, asking: str, pod: str) -> Iterator[str]:
        """Laws 3, 5, 6 and 7, the part of law 4 that is about a victim, and what protects it besides."""
        mine, theirs = self.queue(asking), self.queue(pod)
        if self.application(pod) == self.application(asking) or mine == theirs:
            yield "law 3"
        if not self._claims_below(asking, self.below_common(mine, theirs)) and not any(
            self._over(queue) for queue in self.below_common(theirs, mine)
        ):
            yield "law 4"
        if any(self.bounds(queue, "guaranteed") and not self._over(queue) for queue in self.below_common(theirs, mine)):
            yield "law 5"
        if self.priority(pod) > self._highest(asking, theirs):
            yield "law 6"
        if self._fence(mine) not in self.path(theirs):
            yield "law 7"
        said = [self.says(queue, "preemption.policy") for queue in self.path(theirs)[:-1]]
        if next(filter(None, said), "") == "disabled":
            yield "preemption is disabled"
        if self.fixed(pod) or self.leaving(pod) or not self.node(pod):
            yield "no candidate"

    def _claims_below(self, asking: str, queues: list[str]) -> bool:
        return any(name in self.bounds(queue, "guaranteed") for queue in queues for name in self.amount(asking))

    def _over(self, queue: str) -> bool:
        """Over its guarantee of something that it names."""
        return any(self.used(queue, name) > units for name, units in self.bounds(queue, "guaranteed").items())

    def _highest(self, asking: str, theirs: str) -> float:
        """Law 6: up to the common queue offsets are added, or stand alone at a fence; down from there taken off."""
        bound: float = self.priority(asking)
        for queue in self.below_common(self.queue(asking), theirs):
            offset = int(self.says(queue, "priority.offset") or 0)
            bound = offset if self.says(queue, "priority.policy") == "fence" else bound + offset
        for queue in reversed(self.below_common(theirs, self.queue(asking))):
            offset = int(self.says(queue, "priority.offset") or 0)
            if self.says(queue, "priority.policy") == "fence":
                return float("inf") if offset <= bound else float("-inf")
            bound -= offset
        return bound

    def _fence(self, queue: str) -> str:
        """Law 7: the first queue on the way up that is fenced; on root it has no effect."""
        fenced = (step for step in self.path(queue)[:-1] if self.says(step, "preemption.policy") == "fence")
        return next(fenced, "root")

    # Room

    def fits(self, asking: str, node: str, gone: Iterable[str]) -> bool:
        gone = list(gone)
        return self._room(asking, node, gone) and not any(self._over_maximum(asking, gone))

    def _room(self, asking: str, node: str, gone: Iterable[str]) -> bool:
        """On the node; who leaves already counts as gone, and who was promised a place there as present."""
        there = [pod for pod in self.running() if self.node(pod) == node and pod not in gone]
        there += [pod for pod in self.waiting(asking) if self.pods[pod]["status"]["nominatedNodeName"] == node]
        has = amounts(self.nodes[node]["status"]["allocatable"])
        taken = [self.amount(pod) for pod in there]
        return all(
            sum((one.get(name, Fraction(0)) for one in taken), units) <= has.get(name, Fraction(0))
            for name, units in self.amount(asking).items()
        )

    def _over_maximum(self, asking: str, gone: list[str]) -> Iterator[str]:
        for queue in self.path(self.queue(asking)):
            for name, most in self.bounds(queue, "max").items():
                asked = self.amount(asking).get(name, 0)
                if asked and self.used(queue, name, gone) + self.promised(asking, queue, name) + asked > most:
                    yield queue

    # Who goes first

    def rank(self, pod: str) -> tuple[bool, bool, tuple[int, ...]]:
        """Law 1, then importance: the less of it, the sooner it goes."""
        return self.opted_out(pod), self.leads(pod), self._importance(pod)

    def _importance(self, pod: str) -> tuple[int, ...]:
        """Its priority as root sees it, then as the queues below see it, down to its own."""
        seen = [self.priority(pod)]
        for queue in self.path(self.queue(pod))[:-1]:
            offset = int(self.says(queue, "priority.offset") or 0)
            seen.insert(0, offset if self.says(queue, "priority.policy") == "fence" else seen[0] + offset)
        return tuple(seen + [seen[-1]] * (8 - len(seen)))

    def _better(self, asking: str, gone: list[str], node: str) -> Iterator[str]:
        """Where one pod is to go, none goes before it that would do as well, here or on another node."""
        if len(gone) != 1 or self._room(asking, node, []):
            return
        (victim,) = gone
        for other in self.running():
            if other == victim or not self.lawful(asking, [other], self.node(other)):
                continue
            same = self.node(other) == node
            before = same and self.rank(other) == self.rank(victim) and self._before(other, victim)
            if self.rank(other) < self.rank(victim) or before:
                yield f"{other} goes before {victim}"

    def _before(self, other: str, victim: str) -> bool:
        """Of two that are as important: the younger goes, or the one that loses less."""
        if self.now is None:
            return self.created(other) > self.created(victim)
        return self._lost(other) < self._lost(victim)

    def _lost(self, pod: str) -> int:
        """Its largest share of anything, in millionths, for as long as it has been there, in seconds."""
        has = [amounts(node["status"]["allocatable"]) for node in self.nodes.values()]
        there_is = {name: sum(one.get(name, Fraction(0)) for one in has) for name in self.amount(pod)}
        share = max(units * 1_000_000 // there_is[name] for name, units in self.amount(pod).items() if there_is[name])
        assert self.now is not None
        return int(share) * ((self.now - _microseconds(self.created(pod))) // 1_000_000)


def _microseconds(moment: str) -> int:
    """Written as a time, or as microseconds already."""
    return int(moment) if moment.isdigit() else int(datetime.fromisoformat(moment).timestamp() * 1_000_000)


def _over(pod: Dict) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
