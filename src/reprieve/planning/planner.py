"""From manifests to decisions: the one entrance that the command line, the case files and Python programs share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from reprieve import texts
from reprieve.configuration import Settings, configure
from reprieve.engine import preemption
from reprieve.engine.plan import Plan
from reprieve.manifests.admission import admit_all
from reprieve.manifests.loading import Loaded, load, load_objects, load_text
from reprieve.manifests.pods import Pod
from reprieve.manifests.problems import InvalidInput, in_order
from reprieve.planning.questions import PREEMPTOR, Preemptor, Unsupported, moment_of, no_such_unit, question, unit_of
from reprieve.planning.quota import forced_flavors, quota_cycle, quota_priorities
from reprieve.planning.result import Decision, Result, decision
from reprieve.planning.survey import survey
from reprieve.policies.deciding import Deciding, Waiting, pod_alone
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.queue.limits import quota_plans as quota_plans_of_queues
from reprieve.policies.quota.view import PendingWorkload
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.world import PodFacts, World, microseconds


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
    if preemptor is None:
        return planner.cycle()
    return planner.single(preemptor, assignment)


def usable(loaded: Loaded) -> Loaded:
    """What was read, or every reason why it could not be."""
    unread = [problem for problem in loaded.errors if problem.stage == "read"]
    if unread:
        raise InvalidInput(unread)
    return loaded


class Planner:
    """One question about one world."""

    def __init__(self, loaded: Loaded, settings: Settings, now: datetime) -> None:
        self.world = World(loaded.objects)
        self.settings = settings
        self.now = now
        self._moment = microseconds(now)
        self._deciding = Deciding(self.world, settings, self._moment)
        self._quota = self._deciding.quota
        self._federation = self._deciding.federation
        admission = [problem for problem in loaded.problems if problem.stage == "admission"]
        problems = [*admission, *admit_all(loaded.entries), *survey(loaded, self.world, settings)]
        self.warnings = in_order([*loaded.warnings, *(problem.as_warning() for problem in problems)])

    def single(self, preemptor: Preemptor, assignment: Mapping[str, Any] | None = None) -> Result:
        """The decision for one unit; `assignment` gives a quota workload its flavors."""
        binding = self.binding(preemptor)
        if binding is not None:
            priorities = binding_priorities([binding])
            return self._result([decision(self._federation.decide(binding))], priorities=priorities)
        workload = self.quota_workload(preemptor)
        if workload is not None:
            return self._quota_answer(workload, assignment)
        waiting = self.preemptor(preemptor)
        return self._result([self.answer(waiting, self.decide(waiting))], priorities=_priorities([waiting]))

    def cycle(self) -> Result:
        """One pass over all that is pending, the most important first; later ones see what earlier ones were given."""
        quota = quota_cycle(self._quota)
        pending = sorted(self.waiting(), key=lambda waiting: (-waiting.priority, waiting.created, waiting.unit))
        decisions: list[Decision] = list(quota.decisions)
        if self._deciding.queues is not None:
            for made in quota_plans_of_queues(self._deciding.queues):
                decisions.append(decision(made))
                commit(self.world, [], made)
        admitted: list[str] = list(quota.admitted)
        left: list[str] = list(quota.left)
        for waiting in pending:
            made = self.decide(waiting)
            decisions.append(self.answer(waiting, made))
            (admitted if made.outcome == "Fits" else left).append(waiting.unit)
            commit(self.world, waiting.pods, made)
        bindings = self._federation.pending()
        for binding in bindings:
            made = self._federation.decide(binding)
            decisions.append(decision(made))
            (admitted if made.outcome == "Fits" else left).append(binding.unit)
            self._federation.commit(made)
        order = [*quota.order, *(waiting.unit for waiting in pending), *(binding.unit for binding in bindings)]
        priorities = {
            **quota.priorities,
            **_priorities(pending),
            **binding_priorities(self._federation.federation.bindings),
        }
        result = self._result(decisions, admitted, left, order, priorities)
        return msgspec.structs.replace(result, flavors=quota.flavors, counts=quota.counts)

    def binding(self, preemptor: Preemptor, *, about: str = PREEMPTOR) -> BindingFacts | None:
        """The binding that is asked about; None: it is something else."""
        kind, namespace, name = unit_of(preemptor, about=about)
        if kind not in ("ResourceBinding", "ClusterResourceBinding"):
            return None
        facts = self._federation.federation.find((kind, namespace, name))
        if facts is None:
            known = [other.unit for other in self._federation.federation.bindings]
            raise no_such_unit(f"{kind}/{namespace}/{name}", known, about=about)
        return facts

    def quota_workload(self, preemptor: Preemptor, *, about: str = PREEMPTOR) -> WorkloadFacts | None:
        """The quota workload that is asked about; two APIs have a kind of that name, so a mapping may say which."""
        kind, namespace, name = unit_of(preemptor, about=about)
        version = str(preemptor.get("apiVersion", "")) if isinstance(preemptor, Mapping) else ""
        if kind != "Workload" or version.startswith("scheduling.k8s.io/"):
            return None
        return self._quota.quota.find((namespace, name))

    def _quota_answer(self, facts: WorkloadFacts, assignment: Mapping[str, Any] | None) -> Result:
        if facts.workload.status.admission is not None:
            raise question(texts.already_admitted(facts.unit, facts.workload.status.admission.cluster_queue))
        if not self._quota.quota.takes(facts):
            raise question(texts.no_queue(facts.unit, facts.workload.spec.queue_name))
        made = preemption.decide(self._quota, PendingWorkload(facts, forced_flavors(assignment)), self._moment)
        return self._result([decision(made)], priorities=quota_priorities([facts]))

    def waiting(self) -> list[Waiting]:
        """All that is pending: groups, and pods that belong to none."""
        return self._deciding.waiting()

    def decide(self, waiting: Waiting) -> Plan:
        return self._deciding.decide(waiting, self._moment)

    def answer(self, waiting: Waiting, made: Plan) -> Decision:
        return decision(made, never=waiting.never_preempts)

    def pod(self, unit: Preemptor, *, about: str = PREEMPTOR) -> PodFacts:
        """The pod of that name."""
        kind, namespace, name = unit_of(unit, about=about)
        if kind != "Pod":
            raise Unsupported(texts.no_policy_for(kind))
        facts = self.world.pods.get((namespace, name))
        if facts is None:
            known = [other.unit for other in self.world.pods.values()]
            raise no_such_unit(f"{kind}/{namespace}/{name}", known, about=about)
        return facts

    def preemptor(self, unit: Preemptor) -> Waiting:
        """The unit of that name, if there is anything to decide for it."""
        kind, namespace, name = unit_of(unit)
        if kind in ("PodGroup", "Workload"):
            return self._waiting_group(kind, namespace, name)
        facts = self.pod(unit)
        if not facts.pending:
            raise question(texts.nothing_to_decide(whereabouts(facts)))
        return pod_alone(facts)

    def _waiting_group(self, kind: str, namespace: str, name: str) -> Waiting:
        """A group by its name; of a Workload's groups, or a group's replicas, the first that waits."""
        asked = f"{kind}/{namespace}/{name}"
        groups = self._deciding.groups.waiting()
        for known, members in sorted(groups.items()):
            if known == asked or known.startswith(f"{asked}/"):
                return self._deciding.as_group(known, members)
        raise no_such_unit(asked, list(groups))

    def _result(
        self,
        decisions: list[Decision],
        admitted: list[str] | None = None,
        left: list[str] | None = None,
        order: list[str] | None = None,
        priorities: dict[str, dict[str, Any]] | None = None,
    ) -> Result:
        now = self.now.isoformat().replace("+00:00", "Z")
        return Result(now, decisions, admitted or [], left or [], order or [], priorities or {}, self.warnings)


def commit(world: World, pods: list[PodFacts], made: Plan) -> None:
    """What a cycle does with a plan, in the world it looks at: victims are gone, places are taken or held."""
    for victim in made.victims:
        _, namespace, name = victim.unit.split("/")
        world.delete(Pod, name, namespace)
    for facts in pods:
        node = made.placement.get(facts.unit)
        if node is None:
            continue
        pod = facts.pod
        if made.outcome == "Fits":
            spec = msgspec.structs.replace(pod.spec, node_name=node)
            world.put(msgspec.structs.replace(pod, spec=spec))
        else:
            status = msgspec.structs.replace(pod.status, nominated_node_name=node)
            world.put(msgspec.structs.replace(pod, status=status))


def whereabouts(facts: PodFacts) -> str:
    """What a pod is doing, in a sentence."""
    gates = [gate.name for gate in facts.pod.spec.scheduling_gates]
    finished, leaving = facts.pod.finished, facts.pod.terminating
    return texts.whereabouts(facts.unit, facts.node, finished=finished, leaving=leaving, gates=gates)


def binding_priorities(bindings: Iterable[BindingFacts]) -> dict[str, dict[str, Any]]:
    return {facts.unit: {"priority": facts.priority, "preemptionPolicy": facts.preemption_policy} for facts in bindings}


def _priorities(units: Iterable[Waiting]) -> dict[str, dict[str, Any]]:
    return {
        waiting.unit: {
            "priority": waiting.priority,
            "preemptionPolicy": "Never" if waiting.never_preempts else "PreemptLowerPriority",
        }
        for waiting in units
    }
