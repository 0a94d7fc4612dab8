"""What the loop tells people when it acts: in events, in conditions and in the story of a unit."""

from collections.abc import Sequence

from reprieve.texts.parts import listed


def made_way(preemptor: str, domain: str, why: str) -> str:
    """For a victim: for whom it goes, and by which rule."""
    where = f" on {domain}" if domain else ""
    return f"Preempted by {preemptor}{where}: {why}"


def bound(unit: str, node: str) -> str:
    return f"{unit} was given the node {node}"


def lost_nomination(unit: str, node: str, preemptor: str) -> str:
    return f"{preemptor} of higher priority takes the place on {node} that was meant for {unit}"


def large_configuration(letters: int, most: int) -> str:
    return f"queues.yaml has {letters} letters; at most {most} are read"


def budget_refuses(unit: str, answer: str) -> str:
    """The server's answer to an eviction, as it gave it."""
    return f"{unit} waits: a PodDisruptionBudget keeps a pod that would have to make way. {answer}"


def placeholder_refused(unit: str, answer: str) -> str:
    """The server's answer to a placeholder, as it gave it."""
    return f"{unit} waits: a placeholder for one of its task groups cannot be made. {answer}"


def place_taken(node: str) -> str:
    return f"the place on {node} that was meant for it is taken by another pod: it is scheduled anew"


def admitted(unit: str, queue: str) -> str:
    return f"{unit} is admitted by {queue}"


def has_quota(unit: str, queue: str) -> str:
    return f"{unit} has quota in {queue}"


def waits_for_checks(checks: list[str]) -> str:
    return f"It has quota, and waits for {listed([f'the AdmissionCheck {name}' for name in checks])}."


def waits_for_its_turn(unit: str, queue: str) -> str:
    return f"{unit} waits in {queue} for those before it"


def quota_preempted(preemptor: str, why: str, preemptor_path: str, victim_path: str) -> str:
    """For a quota workload that has to go: both queues, from the top of their cohorts down."""
    return f"Preempted to make room for {preemptor}: {why}; preemptor in {preemptor_path}, victim in {victim_path}"


EMPTY_CONFIGURATION = "it is empty; allowed: a list of partitions, each with its queues"


def configuration_refused(problems: Sequence[str]) -> str:
    return f"The queue configuration is not used, the last good one stays: {'; '.join(problems)}"


def configuration_accepted(partitions: Sequence[str]) -> str:
    return f"The queue configuration is in use, for {listed(partitions)}"


def queues_removed(source: str) -> str:
    return f"{source} configures no queues any more: pods are placed, and preempt, by priority alone"


def configuration_in_part(unused: Sequence[str]) -> str:
    """Each names its field, as `reprieve check` does."""
    return f"Some of the queue configuration has no effect here: {'; '.join(unused)}"


def found_pending(unit: str) -> str:
    return f"{unit} waits to be scheduled"


def gone(unit: str) -> str:
    return f"{unit} is gone"


def gone_meanwhile(unit: str) -> str:
    """For what was not there any more when the scheduler started."""
    return f"{unit} went while the control plane was stopped"


def ended(unit: str, how: str, why: str) -> str:
    """For a pod that ended by itself: it succeeded, or failed."""
    return f"{unit} {how}" + (f": {why}" if why else "")


def exit_code(container: str, code: int) -> str:
    return f"{container} exited with {code}"


def rest_of_its_group(group: str) -> str:
    """For a pod of a group that leaves as a whole, and has begun to."""
    return f"Leaves with the rest of {group}, which goes as a whole"


def left_with_workload(workload: str) -> str:
    """For a pod of a quota workload that was told to go."""
    return f"Left with {workload}, which was preempted"


def group_dissolved(group: str) -> str:
    """For the bound part of a group whose other pods have lost their places."""
    return f"Leaves because the other pods of {group} cannot be placed any more: it runs whole or not at all"


def other_configuration(source: str) -> str:
    return f"Not used: the queues of {source} are in force, which is older"
