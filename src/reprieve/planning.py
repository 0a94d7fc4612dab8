"""From manifests to decisions: the one entrance that the command line, the case files and Python programs share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from reprieve.configuration import Settings, configure
from reprieve.engine.plan import Plan
from reprieve.objects import kueue, yunikorn
from reprieve.objects.admission import admit_all
from reprieve.objects.core import Node
from reprieve.objects.karmada import ResourceBinding
from reprieve.objects.loading import Loaded, load, load_objects, load_text
from reprieve.objects.pods import Pod
from reprieve.objects.problems import Finding, InvalidInput, Origin, Problem, ReprieveError, did_you_mean, found
from reprieve.objects.registry import KINDS
from reprieve.policies.pod import PodPolicy
from reprieve.resources import Resources
from reprieve.result import Decision, Result, decision
from reprieve.world import PodFacts, World, microseconds

Preemptor = str | Mapping[str, Any]


class Unsupported(ReprieveError):
    """What is asked for belongs to a policy that this version does not have."""


def plan(
    objects: str | Path | Iterable[Any],
    *,
    preemptor: Preemptor | None = None,
    now: str | datetime | None = None,
    config: Mapping[str, Any] | None = None,
    feature_gates: Mapping[str, bool] | None = None,
    assignment: Mapping[str, str] | None = None,
) -> Result:
    """Who has to make way?

    `objects` is a path, a text, or manifests as plain data. With `preemptor`, the decision for that unit
    (`Pod/default/a`, or a mapping with kind, namespace and name); without, one scheduling cycle over all that is
    pending. Raises `InvalidInput` with everything that is wrong.
    """
    return decide(
        read(objects), preemptor=preemptor, now=now, settings=configure(config, feature_gates), assignment=assignment
    )


def read(objects: str | Path | Iterable[Any]) -> Loaded:
    """Manifests from a path, a text, or plain data."""
    if isinstance(objects, Path):
        return load([str(objects)])
    if isinstance(objects, str):
        looks_like_text = "\n" in objects or objects.lstrip().startswith(("{", "["))
        return load_text(objects) if looks_like_text else load([objects])
    return load_objects(objects)


def decide(
    loaded: Loaded,
    *,
    settings: Settings,
    preemptor: Preemptor | None = None,
    now: str | datetime | None = None,
    assignment: Mapping[str, str] | None = None,
) -> Result:
    """Decide over what was read. What admission would refuse is a warning here: live clusters contain it."""
    planner = Planner(usable(loaded), settings, moment_of(now))
    if assignment:
        raise Unsupported("a forced assignment needs the quota policy, which this version does not have")
    if preemptor is None:
        return planner.cycle()
    return planner.single(preemptor)


def usable(loaded: Loaded) -> Loaded:
    """What was read, or every reason why it could not be."""
    unread = [problem for problem in loaded.errors if problem.stage == "read"]
    if unread:
        raise InvalidInput(unread)
    return loaded


def moment_of(now: str | datetime | None) -> datetime:
    if now is None:
        return datetime.now(UTC)
    if isinstance(now, str):
        try:
            now = msgspec.convert(now, datetime)
        except msgspec.ValidationError:
            finding = Finding("now", found(now), "it must be a time such as 2026-01-01T12:00:00Z")
            raise InvalidInput([finding.at(Origin("the question", 0), "", "read")]) from None
    return now if now.tzinfo else now.replace(tzinfo=UTC)


class Planner:
    """One question about one world."""

    def __init__(self, loaded: Loaded, settings: Settings, now: datetime) -> None:
        self.world = World(loaded.objects)
        self.settings = settings
        self.now = now
        self._moment = microseconds(now)
        self._pods = PodPolicy(self.world, settings)
        admission = [problem for problem in loaded.problems if problem.stage == "admission"]
        problems = [*admission, *admit_all(loaded.entries), *survey(loaded, self.world)]
        self.warnings = [*loaded.warnings, *(problem.as_warning() for problem in problems)]

    def single(self, preemptor: Preemptor) -> Result:
        """The decision for one unit."""
        self._refuse_foreign(preemptor)
        facts = self.preemptor(preemptor)
        made = self.decide(facts)
        return self._result([decision(made)], priorities=_priorities([facts]))

    def cycle(self) -> Result:
        """One pass over all that is pending, the most important first; later ones see what earlier ones were given."""
        pending = sorted(self.world.pending(), key=lambda facts: (-facts.priority, facts.created, facts.key))
        self._refuse_foreign(None)
        decisions: list[Decision] = []
        admitted: list[str] = []
        left: list[str] = []
        for facts in pending:
            made = self.decide(facts)
            decisions.append(decision(made))
            (admitted if made.outcome == "Fits" else left).append(facts.unit)
            commit(self.world, facts, made)
        order = [facts.unit for facts in pending]
        return self._result(decisions, admitted, left, order, _priorities(pending))

    def decide(self, facts: PodFacts) -> Plan:
        return self._pods.decide(facts, self._moment)

    def pod(self, unit: Preemptor) -> PodFacts:
        """The pod of that name."""
        kind, namespace, name = unit_of(unit)
        facts = self.world.pods.get((namespace, name))
        if kind != "Pod" or facts is None:
            known = [other.unit for other in self.world.pods.values()]
            asked = f"{kind}/{namespace}/{name}"
            raise question(f"there is no {asked} among what was read", did_you_mean(asked, known))
        return facts

    def preemptor(self, unit: Preemptor) -> PodFacts:
        """The pod of that name, if there is anything to decide for it."""
        facts = self.pod(unit)
        if facts.node:
            raise question(f"{facts.unit} already runs on {facts.node}: there is nothing to decide")
        if facts.pod.finished or facts.pod.terminating:
            raise question(f"{facts.unit} is at its end: there is nothing to decide")
        if facts.pod.spec.scheduling_gates:
            gates = ", ".join(gate.name for gate in facts.pod.spec.scheduling_gates)
            raise question(f"{facts.unit} is held by scheduling gates ({gates}): there is nothing to decide yet")
        return facts

    def _refuse_foreign(self, preemptor: Preemptor | None) -> None:
        """Worlds of designs whose policy is not here are refused, rather than answered by the wrong one."""
        if preemptor is not None and unit_of(preemptor)[0] != "Pod":
            raise Unsupported(f"no policy of this version decides for a {unit_of(preemptor)[0]}")
        for kind, policy in (
            (yunikorn.QueueConfiguration, "queue"),
            (kueue.QuotaWorkload, "quota"),
            (ResourceBinding, "federation"),
        ):
            if any(True for _ in self.world.all(kind)):
                raise Unsupported(f"this world needs the {policy} policy, which this version does not have")
        if preemptor is None and self._gangs_wait():
            raise Unsupported("this world needs the podgroup policy, which this version does not have")

    def _gangs_wait(self) -> bool:
        specs = [facts.pod.spec for facts in self.world.pending()]
        generic = self.settings.gate("GenericWorkload")
        return any(spec.workload_ref or (generic and spec.scheduling_group) for spec in specs)

    def _result(
        self,
        decisions: list[Decision],
        admitted: list[str] | None = None,
        left: list[str] | None = None,
        order: list[str] | None = None,
        priorities: dict[str, dict[str, Any]] | None = None,
    ) -> Result:
        now = self.now.astimezone(UTC).isoformat().replace("+00:00", "Z")
        return Result(now, decisions, admitted or [], left or [], order or [], priorities or {}, self.warnings)


def commit(world: World, facts: PodFacts, made: Plan) -> None:
    """What a cycle does with a plan, in the world it looks at: victims are gone, the place is taken or held."""
    node = made.placement.get(facts.unit)
    if node is None:
        return
    for victim in made.victims:
        _, namespace, name = victim.unit.split("/")
        world.delete(Pod, name, namespace)
    pod = facts.pod
    if made.outcome == "Fits":
        spec = msgspec.structs.replace(pod.spec, node_name=node)
        world.put(msgspec.structs.replace(pod, spec=spec))
    else:
        status = msgspec.structs.replace(pod.status, nominated_node_name=node)
        world.put(msgspec.structs.replace(pod, status=status))


def unit_of(preemptor: Preemptor) -> tuple[str, str, str]:
    """Kind, namespace and name of the unit that is asked about."""
    if isinstance(preemptor, Mapping):
        kind, name = preemptor.get("kind"), preemptor.get("name")
        if not isinstance(kind, str) or not isinstance(name, str):
            raise question("the preemptor needs a kind and a name")
        return kind, str(preemptor.get("namespace", "")), name
    parts = preemptor.split("/")
    if len(parts) not in (2, 3, 4) or not parts[0] or not parts[-1]:
        raise question(f"{preemptor!r} names no unit", "it must be KIND/NAMESPACE/NAME, such as Pod/default/a")
    if len(parts) == 2:
        parts.insert(1, "default")
    kinds = {kind.lower(): kind for kind in KINDS}
    return kinds.get(parts[0].lower().removesuffix("s"), parts[0]), parts[1], "/".join(parts[2:])


def question(message: str, allowed: str = "") -> InvalidInput:
    return InvalidInput([Problem(origin=Origin("--for", 0), message=message, allowed=allowed)])


def _priorities(units: Iterable[PodFacts]) -> dict[str, dict[str, Any]]:
    return {facts.unit: {"priority": facts.priority, "preemptionPolicy": facts.preemption_policy} for facts in units}


def survey(loaded: Loaded, world: World) -> list[Problem]:
    """What is odd about a world as a whole, though each object may be well: it is decided over all the same."""
    origins = {entry.unit: entry.origin for entry in loaded.entries if isinstance(entry.manifest, (Pod, Node))}
    used: dict[str, Resources] = {}
    problems = []
    for facts in world.pods.values():
        if facts.node and world.get(Node, facts.node) is None:
            finding = Finding("$.spec.nodeName", f"there is no node {facts.node}", "the pod is not counted anywhere")
            problems.append(finding.at(origins[facts.unit], facts.unit, "admission"))
        elif facts.node:
            used[facts.node] = used.get(facts.node, Resources()) + facts.requests
    for node in world.all(Node):
        over = (used.get(node.name, Resources()) - node.allocatable).positive()
        if over:
            amounts = ", ".join(f"{text} {name}" for name, text in over.to_manifest().items())
            finding = Finding("$.status.allocatable", f"its pods use {amounts} more than it has", "nothing fits there")
            problems.append(finding.at(origins[f"Node//{node.name}"], f"Node//{node.name}", "admission"))
    return problems
