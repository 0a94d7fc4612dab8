"""Trying out where the members of an application could go: in the world, and everything is taken back.

Queues and nodes follow the world, so that each member sees what those before it were given, and what their victims
left. What the world was before, it is afterwards.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Self

import msgspec

from reprieve.engine.arrays import Mask
from reprieve.engine.claims import Claim
from reprieve.engine.improvement import Improved
from reprieve.engine.nodes.gang_placement import GangPlacer
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.nodes.trial import Gang, Trial
from reprieve.engine.nodes.view import NodeView
from reprieve.engine.plan import Plan, Victim
from reprieve.manifests.pods import Pod
from reprieve.model.names import Key, UnitName
from reprieve.policies.queue.task_groups import Application
from reprieve.policies.queue.tree import QueueNode
from reprieve.world import PodFacts, World

LOWEST = -(2**62)
"""Nominated pods of all priorities count as present."""


class WorldTrial:
    """Pods that come, go and move for as long as it lasts."""

    def __init__(self, world: World, sync: Callable[[], None]) -> None:
        """`sync`: has all that follows the world catch up with it."""
        self._world = world
        self._sync = sync
        self._before: dict[Key, Pod | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for (namespace, name), pod in self._before.items():
            if pod is None:
                self._world.delete(Pod, name, namespace)
            else:
                self._world.put(pod)
        self._sync()

    def place(self, facts: PodFacts, node: str) -> None:
        self._put(msgspec.structs.replace(facts.pod, spec=msgspec.structs.replace(facts.pod.spec, node_name=node)))

    def set_aside(self, promised: Iterable[PodFacts]) -> None:
        """What pods were promised does not count."""
        for facts in promised:
            if facts.nominated:
                status = msgspec.structs.replace(facts.pod.status, nominated_node_name="")
                self._put(msgspec.structs.replace(facts.pod, status=status))

    def take(self, key: Key) -> None:
        self._remember(key)
        self._world.delete(Pod, key[1], key[0])

    def _put(self, pod: Pod) -> None:
        self._remember((pod.namespace, pod.name))
        self._world.put(pod)

    def _remember(self, key: Key) -> None:
        known = self._world.pods.get(key)
        self._before.setdefault(key, known.pod if known is not None else None)


class QueueGangPlacer(GangPlacer):
    """Places all members of an application on nodes, as a single pod of a queue finds them."""

    def __init__(self, ledger: NodeLedger, application: Application, domain: Mask) -> None:
        members = list(application.members)
        super().__init__(ledger, Gang(application.unit, members, len(members), application.leader.priority), domain)

    def view(self, facts: PodFacts) -> NodeView:
        return self._ledger.view(facts, priority=LOWEST, vacated=True, within=self.domain, apart_from=self._keys)

    def everybody(self) -> dict[UnitName, str]:
        """A place for each of them, and nobody leaves; nothing: there is none for all."""
        with Trial(self.table) as trial:
            placed = self.place(trial, None)
            return trial.placement() if placed == len(self.gang.members) else {}


class FoundPlaces(NamedTuple):
    """Where each member goes, who has to leave for that, and who leaves already and is waited for."""

    placement: dict[UnitName, str]
    victims: list[Victim]
    waiting_for: list[UnitName]
    before: tuple[PodFacts, ...] = ()
    last: PodFacts | None = None
    """The last member that somebody has to leave for, and those that came before it."""


class Stuck(NamedTuple):
    """The first member for whom there is no place, and why, though those before it had theirs."""

    facts: PodFacts
    plan: Plan
    placed: int


class ApplicationView:
    """An application that is to start, at one moment."""

    def __init__(self, application: Application, queue: QueueNode, now: int) -> None:
        self.application = application
        self.queue = queue
        self.now = now
        self.limited: Sequence[Claim] = ()
        self.found: FoundPlaces | None = None
        self.stuck: Stuck | None = None
        self.improved: Improved | None = None
        """What the design's own order came to, where less was found."""

    @property
    def unit(self) -> UnitName:
        return self.application.unit

    @property
    def until(self) -> int | None:
        """When time alone changes the answer; None: that is over, and it is promised its places."""
        return self.application.deadline if self.now < self.application.deadline else None
