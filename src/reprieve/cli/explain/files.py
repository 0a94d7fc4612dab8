"""`reprieve explain` over files: why is it pending, would it be preempted, why not somebody else?"""

from __future__ import annotations

from collections.abc import Iterator

from reprieve import texts
from reprieve.cli.show import grouped, show_decision
from reprieve.configuration import Settings
from reprieve.manifests.loading import load
from reprieve.manifests.meta import Condition, find_condition
from reprieve.manifests.problems import Problem
from reprieve.planning.planner import Planner, usable, whereabouts
from reprieve.planning.questions import WHY_NOT, moment_of, question, unit_of
from reprieve.planning.result import Decision
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.policy import NAME as FEDERATION
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.workloads import whereabouts as quota_whereabouts
from reprieve.world import PodFacts


def explain_files(
    paths: list[str], unit: str, why_not: str | None, now: str | None, settings: Settings
) -> tuple[list[str], list[Problem]]:
    """The explanation in lines, and what is odd about the input."""
    planner = Planner(usable(load(paths)), settings, moment_of(now))
    lines = list(_lines(planner, unit, why_not))
    return lines, planner.warnings


Known = PodFacts | WorkloadFacts | BindingFacts


def _lines(planner: Planner, unit: str, why_not: str | None) -> Iterator[str]:
    facts = _known(planner, unit)
    if isinstance(facts, PodFacts) and facts.pending and why_not is None:
        unit = _whole(planner, facts)
    if why_not is not None:
        unlike_pods = planner.quota_workload(why_not, about=WHY_NOT) or planner.binding(why_not, about=WHY_NOT)
        other = unlike_pods or planner.pod(why_not, about=WHY_NOT)
        if other is facts:
            raise question(texts.names_the_preemptor(other.unit), about=WHY_NOT)
        yield from _why_not(planner.single(unit).decision, other)
    elif facts is None or facts.pending:
        yield from show_decision(planner.single(unit).decision)
    else:
        yield from _resident(planner, facts)


def _known(planner: Planner, unit: str) -> Known | None:
    """The pod, the quota workload or the binding of that name; None: it is a group."""
    found = planner.quota_workload(unit) or planner.binding(unit)
    return found or (planner.pod(unit) if unit_of(unit)[0] == "Pod" else None)


def _whole(planner: Planner, facts: PodFacts) -> str:
    """The group that a pending pod waits with, or the pod itself."""
    return next((waiting.unit for waiting in planner.waiting() if facts in waiting.pods), facts.unit)


def _why_not(made: Decision, other: Known) -> Iterator[str]:
    yield made.message
    for victim in made.victims:
        if victim["unit"] == other.unit:
            yield texts.makes_way(other.unit, victim["message"])
            return
    why = texts.nobody_has_to(made.preemptor) if made.outcome == "Fits" else _why_spared(made, other)
    yield texts.not_chosen(other.unit, why) if why else _whereabouts(other)


def _whereabouts(facts: Known) -> str:
    if isinstance(facts, BindingFacts):
        return texts.federation.whereabouts(facts.unit, list(facts.held))
    return whereabouts(facts) if isinstance(facts, PodFacts) else quota_whereabouts(facts)


def _why_spared(made: Decision, other: Known) -> str:
    """The rule that spares it, and where another node was chosen what its own would have cost; empty: none."""
    for item in made.spared:
        if item["unit"] == other.unit:
            cost = made.candidates.get(item["domain"]) if item["rule"] == "CheaperElsewhere" else None
            return texts.cost_elsewhere(item["message"], item["domain"], cost["victims"]) if cost else item["message"]
    if isinstance(other, WorkloadFacts):
        return "" if other.pending else texts.NOT_RELATED
    if isinstance(other, BindingFacts):
        return texts.federation.NOT_RELATED if other.held else ""
    return texts.on_no_known_node(other.node) if other.node else ""


def _resident(planner: Planner, facts: Known) -> Iterator[str]:
    """A unit that runs, leaves or is done: what it is, and who would have it make way."""
    yield _whereabouts(facts)
    for name in ("DisruptionTarget", "Preempted"):
        target = find_condition(_conditions(facts), name)
        if target is not None and target.status == "True":
            yield texts.marked(facts.unit, target.reason, target.message)
    if not isinstance(facts, PodFacts) or facts.node:
        yield from _before_the_pending(facts, planner.cycle().decisions)


def _conditions(facts: Known) -> tuple[Condition, ...]:
    if isinstance(facts, PodFacts):
        return facts.pod.status.conditions
    return facts.workload.status.conditions if isinstance(facts, WorkloadFacts) else facts.binding.status.conditions


def _before_the_pending(facts: Known, decisions: list[Decision]) -> Iterator[str]:
    """Whether one cycle over all that is pending would have it make way; quota, clusters, nodes: each for itself."""
    apart = {WorkloadFacts: QuotaPolicy.name, BindingFacts: FEDERATION}
    own = apart.get(type(facts), "")
    asked = [
        made
        for made in decisions
        if made.outcome != "Fits" and (made.policy if made.policy in apart.values() else "") == own
    ]
    for made in asked:
        for victim in made.victims:
            if victim["unit"] == facts.unit:
                yield texts.has_to_make_way(facts.unit, made.preemptor, victim["message"])
                if len(made.candidates) > 1 or made.preemptor in made.placement:
                    yield texts.chosen(made.domain or "", made.criterion)
                return
    if not asked:
        yield texts.NOBODY_ASKS
    for group in grouped((_rule(made, facts), made) for made in asked).values():
        reasons = [_why_spared(made, facts) for made in group]
        yield texts.stays_for(facts.unit, [made.preemptor for made in group], reasons)


def _rule(made: Decision, facts: Known) -> str:
    return next((item["rule"] for item in made.spared if item["unit"] == facts.unit), "")
