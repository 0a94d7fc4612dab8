"""Why a shadow came to another answer than kube-scheduler, told from what kube-scheduler knew when it decided."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any, NamedTuple

import msgspec

from tests.kube.replay import EQUALS, OTHER, SAME, Attempt, Replay
from tests.kube.rivals import Shadow

AGREED = ("agreed", "placed")
_CHOICE = ("equal_node", "equal_victims", "other_node", "other_victims")
"""Both preempted: which of the equals are taken can make such a difference."""
_NO_PREEMPTION = ("placed", "placed_elsewhere")


class Compared(NamedTuple):
    """One line of a shadow's history."""

    result: str
    pod: str
    node: str
    victims: frozenset[str]
    own: frozenset[str]


def compared(running: Shadow) -> list[Compared]:
    with closing(sqlite3.connect(f"{running.history.resolve().as_uri()}?mode=ro", uri=True)) as database:
        bodies = [msgspec.json.decode(body) for (body,) in database.execute("SELECT body FROM comparisons ORDER BY id")]
    return [_compared(body) for body in bodies]


def _compared(body: dict[str, Any]) -> Compared:
    names = [frozenset(unit.rpartition("/")[2] for unit in body[side]["victims"]) for side in ("other", "own")]
    (node,) = body["other"]["nodes"].values()
    return Compared(body["result"], body["unit"].rpartition("/")[2], node, *names)


class Explanations:
    """`faults` is empty where time or chance among equals explains everything."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self._verdicts = {id(each): replay.explain(each) for each in replay.attempts if each.node}
        self.preemptions = [each for each in replay.attempts if each.preempts]
        self.faults = [f"decides otherwise over the same: {each}" for each in replay.attempts if self._is_other(each)]

    def _is_other(self, attempt: Attempt) -> bool:
        return self._verdicts.get(id(attempt)) == OTHER

    def count(self, verdict: str) -> int:
        return sum(self._verdicts[id(each)] == verdict for each in self.preemptions)

    def of(self, one: Compared) -> str:
        """Why the two answers are not the same, in a sentence; it is a fault where kube-scheduler did nothing of it."""
        there = [each for each in self._replay.attempts if (each.pod, each.node) == (one.pod, one.node)]
        there = [each for each in there if one.victims == each.told]
        if not there:
            return self._of_several(one)
        if one.result in _CHOICE and any(self._verdicts[id(each)] == EQUALS for each in there):
            return "among equals: kube-scheduler picks at random"
        unseen = max(map(self._replay.unseen, there))
        return f"time: over what kube-scheduler knew it is the same; {unseen} of its decisions were not written yet"

    def _of_several(self, one: Compared) -> str:
        """It may have decided more than once for a pod on one node, and have written the same about it."""
        there = [each for each in self.preemptions if (each.pod, each.node) == (one.pod, one.node)]
        if len(there) > 1 and one.victims == set().union(*(each.told for each in there)):
            return f"{len(there)} decisions on that node, taken for one"
        self.faults.append(f"kube-scheduler decided nothing of the kind: {one}")
        return self.faults[-1]

    def confirm(self, one: Compared) -> None:
        """What is called agreed must be so: kube-scheduler chose these victims, too."""
        there = [each for each in self._replay.attempts if (each.pod, each.node) == (one.pod, one.node)]
        if one.result == "agreed" and not any(one.own <= each.victims for each in there if each.preempts):
            self.faults.append(f"called agreed, and is not: {one}")


def explain(running: Shadow, replay: Replay) -> Explanations:
    """Print why, for each disagreement."""
    found = Explanations(replay)
    for one in compared(running):
        if one.result in AGREED:
            found.confirm(one)
        elif one.result not in _NO_PREEMPTION:
            print(f"{one.pod}: {one.result}, {found.of(one)}")
    same, equals = found.count(SAME), found.count(EQUALS)
    print(f"Over what kube-scheduler knew: {same} of {len(found.preemptions)} preemptions the same, {equals} equal.")
    return found
