"""The law of truth: every sentence about a decision is checked against the world that was decided over.

A sentence is made from facts: the claims of a refusal, the obstacle of each domain, the reason of each victim and of
everybody who is spared. Here each of them is looked up in the manifests. Nothing here knows how decisions are made.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.reasons.worlds import Dict, World
from tests.truth import federations, groups, pod_reasons, pods, queue_reasons, queues, quota
from tests.truth.compare import Check

CLAIMS: dict[str, dict[str, Check]] = {
    "pod": pods.CLAIMS,
    "podgroup": groups.CLAIMS,
    "queue": queues.CLAIMS,
    "quota": quota.CLAIMS,
    "federation": federations.CLAIMS,
}
REASONS: dict[str, dict[str, Check]] = {
    "pod": pod_reasons.REASONS,
    "podgroup": pod_reasons.REASONS,
    "queue": queue_reasons.REASONS,
    "quota": quota.REASONS,
    "federation": federations.REASONS,
}
# What a step says is checked by the law of reasons: there is nothing in it but that it was so.
STEPS = {
    *("Leaving", "NobodyAsked", "NotEnough", "NotContested", "DisruptionBudget", "BeingDeleted"),
    *("NoRequirements", "ClusterScoped", "NoHelp", "Claimed", "NoFlavor"),
}


def fits_beside(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    """Whoever the preemptor fits beside stays where the preemptor goes: so it has a place."""
    return "" if decision["outcome"] == "Preempt" else "the preemptor has no place"


def untrue(world: World, decision: Dict) -> Iterator[tuple[str, str]]:
    """What a decision says that is not so: the kind of the claim or the rule, and what is wrong."""
    for claim in decision["claims"]:
        check = CLAIMS[world.policy].get(claim["kind"])
        wrong = check(world, decision, claim) if check is not None else "nobody knows how to check it"
        if wrong:
            yield claim["kind"], f"{claim}: {wrong}"
    for domain in decision["domain"].split(",") if decision["outcome"] == "Preempt" else ():
        if domain in decision["obstacles"]:
            yield "obstacle", f"{domain} was chosen, and is said to be {decision['obstacles'][domain]}"
    for said in (*decision["victims"], *decision["spared"]):
        rule = said.get("rule") or said["reason"]
        check = fits_beside if rule == "Reprieved" else REASONS[world.policy].get(rule)
        if check is None and rule not in STEPS:
            yield rule, "nobody knows how to check it"
        wrong = check(world, decision, said) if check is not None else ""
        if wrong:
            yield rule, f"{said['unit']}: {said['message']}: {wrong}"


def told(decision: Dict) -> Iterator[str]:
    """The kinds of all claims and the rules of all reasons."""
    yield from (claim["kind"] for claim in decision["claims"])
    yield from (said.get("rule") or said["reason"] for said in (*decision["victims"], *decision["spared"]))
