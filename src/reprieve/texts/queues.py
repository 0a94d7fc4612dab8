"""What a person reads about hierarchical queues and their laws."""

from collections.abc import Iterable, Sequence

from reprieve.engine.claims import AtMaximum, Claim, ClaimOnNodes, GuaranteeUsed, InReach, NoGuarantee
from reprieve.engine.queue_claims import AtLimit, NotPlaced, TooManyApplications
from reprieve.manifests.problems import nearest
from reprieve.manifests.yunikorn import EVERYBODY
from reprieve.model.resources import print_amount
from reprieve.texts.claims import amount, of_domain, on_nodes, protected
from reprieve.texts.parts import count, listed, moment


def waits_for_delay(unit: str, queue: str, ready: int) -> str:
    return f"{unit} waits: {queue} lets it preempt from {moment(ready)} on."


def preemption_off(unit: str, claims: Sequence[Claim]) -> str:
    return _unschedulable(unit, claims, "it preempts nobody, because preemption is switched off for the partition")


def never_preempts(unit: str, claims: Sequence[Claim]) -> str:
    return _unschedulable(unit, claims, "it preempts nobody, because its preemption policy is Never")


def limited(unit: str, claims: Sequence[Claim]) -> str:
    """Nobody is preempted for a limit: whoever is in the way of it is not named."""
    return f"{unit} is unschedulable: {'; '.join(filter(None, map(limit, claims)))}."


def limit(claim: Claim) -> str:
    """What a limit allows and how much of that is taken; empty: it is about something else."""
    match claim:
        case AtLimit():
            needed = print_amount(claim.resource, claim.needed)
            uses = _uses(claim.resource, claim.used, claim.maximum, "of at most {}", "the limit of {}")
            return f"{_holder(claim)} {uses} in {claim.queue}, and it needs {needed} more"
        case TooManyApplications():
            running = f"{claim.running} of at most {count(claim.maximum, 'application')}"
            whose = f"{claim.queue} runs {running}"
            if claim.holder != "queue":
                whose = f"{_holder(claim)} runs {running} in {claim.queue}"
            return f"{whose}, and {claim.application} would be another"
        case NotPlaced():
            missed = "; ".join(f"{each.rule}: {_MISSED[each.why].format(what=each.what)}" for each in claim.rules)
            return f"no placement rule gives it a queue ({missed})"
    return ""


def _holder(claim: AtLimit | TooManyApplications) -> str:
    return f"{claim.holder} {claim.name}" if claim.name != EVERYBODY else "everybody in no other group"


# Why a placement rule gives no queue; each goes on from the name of the rule.
_MISSED = {
    "NothingNamed": "it has nothing to go by",
    "Filtered": "the rule is not for user {what}",
    "NoQueueName": "{what} is no name for a queue",
    "NoSuchQueue": "{what} does not exist, and the rule creates none",
    "NotLeaf": "{what} has queues below it, and pods go to leaves",
    "BelowLeaf": "{what} would be below a leaf",
    "ParentIsLeaf": "its parent rule gives {what}, which is a leaf",
}


def above_guarantee(unit: str, claims: Sequence[Claim]) -> str:
    return _unschedulable(unit, claims, f"it may not preempt: {_law_4(claims)}")


def unschedulable(unit: str, claims: Sequence[Claim]) -> str:
    """Where nodes are in the way, they tell which law stops whom."""
    on_any_node = any(isinstance(claim, ClaimOnNodes) for claim in claims)
    law_4 = [_law_4(claims)] if any(isinstance(claim, GuaranteeUsed) for claim in claims) else []
    reach = [in_reach(claim) for claim in claims if isinstance(claim, InReach) and not on_any_node]
    return _unschedulable(unit, claims, *law_4, *reach)


def _unschedulable(unit: str, claims: Sequence[Claim], *more: str) -> str:
    maxima = [at_maximum(claim) for claim in claims if isinstance(claim, AtMaximum)]
    nodes = [on_nodes(claims)] if any(isinstance(claim, ClaimOnNodes) for claim in claims) else []
    return f"{unit} is unschedulable: {'; '.join([*maxima, *nodes, *more])}."


def at_maximum(claim: AtMaximum) -> str:
    uses = _uses(claim.resource, claim.used, claim.maximum, "of its maximum of {}", "its maximum of {}")
    return f"{claim.queue} {uses}, and it needs {print_amount(claim.resource, claim.needed)} more"


def _uses(resource: str, used: int, bound: int, part: str, above: str) -> str:
    """What is used of a bound; or that it is above it, as when the bound was lowered."""
    if used > bound:
        return f"uses {amount(resource, used)}, above {above.format(print_amount(resource, bound))}"
    return f"uses {print_amount(resource, used)} {part.format(amount(resource, bound))}"


def _law_4(claims: Iterable[Claim]) -> str:
    """What a queue may preempt for, and that this is more."""
    for claim in claims:
        if isinstance(claim, NoGuarantee):
            return f"{claim.queue} has no guarantee of what it asks for, and {_ONLY_UNDER}"
        if isinstance(claim, GuaranteeUsed):
            words = "of its guaranteed {}", "its guarantee of {}"
            if claim.asking != claim.queue:
                words = f"of the {{}} that {claim.queue} guarantees", f"the {{}} that {claim.queue} guarantees"
            own = f"{claim.asking} {_uses(claim.resource, claim.used, claim.guaranteed, *words)}"
            if claim.used < claim.guaranteed:
                return f"{own}, and it needs {print_amount(claim.resource, claim.needed)} more; {_ONLY_WITHIN}"
            return f"{own}, and {_ONLY_UNDER}"
    return ""


_ONLY_UNDER = "queues preempt only while they are under their guarantee (law 4)"
_ONLY_WITHIN = "with `queues.requestWithinGuarantee`, queues preempt only within their guarantee (law 4)"


def in_reach(claim: InReach) -> str:
    """Who may be preempted, and which law stops whom."""
    stay = protected(claim.protected)
    if claim.candidates:
        few = f"{count(claim.candidates, 'pod')} may be preempted, and that is not enough"
        return f"{few}; of the others, {stay}" if stay else few
    return f"no pod may be preempted: {stay}" if stay else f"no pods run below {claim.top} that could be preempted"


def on_its_node(unit: str, node: str, claims: Sequence[Claim]) -> str:
    return f"{unit} is unschedulable: it must run on {node}, which {'; '.join(map(of_domain, claims))}."


def never_on_node(unit: str, node: str, claims: Sequence[Claim]) -> str:
    never = "and it preempts nobody, because its preemption policy is Never"
    return f"{unit} is unschedulable: it must run on {node}, which {'; '.join(map(of_domain, claims))}; {never}."


NOT_MISPLACED = "nothing is wrong with its queue any more"


def misplaced(kind: str, queue: str, leaves: Sequence[str]) -> str:
    """For a pod whose queue is not one for pods: a parent, or one that is not configured."""
    if kind == "ParentQueue":
        below = f"pods belong in one below it: {listed(leaves)}" if leaves else "there is no queue for pods below it"
        return f"{queue} is a parent queue; {below}"
    near = nearest(queue, leaves)
    meant = f"; did you mean {near}?" if near else f"; there are {listed(leaves)}" if leaves else ""
    return f"{queue} is not configured: nothing is guaranteed to it{meant}"


def quota_lowered(queue: str, victims: Sequence[str]) -> str:
    verb = "makes" if len(victims) == 1 else "make"
    return f"{listed(victims)} {verb} way because {queue} uses more than its maximum."


def quota_kept(queue: str) -> str:
    return f"{queue} is within its maximum: nobody is preempted."


def quota_delayed(queue: str, due: int) -> str:
    return f"{queue} uses more than its maximum: pods may be asked to leave from {moment(due)} on."


def not_watched(queue: str) -> str:
    return f"{queue} has no quota.preemption.delay, so that nobody leaves when its maximum is lowered"


def quota_stuck(queue: str) -> str:
    return f"{queue} uses more than its maximum, and none of its pods can be preempted without freeing too much."
