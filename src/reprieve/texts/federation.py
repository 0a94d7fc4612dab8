"""What a person reads about bindings and member clusters."""

from collections.abc import Mapping, Sequence

from reprieve.engine.claims import Claim, ClusterOut, ClusterShort
from reprieve.model.names import shown
from reprieve.model.resources import Resources, print_amount
from reprieve.texts.claims import of_domain
from reprieve.texts.parts import count, listed

CLUSTER_SCOPED_PREEMPTOR = "it preempts nobody, because cluster-scoped bindings do not preempt"
NOT_RESOLVED = "it preempts nobody, because its priority class is not resolved"
NEVER = "it preempts nobody, because its preemption policy is Never"

SUSPENDED = "it is suspended"

HOLLOW_READY = "this cluster exists on paper, and is always ready"
RUN_TIME_OVER = "it has run for as long as its annotation says"
JOB_FINISHED = "the Job that is bound has finished, and uses nothing any more"


def already_scheduled(unit: str, clusters: Sequence[str]) -> str:
    return f"{shown(unit)} is scheduled to {listed(clusters)} already; nobody is preempted."


def suspended(unit: str) -> str:
    return f"{shown(unit)} is not scheduled, and preempts nobody: it is suspended (spec.suspension.scheduling)."


NOT_RELATED = "it is in none of the clusters in question"


def whereabouts(unit: str, clusters: Sequence[str]) -> str:
    return (
        f"{shown(unit)} is scheduled to {listed(clusters)}."
        if clusters
        else f"{shown(unit)} is pending: it holds no cluster."
    )


def fits(unit: str, division: Mapping[str, int]) -> str:
    return f"{shown(unit)} fits in {places(division)}; nobody is preempted."


def preempts(
    unit: str, clusters: Sequence[str], victims: Sequence[str], gap: Resources, division: Mapping[str, int]
) -> str:
    """Who makes way and what was missing; where its replicas go is said when that is not one cluster."""
    verb = "makes" if len(victims) == 1 else "make"
    short = f"which {'is' if len(clusters) == 1 else 'are'} short of {amounts(gap)}"
    goes = f" It goes to {places(division)}." if len(division) > 1 else ""
    return f"{listed(victims)} {verb} way for {shown(unit)} in {listed(clusters)}, {short}.{goes}"


def gate_off(is_off: str) -> str:
    return f"it preempts nobody, because {is_off}"


def unschedulable(unit: str, claims: Sequence[Claim], more: int, why: str) -> str:
    """What clusters lack; `more` are not told of, and `why` is what else there is to say."""
    told = [f"{claim.cluster} {of_domain(claim)}" for claim in claims if isinstance(claim, (ClusterOut, ClusterShort))]
    told += [f"{count(more, 'more cluster')} {'has' if more == 1 else 'have'} no room for it either"] if more else []
    return (
        f"{shown(unit)} is unschedulable: {'; '.join([*(told or ['there are no clusters']), *([why] if why else [])])}."
    )


def waits(unit: str, clusters: Sequence[str], leaving: Sequence[str]) -> str:
    verb = "is" if len(leaving) == 1 else "are"
    return f"{shown(unit)} waits for {listed(clusters)}: {listed(leaving)} {verb} still leaving."


def places(division: Mapping[str, int]) -> str:
    """One cluster by its name, several with their replicas."""
    if len(division) == 1 or not any(division.values()):
        return listed(list(division))
    return listed([f"{name} ({count(replicas, 'replica')})" for name, replicas in division.items()])


def amounts(resources: Resources) -> str:
    return listed([f"{print_amount(name, units)} {name}" for name, units in sorted(resources.items())])


def preempted(cluster: str, preemptor: str, priority: int, above: int) -> str:
    """What the event and the condition of a victim say."""
    return f"makes way in {cluster} for {preemptor}: priority {priority} is below {above}, the preemptor's"


def scheduled(division: Mapping[str, int]) -> str:
    """What the event and the condition of a binding say that has its clusters."""
    return f"is scheduled to {places(division)}" if division else "is scheduled"


def left(clusters: Sequence[str]) -> str:
    """What a victim's condition says when nobody knows any more for whom it made way."""
    return f"has made way in {listed(clusters)}"


def bad_annotation(name: str, problem: Exception) -> str:
    return f"the annotation {name} cannot be read, and what was known before stays: {problem}"
