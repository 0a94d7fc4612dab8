"""What `plan` answers: decisions and their reasons, in the form that other programs rely on."""

from __future__ import annotations

from typing import Any

import msgspec

from reprieve import texts
from reprieve.engine.plan import Details, Plan, Spared
from reprieve.engine.reasons import CheaperElsewhere, Reprieved, UnknownClass
from reprieve.manifests.problems import Problem


class Decision(msgspec.Struct, frozen=True, rename="camel"):
    """One decision, complete with reasons for the chosen and for the spared."""

    preemptor: str
    policy: str
    outcome: str
    domain: str | None
    placement: dict[str, str]
    victims: list[dict[str, Any]]
    candidates: dict[str, dict[str, Any]]
    spared: list[dict[str, str]]
    message: str
    criterion: str = ""
    waiting_for: list[str] = []
    obstacles: dict[str, str] = {}


class Result(msgspec.Struct, frozen=True, rename="camel"):
    """The whole answer."""

    now: str
    decisions: list[Decision]
    admitted: list[str] = []
    left: list[str] = []
    order: list[str] = []
    priorities: dict[str, dict[str, Any]] = {}
    warnings: list[Problem] = []
    flavors: dict[str, dict[str, dict[str, str]]] = {}
    """Quota workloads that were admitted: unit, pod set, resource, flavor."""
    counts: dict[str, dict[str, int]] = {}
    """Quota workloads that were admitted: unit, pod set, pods."""

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain data, as `-o json` prints it."""
        answer: dict[str, Any] = msgspec.to_builtins(self)
        answer["warnings"] = [str(problem) for problem in self.warnings]
        return answer

    @property
    def decision(self) -> Decision:
        """The decision, where one was asked for."""
        if len(self.decisions) != 1:
            raise ValueError(f"there are {len(self.decisions)} decisions, not one")
        return self.decisions[0]


def decision(plan: Plan, *, never: bool = False, brief: bool = False) -> Decision:
    """A plan with everything it knows; `never` when the preemptor's policy is Never, `brief` for the main points."""
    details = plan.brief if brief else plan.details
    obstacles = _obstacles(plan, details, never=never)
    message = plan.message
    if plan.outcome == "Unschedulable" and obstacles != details.obstacles:
        message = texts.unschedulable(plan.preemptor, obstacles)
    return Decision(
        preemptor=plan.preemptor,
        policy=plan.policy,
        outcome=plan.outcome,
        domain=plan.domain or None,
        placement=plan.placement,
        victims=[
            {
                "unit": victim.unit,
                "reason": victim.reason.rule,
                "pdbViolation": victim.pdb_violation,
                "message": texts.describe(victim.reason),
                **({"group": victim.group} if victim.group else {}),
                **({"onPreemption": "Terminate"} if victim.ends else {}),
            }
            for victim in plan.victims
        ],
        candidates={
            domain: {"victims": cost.victims, "pdbViolations": cost.pdb_violations}
            for domain, cost in details.candidates.items()
        },
        spared=[_spared(plan, details, obstacles, spared, never=never) for spared in details.spared],
        message=message,
        criterion=plan.criterion,
        waiting_for=plan.waiting_for,
        obstacles=obstacles,
    )


def _obstacles(plan: Plan, details: Details, *, never: bool) -> dict[str, str]:
    """Why each domain is out, also where a pod of an unknown class or a respected budget is the reason."""
    found = dict(details.obstacles)
    for spared in details.spared:
        if isinstance(spared.reason, UnknownClass) and found.get(spared.domain) in _FOR_LACK_OF_ROOM:
            found[spared.domain] = texts.UNKNOWN_CLASS
    if plan.outcome == "Unschedulable" and not never:
        for domain, cost in details.candidates.items():
            if cost.pdb_violations:
                found[domain] = texts.BUDGET_RESPECTED
    return found


_FOR_LACK_OF_ROOM = (texts.TOO_SMALL, texts.NO_CANDIDATES)


def _spared(plan: Plan, details: Details, obstacles: dict[str, str], spared: Spared, *, never: bool) -> dict[str, str]:
    rule, message = spared.reason.rule, texts.describe(spared.reason)
    unprotected = isinstance(spared.reason, (CheaperElsewhere, Reprieved)) and plan.outcome != "Fits"
    if spared.unit in plan.waiting_for:
        rule, message = "Leaving", texts.LEAVING
    elif unprotected and spared.domain in obstacles and spared.domain not in details.candidates:
        rule, message = "NoHelp", texts.no_help(spared.domain, obstacles[spared.domain])
    elif unprotected and plan.outcome != "Preempt" and spared.unit in _would_go(details, spared.domain):
        rule, message = "NobodyAsked", texts.could_go_but(never=never, waiting=plan.outcome == "Wait")
    return {"unit": spared.unit, "rule": rule, "message": message, "domain": spared.domain}


def _would_go(details: Details, domain: str) -> list[str]:
    cost = details.candidates.get(domain)
    return cost.victims if cost else []
