"""What users, groups and applications may have of queues: `limits`, and `maxapplications` of a queue.

1. A limit of a queue holds for all that its user, or group, has in that queue and below it. Those of the partition are
   those of root.
2. Of the limits of one queue that name users, the first that names the user holds; else the first for all users, `*`.
   It is each user's own: two users of one limit share nothing.
3. A pod counts for one group at most: the first, from its own queue up and as they are written, that a limit names and
   that its user is in; else for all groups, `*`, where a limit on the way says so. What members of a group have counts
   together.
4. An application runs in a queue as long as one of its pods is on a node there, or was promised a place. One that does
   not run yet starts only where that leaves no more of them than allowed. Pods of a namespace that name no application
   are one, as YuniKorn has it.
5. Nobody is preempted for a limit: who is held by one waits until the same user, group or queue has less.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from reprieve.engine.queue_claims import AtLimit, TooManyApplications
from reprieve.manifests.yunikorn import EVERYBODY, Limit
from reprieve.model.names import Key
from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.queue.pods import application
from reprieve.policies.queue.users import User, user_of
from reprieve.world import PodFacts


class Whose(NamedTuple):
    """Whom something counts for."""

    kind: Literal["user", "group", "queue"]
    name: str


ALL = Whose("queue", "")
"""Everybody in a queue."""


class LimitedQueue:
    """What one queue allows, and what whoever is limited has of it."""

    def __init__(self, name: str, limits: tuple[Limit, ...], applications: int) -> None:
        self.name = name
        self.applications = applications
        self.users = _first_of(limits, "users")
        self.groups = _first_of(limits, "groups")
        self.used: dict[Whose, Counter[str]] = {}
        self.running: dict[Whose, Counter[str]] = {}
        """By application: how many of its pods are there."""

    def of_user(self, name: str) -> Limit | None:
        return self.users.get(name) or self.users.get(EVERYBODY)


def _first_of(limits: Iterable[Limit], which: str) -> dict[str, Limit]:
    found: dict[str, Limit] = {}
    for limit in limits:
        for name in getattr(limit, which):
            found.setdefault(name, limit)
    return found


class Bound(NamedTuple):
    """What one queue allows to one user, group or everybody."""

    queue: LimitedQueue
    whose: Whose
    resources: Resources
    applications: int
    """0: as many as there are."""


class UserLimits:
    """All limits of a tree, and what counts for them. Where nothing is limited there is nothing to keep."""

    def __init__(self) -> None:
        self._queues: dict[str, LimitedQueue] = {}
        self._bounds: dict[tuple[str, User], tuple[Bound, ...]] = {}
        self._counted: dict[Key, PodFacts] = {}

    def limit(self, queue: str, limits: tuple[Limit, ...], applications: int) -> None:
        """A queue that is there from now on, by its full name."""
        if limits or applications:
            self._queues[queue] = LimitedQueue(queue, limits, applications)

    def __bool__(self) -> bool:
        return bool(self._queues)

    # Whoever is there

    def put(self, facts: PodFacts, path: list[str]) -> None:
        """A pod is on a node, or was promised a place; `path` is from its queue up to root."""
        self._counted[facts.key] = facts
        self._count(facts, path, 1)

    def take(self, facts: PodFacts, path: list[str]) -> None:
        if self._counted.pop(facts.key, None) is not None:
            self._count(facts, path, -1)

    def _count(self, facts: PodFacts, path: list[str], sign: int) -> None:
        for bound in self.bounds(facts, path):
            used = bound.queue.used.setdefault(bound.whose, Counter())
            used.update({name: sign * units for name, units in facts.requests.items()})
            running = bound.queue.running.setdefault(bound.whose, Counter())
            name = counted_application(facts)
            running[name] += sign
            if not running[name]:
                del running[name]

    # Whoever waits

    def bounds(self, facts: PodFacts, path: list[str]) -> tuple[Bound, ...]:
        """What limits a pod, from its own queue up; users before groups before everybody."""
        user = user_of(facts.pod.metadata)
        known = self._bounds.get((path[0], user))
        if known is None:
            queues = [self._queues[name] for name in path if name in self._queues]
            known = self._bounds[path[0], user] = tuple(_bounds(queues, user))
        return known

    def in_the_way(self, facts: PodFacts, path: list[str]) -> list[AtLimit | TooManyApplications]:
        """Each limit that a pod would break, as things are."""
        own = self._counted.get(facts.key)
        return [claim for bound in self.bounds(facts, path) for claim in _broken(bound, facts, own)]


def counted_application(facts: PodFacts) -> str:
    """The application that a pod counts for, where applications are counted."""
    return application(facts) or f"yunikorn-{facts.key[0]}-autogen"


def _bounds(queues: list[LimitedQueue], user: User) -> Iterator[Bound]:
    group = _group(queues, user)
    for queue in queues:
        by_name = queue.of_user(user.name)
        if by_name is not None:
            yield _bound(queue, Whose("user", user.name), by_name)
        if group in queue.groups:
            yield _bound(queue, Whose("group", group), queue.groups[group])
        if queue.applications:
            yield Bound(queue, ALL, NOTHING, queue.applications)


def _bound(queue: LimitedQueue, whose: Whose, limit: Limit) -> Bound:
    return Bound(queue, whose, limit.maxresources or NOTHING, limit.maxapplications)


def _group(queues: list[LimitedQueue], user: User) -> str:
    """The group that a user counts for, in queues from the lowest up; empty: none."""
    named = (group for queue in queues for group in queue.groups if group in user.groups)
    everybody = EVERYBODY if any(EVERYBODY in queue.groups for queue in queues) else ""
    return next(named, everybody)


def _broken(bound: Bound, facts: PodFacts, own: PodFacts | None) -> Iterator[AtLimit | TooManyApplications]:
    """`own`: the pod as it counts already, because it was promised a place."""
    kind, whose = bound.whose
    used = bound.queue.used.get(bound.whose, Counter())
    for name, most in bound.resources.items():
        needed, has = facts.requests.of(name), used[name] - (own.requests.of(name) if own is not None else 0)
        if needed and has + needed > most:
            yield AtLimit(
                queue=bound.queue.name, holder=kind, name=whose, resource=name, used=has, maximum=most, needed=needed
            )
    running, app = bound.queue.running.get(bound.whose, Counter()), counted_application(facts)
    if bound.applications and app not in running and len(running) >= bound.applications:
        yield TooManyApplications(
            queue=bound.queue.name,
            holder=kind,
            name=whose,
            application=app,
            running=len(running),
            maximum=bound.applications,
        )
