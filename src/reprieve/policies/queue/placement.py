"""Which queue an application goes to, by the placement rules of its partition.

1. Rules are tried as they are written; the first that gives a queue decides. Where none does, its pods are refused.
2. `provided` gives the queue that the pod names, `user` one named after its user, `tag` one named after its namespace
   (`namespace`) or what that names as its parent queue (`namespace.parentqueue`), `fixed` the one that it says.
3. A name that begins with `root.` is whole. Any other one is a queue below the one that the rule's parent rule gives,
   or below root; a dot in it is written `_dot_`, but in that of a `fixed` rule.
4. A queue that is not configured is made only by a rule that may `create`. It is never made below a leaf, and nobody
   goes to a queue that has queues below it. A parent rule that gives a leaf ends the search.
5. A rule with a filter is for some users only, or for all but these.
6. Where there are no rules, the queue that a pod names is its own, configured or not; else `root.default`.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from reprieve.engine.queue_claims import RuleMissed
from reprieve.manifests.core import Namespace
from reprieve.manifests.yunikorn import QUEUE_NAME, REGULAR_EXPRESSION, ROOT, Filter, PlacementRule
from reprieve.model.patterns import pattern
from reprieve.policies.queue.pods import named_queue
from reprieve.policies.queue.users import User, user_of
from reprieve.world import PodFacts, World

PARENT_QUEUE = "yunikorn.apache.org/parentqueue"
"""The annotation of a namespace that names the queue above those of its applications."""
_BELOW_ROOT = f"{ROOT}."
Configured = Callable[[str], Literal["leaf", "parent"] | None]
"""What a queue is in the configuration, by its full name."""


class Unplaced(NamedTuple):
    """No rule gives a queue: what came of each."""

    rules: tuple[RuleMissed, ...]


class _Application(NamedTuple):
    """What rules look at."""

    named: str
    user: User
    namespace: str
    parent_queue: str


class _Missed(Exception):
    """A rule gives no queue; `final`: and no other one is tried."""

    def __init__(self, missed: RuleMissed, *, final: bool = False) -> None:
        super().__init__(missed.why)
        self.missed = missed
        self.final = final


class PlacementRules:
    """The rules of a partition, over its configured queues."""

    def __init__(self, rules: tuple[PlacementRule, ...], configured: Configured, world: World) -> None:
        self._rules = rules
        self._configured = configured
        self._world = world
        self._known: dict[_Application, str | Unplaced] = {}

    def place(self, facts: PodFacts) -> str | Unplaced:
        """The full name of a pod's queue."""
        application = self._application(facts)
        known = self._known.get(application)
        if known is None:
            known = self._known[application] = self._place(application)
        return known

    def _application(self, facts: PodFacts) -> _Application:
        meta, namespace = facts.pod.metadata, facts.key[0]
        found = self._world.get(Namespace, namespace)
        above = found.metadata.annotations.get(PARENT_QUEUE, "") if found is not None else ""
        return _Application(named_queue(meta), user_of(meta), namespace, above)

    def _place(self, application: _Application) -> str | Unplaced:
        missed: list[RuleMissed] = []
        for rule in self._rules:
            try:
                return self._leaf(rule, self._queue(rule, application))
            except _Missed as why:
                missed.append(why.missed)
                if why.final:
                    break
        return Unplaced(tuple(missed))

    def _leaf(self, rule: PlacementRule, queue: str) -> str:
        kind = self._configured(queue)
        if kind == "parent":
            raise _Missed(RuleMissed(rule.name, "NotLeaf", queue))
        above = queue
        while kind is None:  # root is always there
            above = above.rpartition(".")[0]
            kind = self._configured(above)
        if above != queue and kind == "leaf":
            raise _Missed(RuleMissed(rule.name, "BelowLeaf", queue), final=True)
        return queue

    def _queue(self, rule: PlacementRule, application: _Application) -> str:
        """The queue that a rule gives, which may not exist yet."""
        name = _name(rule, application)
        if not name:
            raise _Missed(RuleMissed(rule.name, "NothingNamed", rule.value))
        if not allows(rule.filter, application.user):
            raise _Missed(RuleMissed(rule.name, "Filtered", application.user.name))
        queue = self._qualified(rule, name, application)
        if not all(map(QUEUE_NAME.fullmatch, queue.split("."))):
            raise _Missed(RuleMissed(rule.name, "NoQueueName", queue))
        if not rule.create and self._configured(queue) is None:
            raise _Missed(RuleMissed(rule.name, "NoSuchQueue", queue))
        return queue

    def _qualified(self, rule: PlacementRule, name: str, application: _Application) -> str:
        lower = name.lower()
        if lower.startswith(_BELOW_ROOT) and rule.name.lower() != "user":
            return lower
        above = ROOT
        if rule.parent is not None:
            above = self._queue(rule.parent, application)
            if self._configured(above) == "leaf":
                raise _Missed(RuleMissed(rule.name, "ParentIsLeaf", above), final=True)
        return f"{above}.{lower if rule.name.lower() == 'fixed' else lower.replace('.', '_dot_')}"


def _name(rule: PlacementRule, application: _Application) -> str:
    match rule.name.lower():
        case "provided":
            return application.named
        case "user":
            return application.user.name
        case "fixed":
            return rule.value
    tags = {"namespace": application.namespace, "namespace.parentqueue": application.parent_queue}
    return tags.get(rule.value.lower(), "")


def allows(wanted: Filter, user: User) -> bool:
    """Whether a rule is for a user."""
    if not wanted.users and not wanted.groups:
        return wanted.type.lower() != "deny"
    among = _among(user.name, wanted.users) or any(_among(group, wanted.groups) for group in user.groups)
    return among != (wanted.type.lower() == "deny")


def _among(name: str, listed: tuple[str, ...]) -> bool:
    if len(listed) == 1 and REGULAR_EXPRESSION.search(listed[0]):
        return pattern(listed[0]).found_in(name)
    return name in listed
