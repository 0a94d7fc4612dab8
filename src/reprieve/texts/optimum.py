"""What is said about the proven optimum beside a plan."""

from collections.abc import Sequence
from typing import NamedTuple

from reprieve.texts.parts import listed

NOT_INSTALLED = (
    "--optimal needs OR-Tools, which is not installed; pip install 'reprieve[optimal]' does that. Without it, "
    "--search Best looks for less, but proves nothing"
)
NO_MODEL = (
    "Optimum: none to compare with. Neighbours, volumes, topologies, fair sharing, trees of groups and spread "
    "constraints are not said in inequalities, and who fits or may not preempt needs none."
)
FOR_ONE = "--optimal proves the plan of one unit: name it with --for"
FOR_A_PROOF = "--objective and --time-limit are for a proof: add --optimal"
FILES_ONLY = "--optimal works over files; --live, --server, --context, --change and --delete do not go with it"


class Compared(NamedTuple):
    """A plan beside the optimum."""

    least: int
    """The victims of the optimum."""
    victims: int
    """The victims of the plan."""
    known: bool
    """Whether the optimum was looked for among those whom the plan asks."""
    differs: str | None
    """The first criterion in which they are not the same."""
    better: bool
    """Whether the plan is the better one there: time was up before anything as good was found."""


_NAMES = {
    "violations": "budgets broken",
    "grade": "the top priority",
    "victims": "the number of victims",
    "importance": "how important they are together",
    "lost": "the work that is lost",
    "size": "the resources that are taken",
}
_DEARER = {
    "violations": "breaks more budgets",
    "grade": "takes somebody more important",
    "victims": "takes more",
    "importance": "takes those who are more important together",
    "lost": "loses more work",
    "size": "takes more resources",
}


def compared(
    objective: str, names: Sequence[str] | None, plan: Compared, *, proven: bool, stopped_at: str, gap: float
) -> str:
    """The optimum, whether it is proven, and how far the plan is from it."""
    if names is None:
        return "Optimum: no set that the rules allow is enough, which is proven." if proven else _unfinished(stopped_at)
    least = plan.least
    who = f"{least} victim{'' if least == 1 else 's'} ({listed(names)})" if names else "nobody has to leave"
    proof = "proven" if proven else f"not proven: time was up at {_NAMES[stopped_at]}, which could be {gap:.0%} less"
    best = "the optimum" if proven else "what was found"
    return f"Optimum by {objective}: {who}, {proof}. {_plan(plan, best)}"


def _unfinished(stopped_at: str) -> str:
    return f"Optimum: none was found before time was up, at {_NAMES[stopped_at]}. Nothing is proven."


def _plan(plan: Compared, best: str) -> str:
    if not plan.victims:
        return "The plan has no victims: it was called off though a set is enough."
    if not plan.known:
        return f"The plan has {plan.victims}, among them some whom the optimum does not know: they are not compared."
    if plan.differs is None:
        return f"The plan is at {best}."
    if plan.better:
        return f"The plan has {plan.victims}, and is better than that."
    if plan.differs == "victims":
        return f"The plan has {plan.victims}: {plan.victims - plan.least} more."
    return f"The plan has {plan.victims}, and {_DEARER[plan.differs]}."
