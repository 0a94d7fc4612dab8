"""What a person reads about bindings and member clusters."""

from collections.abc import Mapping, Sequence

from reprieve.model.resources import Resources, print_amount
from reprieve.texts.parts import count, listed

# Why a cluster is out; each goes on from "frankfurt is ...".
CLUSTER_NOT_READY = "not ready"
CLUSTER_WITHOUT_API = "without the API of the resource"
CLUSTER_TAINTED = "tainted, and the binding does not tolerate it"
CLUSTER_NOT_MEANT = "not what its cluster affinity asks for"
CLUSTER_BREAKS_SPREAD = "not enough for the spread constraints, whoever makes way"
FIXED_UNDER_SPREAD = "not to be freed: replicas with a fixed place preempt nobody under spread constraints"
CLUSTER_ENOUGH = "not the obstacle: another cluster that it needs is short"
CLUSTER_WITHOUT_PART = "given none of the replicas that are missing"
CLUSTER_OF_LATER_GROUP = "of a later affinity group, and an earlier one is enough"
CLUSTER_SCOPED_PREEMPTOR = "cluster-scoped bindings do not preempt"
GATE_OFF = "the gate PriorityBasedPreemptiveScheduling is off"
NEVER = "its preemption policy is Never"
NOBODY_HOLDS_IT = "in no cluster do bindings of lower priority hold what is missing"
NO_CLUSTERS = "no cluster is within its reach"

HOLLOW_READY = "this cluster exists on paper, and is always ready"
RUN_TIME_OVER = "it has run for as long as its annotation says"
JOB_FINISHED = "the Job that is bound has finished, and uses nothing any more"


def already_scheduled(unit: str, clusters: Sequence[str]) -> str:
    return f"{unit} is scheduled to {listed(clusters)} already; nobody has to make way."


NOT_RELATED = "it is in none of the clusters in question"


def whereabouts(unit: str, clusters: Sequence[str]) -> str:
    return f"{unit} is scheduled to {listed(clusters)}." if clusters else f"{unit} is pending: it holds no cluster."


def fits(unit: str, division: Mapping[str, int]) -> str:
    return f"{unit} fits in {places(division)}; nobody has to make way."


def preempts(
    unit: str, clusters: Sequence[str], victims: Sequence[str], gap: Resources, division: Mapping[str, int]
) -> str:
    """Who makes way and what was missing; where its replicas go is said when that is not one cluster."""
    verb = "makes" if len(victims) == 1 else "make"
    short = f"which {'is' if len(clusters) == 1 else 'are'} short of {amounts(gap)}"
    goes = f" It goes to {places(division)}." if len(division) > 1 else ""
    return f"{listed(victims)} {verb} way for {unit} in {listed(clusters)}, {short}.{goes}"


def refused(unit: str, why: str) -> str:
    return f"{unit} stays pending: {why}."


def nowhere(unit: str, why: str) -> str:
    return f"{unit} fits nowhere, and {why}."


def waits(unit: str, clusters: Sequence[str], leaving: Sequence[str]) -> str:
    verb = "is" if len(leaving) == 1 else "are"
    return f"{unit} waits for {listed(clusters)}: {listed(leaving)} {verb} still leaving."


def short_of(gap: Resources, *, candidates: bool) -> str:
    """Goes on from "frankfurt is ..."."""
    who = "even without everybody who could make way" if candidates else "with nobody who may be asked to make way"
    return f"short of {amounts(gap)}, {who}"


def lacking(gap: Resources) -> str:
    return f"short of {amounts(gap)}"


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
