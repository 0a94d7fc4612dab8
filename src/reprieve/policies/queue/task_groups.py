"""Applications that start as a whole: YuniKorn's task groups.

1. The first pod of an application that defines task groups speaks for it. Until a pod of the application has a place,
   or has had one, its pods are not placed one by one: the least members of all its task groups get places together, or
   nobody does. All of them are in one queue.
2. A member is a pod that waits and names the group, the oldest first. For members that do not exist yet, because the
   application makes them later, placeholders get the places: pods that do nothing, and ask for what the group says.
   Pods beyond the least number, and of no group, wait until the application has started.
3. From its first pod on it waits no longer than the time-out. Then, if it was promised no places, its pods are placed
   one by one as ordinary ones (`Soft`), or it fails (`Hard`).
4. A pod of a group takes the place of a placeholder of that group, if it fits there; else it is an ordinary one. A
   placeholder that nobody has come for goes when the time-out has passed since it got its place.

All of that follows from the pods there are and the time: nothing has to be remembered.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from reprieve.engine.holds import hold_of
from reprieve.manifests.yunikorn import APPLICATION, TASK_GROUP_NAME, TASK_GROUPS
from reprieve.manifests.yunikorn_task_groups import (
    PARAMETERS,
    PLACEHOLDER,
    BadTaskGroups,
    Parameters,
    Style,
    TaskGroup,
    read_parameters,
    read_pod,
    read_task_groups,
)
from reprieve.model.names import Key, UnitName, unit_name
from reprieve.policies.queue.pods import application, required_node, stays_out
from reprieve.policies.queue.tree import QueueTree
from reprieve.world import NEVER, PodFacts, World

_SECOND = 1_000_000
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


class Application(NamedTuple):
    """An application with task groups that has not started."""

    unit: UnitName
    leader: PodFacts
    """Its first pod."""
    style: Style
    timeout: int
    """Seconds."""
    deadline: int
    """In microseconds since 1970."""
    members: tuple[PodFacts, ...]
    missing: Mapping[Key, dict[str, Any]]
    """Those of them that do not exist, as they would be made: placeholders."""
    others: tuple[PodFacts, ...]
    """Pods that wait for it to start."""

    @property
    def promised(self) -> bool:
        """Whether its places are held for it already. What one of its pods was promised alone, after the time-out, is
        no place of the application."""
        return any(facts.nominated and _goes_as_a_whole(facts) for facts in self.members)

    def timed_out(self, now: int) -> bool:
        return now >= self.deadline and not self.promised

    def has(self, facts: PodFacts) -> bool:
        return any(member.key == facts.key for member in self.members)


def task_group(facts: PodFacts) -> str:
    """The task group that a pod names; empty: none."""
    return facts.pod.metadata.annotations.get(TASK_GROUP_NAME, "")


def is_placeholder(facts: PodFacts) -> bool:
    return facts.pod.metadata.annotations.get(PLACEHOLDER) == "true"


def useless(facts: PodFacts) -> str:
    """Why the task groups that a pod defines have no effect; empty: they have, or it defines none."""
    said = facts.pod.metadata.annotations.get(TASK_GROUPS, "")
    try:
        groups = read_task_groups(said) if said else ()
    except BadTaskGroups as error:
        return str(error)
    if groups and not application(facts):
        return "the pod names no application"
    return _own_way(facts) if groups else ""


def application_unit(leader: PodFacts) -> UnitName:
    return unit_name(APPLICATION, leader.key[0], application(leader))


class TaskGroups:
    """The applications of one tree that wait to start as a whole."""

    def __init__(self, world: World, tree: QueueTree) -> None:
        self._world = world
        self.tree = tree
        self._known: dict[str, Application | None] = {}
        self._version = -1

    def of(self, facts: PodFacts, now: int) -> Application | None:
        """The application whose start a pod waits for; None: it goes by itself."""
        name = application(facts)
        if not name or not self.tree.applications.has_task_groups(name) or _own_way(facts):
            return None
        return self.named(name, now)

    def named(self, name: str, now: int) -> Application | None:
        """One that has not started, and is not to be placed pod by pod after its time-out."""
        found = self._not_started(name)
        return None if found is not None and found.style == "Soft" and found.timed_out(now) else found

    def gave_up(self, name: str, now: int) -> int:
        """After how many seconds one that has not started gave up to do so as a whole; 0: it did not."""
        found = self._not_started(name)
        return found.timeout if found is not None and found.timed_out(now) else 0

    def _not_started(self, name: str) -> Application | None:
        if self._version != self._world.version:
            self._known.clear()
            self._version = self._world.version
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def placeholders(self, facts: PodFacts) -> list[PodFacts]:
        """Those that keep places for pods of a pod's task group, the oldest first."""
        name = application(facts)
        if not name or not task_group(facts) or is_placeholder(facts):
            return []
        mates = (other for other in self.tree.applications.pods(name) if is_placeholder(other))
        own = (other for other in mates if task_group(other) == task_group(facts) and other.key[0] == facts.key[0])
        return sorted((other for other in own if other.node), key=_age)

    def _find(self, name: str) -> Application | None:
        pods = sorted(self.tree.applications.pods(name), key=_real_first)
        if self.tree.applications.has_run(name) or any(facts.node for facts in pods):
            return None
        together = [facts for facts in pods if not _own_way(facts)]
        defining = next((facts for facts in together if _groups(facts)), None)
        if defining is None or is_placeholder(together[0]):
            return None
        leader, said = together[0], read_parameters(defining.pod.metadata.annotations.get(PARAMETERS, ""))
        scheduler = leader.pod.spec.scheduler_name
        waiting = [facts for facts in together if facts.pending and facts.pod.spec.scheduler_name == scheduler]
        members, missing = self._members(defining, leader, sorted(waiting, key=_real_first))
        keys = {facts.key for facts in members}
        return Application(
            application_unit(leader),
            leader,
            said.style,
            said.timeout,
            leader.created + said.timeout * _SECOND,
            tuple(members),
            missing,
            tuple(facts for facts in waiting if facts.key not in keys),
        )

    def _members(
        self, defining: PodFacts, leader: PodFacts, waiting: list[PodFacts]
    ) -> tuple[list[PodFacts], dict[Key, dict[str, Any]]]:
        """Who is to start, with those who do not exist yet; and these alone, as they would be made."""
        members: list[PodFacts] = []
        missing: dict[Key, dict[str, Any]] = {}
        for group in _groups(defining):
            there = [facts for facts in waiting if task_group(facts) == group.name][: group.min_member]
            made = self._placeholders(group, defining, leader, group.min_member - len(there))
            members += [*there, *(self._facts(leader, manifest) for manifest in made.values())]
            missing |= made
        return members, missing

    def _placeholders(
        self, group: TaskGroup, defining: PodFacts, leader: PodFacts, count: int
    ) -> dict[Key, dict[str, Any]]:
        made: dict[Key, dict[str, Any]] = {}
        number = 0
        while len(made) < count:
            key = (leader.key[0], _name(leader, group, number))
            number += 1
            if key not in self._world.pods:
                made[key] = placeholder(key[1], group, defining, leader)
        return made

    def _facts(self, leader: PodFacts, manifest: dict[str, Any]) -> PodFacts:
        return PodFacts(read_pod(manifest), self._world.classes, leader.created)

    # Placeholders that are not needed

    def superfluous(self, now: int) -> tuple[list[PodFacts], int]:
        """Placeholders that nobody will come for any more, and when others will be such."""
        found: list[PodFacts] = []
        later = NEVER
        for name in self.tree.applications.with_task_groups:
            pods = self.tree.applications.pods(name)
            kept = [facts for facts in pods if is_placeholder(facts) and not facts.pod.terminating]
            alone = len(kept) > 0 and all(is_placeholder(facts) for facts in pods)
            reserving = self.named(name, now) if kept else None
            for facts in kept:
                until = -1 if alone else _needed_until(facts, reserving)
                found += [facts] if until <= now else []
                later = min(later, until) if until > now else later
        return sorted(found, key=_age), later


def _needed_until(placeholder: PodFacts, reserving: Application | None) -> int:
    """One that has a place until its time is over; one that waits as long as its application waits with it."""
    if placeholder.node:
        since = placeholder.scheduled if placeholder.scheduled != NEVER else placeholder.created
        return since + parameters(placeholder).timeout * _SECOND
    return NEVER if reserving is not None and reserving.has(placeholder) else -1


def _groups(facts: PodFacts) -> tuple[TaskGroup, ...]:
    said = facts.pod.metadata.annotations.get(TASK_GROUPS, "")
    try:
        return read_task_groups(said) if said else ()
    except BadTaskGroups:
        return ()


def parameters(facts: PodFacts) -> Parameters:
    return read_parameters(facts.pod.metadata.annotations.get(PARAMETERS, ""))


def _goes_as_a_whole(facts: PodFacts) -> bool:
    hold = hold_of(facts.pod.metadata.annotations)
    return hold is not None and hold.of_application


def _own_way(facts: PodFacts) -> str:
    """Why a pod goes by itself, whatever its application does; empty: it does not. It defines no task groups then."""
    spec = facts.pod.spec
    if stays_out(facts):
        return "the pod stays out of queues"
    if spec.workload_ref is not None or spec.scheduling_group is not None:
        return "the pod goes with a PodGroup"
    return "the pod has to run on its node" if required_node(facts) is not None else ""


def _age(facts: PodFacts) -> tuple[int, Key]:
    return facts.created, facts.key


def _real_first(facts: PodFacts) -> tuple[bool, int, Key]:
    return is_placeholder(facts), *_age(facts)


def _name(leader: PodFacts, group: TaskGroup, number: int) -> str:
    """No longer than a name may be, and another one for every start of an application."""
    whole = f"{application(leader)}/{group.name}/{leader.unit}/{leader.pod.metadata.uid}"
    digest = hashlib.sha256(whole.encode()).hexdigest()[:6]
    parts = (_NOT_IN_NAMES.sub("-", part.lower())[:20].strip("-") for part in (application(leader), group.name))
    return "-".join(["tg", *parts, digest, str(number)])


def placeholder(name: str, group: TaskGroup, defining: PodFacts, leader: PodFacts) -> dict[str, Any]:
    """The manifest of a pod that keeps a place for one of a task group: in the queue of the first pod and with its
    priority. When that one is deleted it goes, too."""
    first, said = leader.pod.metadata, defining.pod.metadata.annotations
    kept = {key: said[key] for key in (TASK_GROUPS, PARAMETERS) if key in said}
    metadata = {
        "name": name,
        "namespace": leader.key[0],
        "labels": {**group.labels, **_about(first.labels), "placeholder": "true"},
        "annotations": {
            **group.annotations,
            **_about(first.annotations),
            **kept,
            TASK_GROUP_NAME: group.name,
            PLACEHOLDER: "true",
        },
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": leader.key[1], "uid": first.uid}],
    }
    spec = leader.pod.spec
    same = {"priorityClassName": spec.priority_class_name, "schedulerName": spec.scheduler_name}
    if not spec.priority_class_name:
        same |= {"priority": spec.priority, "preemptionPolicy": spec.preemption_policy}  # type: ignore[dict-item]
    asked = {**group.spec, **{key: value for key, value in same.items() if value is not None}, "restartPolicy": "Never"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": asked}


_ABOUT_QUEUES = ("yunikorn.apache.org/", "queue", "applicationId", "spark-app-selector")


def _about(said: dict[str, str]) -> dict[str, str]:
    """What says in which queue, for which application and whose it is."""
    own = (TASK_GROUP_NAME, TASK_GROUPS, PARAMETERS)
    return {key: value for key, value in said.items() if key.startswith(_ABOUT_QUEUES) and key not in own}
