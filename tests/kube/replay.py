"""What kube-scheduler knew when it decided, made again from its log and from the writes that the API server took.

1. It is told of pods in the order of their writes. Each line on a pod that it was told of says how far it has come: all
   writes up to that one are known to it, and nothing of what came later.
2. What it has decided itself it knows at once: a pod that it gave a node is there, one that it nominated is nominated,
   long before the write arrives.
3. It takes a picture of its nodes at some moment of an attempt, and asks who is nominated all along. So there are some
   views of which one is the one it had: from the beginning of the attempt to its end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import reprieve
from tests.kube.recorder import Write
from tests.kube.scheduler_log import ATTEMPT, BEGINS, CHOSEN, NOMINATES, PREEMPTS, SEES, SKIPS, TELLS, VICTIMS, Line

SAME, EQUALS, OTHER = "the same", "among equals", "other"
_OLDEST, _NEWEST = "2000-01-01T00:00:00Z", "2100-01-01T00:00:00Z"
Objects = list[Mapping[str, Any]]


class View(NamedTuple):
    """How far it has come in the writes of pods, and what it knows beyond these."""

    known: int
    assumed: tuple[tuple[str, str], ...]
    nominated: tuple[tuple[str, str], ...]


@dataclass
class Attempt:
    """One time that it decided for a pod; node and victims are its answer."""

    pod: str
    at: str
    views: list[View]
    node: str = ""
    preempts: bool = False
    victims: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    """Those of them that did not leave already."""
    announced: int = 0
    """So many victims, of whom it may not have told all yet."""


class Replay:
    def __init__(self, namespace: str, writes: Iterable[Write], log: Iterable[Line]) -> None:
        self._namespace = namespace
        self._others = [write for write in writes if write.key[0] != "Pod"]
        self._pods = [write for write in writes if write.key[0] == "Pod"]
        self._writes_of: dict[str, list[int]] = defaultdict(list)
        for index, write in enumerate(self._pods):
            self._writes_of[write.key[1]].append(index)
        self._told: dict[str, int] = {}
        self._known = -1
        self._assumed: dict[str, str] = {}
        self._nominated: dict[str, str] = {}
        self.attempts: list[Attempt] = []
        self._last: dict[str, Attempt] = {}
        self._preempting: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
        """The attempts of each pod that made others go from a node."""
        self._current: Attempt | None = None
        for line in log:
            self._take(line)

    def _take(self, line: Line) -> None:
        pod = line.name()
        if line.says in SEES:
            self._see(pod, line.says)
        elif line.says == ATTEMPT:
            self._current = self._last[pod] = Attempt(pod, line.at, [self._view])
            self.attempts.append(self._current)
        elif line.says in (CHOSEN, PREEMPTS):
            self._decide(pod, line)
        elif line.says == NOMINATES and "nominatedNodeName" in line.fields:
            self._nominate(pod, line.fields["nominatedNodeName"])
        elif line.says == BEGINS:
            self._attempts_at(line)[-1].announced = int(line.fields["numVictims"])
        elif line.says in VICTIMS:
            self._take_victim(self._attempt_with(line), line)
        if self._current is not None and self._current.views[-1] != self._view:
            self._current.views.append(self._view)

    @property
    def _view(self) -> View:
        return View(self._known, tuple(self._assumed.items()), tuple(self._nominated.items()))

    def _see(self, pod: str, says: str) -> None:
        """The next write of that pod of which a line of this kind can be."""
        scheduled, gone = "unscheduled" not in says, says.startswith("Delete")
        for index in self._writes_of[pod]:
            write = self._pods[index]
            if index <= self._told.get(pod, -1) or _is_over(write) != gone or _is_scheduled(write) != scheduled:
                continue
            before = self._told.get(pod)
            self._told[pod] = index
            self._known = max(self._known, index)
            self._assumed.pop(pod, None)
            self._renominate(pod, self._pods[before] if before is not None else None, write)
            return

    def _renominate(self, pod: str, before: Write | None, now: Write) -> None:
        old, new = (_nominated(write) if write is not None else "" for write in (before, now))
        if now.gone or _is_scheduled(now):
            self._nominated.pop(pod, None)
        elif old or new:
            self._nominate(pod, new)

    def _nominate(self, pod: str, node: str) -> None:
        self._nominated.pop(pod, None)
        if node:
            self._nominated[pod] = node

    def _decide(self, pod: str, line: Line) -> None:
        attempt, self._current = self._last[pod], None
        attempt.preempts = line.says == PREEMPTS
        if attempt.preempts:
            attempt.node = line.fields["node"]
            self._preempting[pod, attempt.node].append(attempt)
            self._nominate(pod, attempt.node)
        else:
            attempt.node = line.fields["chosenNode"]
            self._assumed[pod] = attempt.node
            self._nominated.pop(pod, None)

    def _take_victim(self, attempt: Attempt, line: Line) -> None:
        victim = line.name(VICTIMS[line.says])
        attempt.victims.add(victim)
        if line.says == TELLS:
            attempt.told.add(victim)

    def _attempts_at(self, line: Line) -> list[Attempt]:
        return self._preempting[line.name("preemptor"), line.fields["node"]]

    def _attempt_with(self, line: Line) -> Attempt:
        """Victims may be told while the next attempt goes on already; those that leave anyway are named at once."""
        there = self._attempts_at(line)
        late = [each for each in there if len(each.victims) < each.announced and line.says != SKIPS]
        return (late or there[-1:])[0]

    # What is decided over such a view

    def explain(self, attempt: Attempt) -> str:
        """Whether Reprieve decides as kube-scheduler did, over one of the views that it may have had."""
        views = [self._objects(view, attempt.pod) for view in attempt.views]
        if any(self._decides_so(attempt, objects) for objects in views):
            return SAME
        # Among equals kube-scheduler picks at random. Reprieve ends on age: its own choice must be one of these equals.
        return EQUALS if any(self._decides_so(attempt, _in_favour_of(attempt, each)) for each in views) else OTHER

    def unseen(self, attempt: Attempt) -> int:
        """How many of its own decisions it knew of, for which nothing was written yet when it began to decide."""
        view = attempt.views[0]
        last = {write.key[1]: write for write in self._pods[: view.known + 1]}
        unwritten = [pod for pod, node in view.nominated if pod in last and _nominated(last[pod]) != node]
        return len(view.assumed) + len(unwritten)

    def _decides_so(self, attempt: Attempt, objects: Objects) -> bool:
        unit = f"Pod/{self._namespace}/{attempt.pod}"
        own = reprieve.plan(objects, preemptor=unit).decision
        if not attempt.preempts:
            return own.outcome == "Fits"  # on which of the nodes that it fits on is a matter of scores
        victims = {victim["unit"].rpartition("/")[2] for victim in own.victims}
        return (own.outcome, own.placement.get(unit), victims) == ("Preempt", attempt.node, attempt.victims)

    def _objects(self, view: View, deciding: str) -> Objects:
        """`deciding`: the pod that it decides for. Whether that one waits for somebody is read from what is written."""
        version = self._pods[view.known].version
        found = {write.key: write.data for write in self._others if write.version <= version and not write.gone}
        assumed, nominated = dict(view.assumed), dict(view.nominated)
        for (kind, name), write in {write.key: write for write in self._pods[: view.known + 1]}.items():
            if not write.gone:
                promised = _nominated(write) if name == deciding else nominated.get(name, "")
                found[kind, name] = _with(write.data, assumed.get(name, ""), promised)
        return list(found.values())


def _in_favour_of(attempt: Attempt, objects: Objects) -> Objects:
    """The same, where the node is older than all others, and the victims are younger."""
    ages = {("Node", attempt.node): _OLDEST} | {("Pod", victim): _NEWEST for victim in attempt.victims}
    return [
        {**each, "metadata": {**each["metadata"], "creationTimestamp": age}}
        if (age := ages.get((each["kind"], each["metadata"]["name"])))
        else each
        for each in objects
    ]


def _with(pod: Mapping[str, Any], node: str, nominated: str) -> Mapping[str, Any]:
    spec = {**pod["spec"], "nodeName": node} if node else pod["spec"]
    if spec.get("nodeName"):
        return {**pod, "spec": spec}
    return {**pod, "spec": spec, "status": {**pod["status"], "nominatedNodeName": nominated}}


def _is_scheduled(write: Write) -> bool:
    return bool(write.data["spec"].get("nodeName"))


def _is_over(write: Write) -> bool:
    """Pods that have ended are not told of any more."""
    return write.gone or write.data["status"].get("phase") in ("Succeeded", "Failed")


def _nominated(write: Write) -> str:
    return str(write.data["status"].get("nominatedNodeName", ""))
