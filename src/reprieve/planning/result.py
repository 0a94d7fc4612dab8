"""What `plan` answers: decisions and their reasons, in the form that other programs rely on."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from reprieve.engine.claims import Claim
from reprieve.engine.plan import Details, Plan, Victim
from reprieve.manifests.problems import Problem
from reprieve.texts import claims
from reprieve.texts import reasons as texts


class Decision(msgspec.Struct, frozen=True, rename="camel"):
    """One decision, complete with reasons for the chosen and for the spared."""

    preemptor: str
    policy: str
    outcome: str
    domain: str | None
    placement: dict[str, str]
    victims: list[dict[str, Any]]
    candidates: dict[str, dict[str, Any]]
    spared: list[dict[str, Any]]
    message: str
    criterion: str = ""
    waiting_for: list[str] = []
    obstacles: dict[str, str] = {}
    claims: list[dict[str, Any]] = []
    """What the message of a refusal says, as facts; with a domain, what its obstacle says."""


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
    pending: dict[str, str] = {}
    """Why units wait that had no turn in the cycle: no queue takes them, or others are before them."""
    domains: dict[str, dict[str, dict[str, Any]]] = {}
    """Quota workloads that were admitted on a topology: unit, pod set, its `levels`, and how many pods go to which of
    its `domains`."""
    errors: int = 0
    """How many of the warnings are errors to `reprieve check`: an API server would refuse what they are about."""

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


def decision(plan: Plan, *, brief: bool = False) -> Decision:
    """A plan with everything it knows; `brief` for the main points."""
    return told(plan, plan.brief if brief else plan.details)


def told(plan: Plan, details: Details) -> Decision:
    """A plan with some of its reasons."""
    # Much is said of many: what is one and the same reason or obstacle is put in words once.
    reasons = {id(spared.reason): spared.reason for spared in details.spared}
    sentences = {number: (texts.describe(reason), msgspec.to_builtins(reason)) for number, reason in reasons.items()}
    obstacles = {id(claim): claim for claim in details.obstacles.values()}
    said = {number: claims.obstacle(claim) for number, claim in obstacles.items()}
    return Decision(
        preemptor=plan.preemptor,
        policy=plan.policy,
        outcome=plan.outcome,
        domain=plan.domain or None,
        placement={str(unit): place for unit, place in plan.placement.items()},
        victims=[_victim(victim) for victim in plan.victims],
        candidates={
            domain: {"victims": cost.victims, "pdbViolations": cost.pdb_violations}
            for domain, cost in details.candidates.items()
        },
        spared=[
            {
                "unit": spared.unit,
                "rule": spared.reason.rule,
                "message": sentences[id(spared.reason)][0],
                "domain": spared.domain,
                "facts": sentences[id(spared.reason)][1],
            }
            for spared in details.spared
        ],
        message=plan.message,
        criterion=plan.criterion,
        waiting_for=[*plan.waiting_for],
        obstacles={domain: said[id(claim)] for domain, claim in details.obstacles.items()},
        claims=[*map(msgspec.to_builtins, plan.claims), *_about_domains(details.obstacles)],
    )


def _about_domains(obstacles: Mapping[str, Claim]) -> Iterator[dict[str, Any]]:
    return ({"domain": domain, **msgspec.to_builtins(claim)} for domain, claim in sorted(obstacles.items()))


def _victim(victim: Victim) -> dict[str, Any]:
    return {
        "unit": victim.unit,
        "reason": victim.reason.rule,
        "pdbViolation": victim.pdb_violation,
        "message": texts.describe(victim.reason),
        "facts": msgspec.to_builtins(victim.reason),
        **({"group": victim.group} if victim.group else {}),
        **({"clusters": list(victim.clusters)} if victim.clusters else {}),
        **({"onPreemption": "Terminate"} if victim.ends else {}),
    }
