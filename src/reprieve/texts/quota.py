"""What a person reads about quota workloads and their queues."""

from collections.abc import Sequence

from reprieve.model.resources import print_amount
from reprieve.texts.parts import listed, moment

NOBODY_MAY_GO = "nobody may be asked to make way"
VICTIMS_CLAIMED = "those who could make way already do so for another workload"
QUOTA_TAKEN = "the quota went to another workload in this cycle"
NO_MORE_BORROWING = "nobody in its cohort borrows any more in this cycle"
NOT_RELATED = "its queue is in another cohort, and what it uses is of no help"


def quota_fits(unit: str, queue: str, flavors: str) -> str:
    return f"{unit} fits in {queue}: {flavors}; nobody has to make way."


def quota_preempts(unit: str, queue: str, victims: Sequence[str], takings: Sequence[str]) -> str:
    verb = "makes" if len(victims) == 1 else "make"
    needs = f" It needs {'; '.join(takings)}." if takings else ""
    return f"{listed(victims)} {verb} way for {unit} in {queue}.{needs}"


def taken_from(queue: str, resource: str, amount: int, used: int, nominal: int) -> str:
    """What a queue gives of what it borrows, and what it is left with."""
    left = used - amount

    def show(units: int) -> str:
        return print_amount(resource, units)

    given = f"{show(amount)} {resource} of {queue}'s {show(used - nominal)} borrowed ones"
    if amount > used - nominal:
        given = f"{show(amount)} {resource} of {queue}, which borrows {show(max(0, used - nominal))}"
    if left == nominal:
        return f"{given}; {queue} stays at its nominal {show(nominal)}"
    if left > nominal:
        return f"{given}; {queue} keeps {show(left - nominal)} above its nominal {show(nominal)}"
    return f"{given}; {queue} is left with {show(left)} of its nominal {show(nominal)}"


def quota_refused(unit: str, queue: str, reason: str) -> str:
    return f"{unit} stays pending in {queue}: {reason}."


def quota_pending(unit: str, queue: str) -> str:
    return f"{unit} is pending{f' in {queue}' if queue else ''}: it holds no quota that it could give up."


def quota_whereabouts(unit: str, queue: str, used: Sequence[tuple[str, str, int, int]], *, leaving: bool) -> str:
    """`used` is flavor and resource, what its queue uses of that, and its nominal quota."""
    amounts = [
        f"{print_amount(resource, units)} {resource} on {flavor} (nominal {print_amount(resource, nominal)})"
        for flavor, resource, units, nominal in used
    ]
    state = "is being evicted from" if leaving else "is admitted by"
    return f"{unit} {state} {queue}{f', which uses {listed(amounts)}' if amounts else ''}."


def already_admitted(unit: str, queue: str) -> str:
    return f"{unit} is already admitted by {queue}: there is nothing to decide"


def no_queue(unit: str, queue: str) -> str:
    where = f"waits in the LocalQueue {queue}" if queue else "names no LocalQueue"
    return f"{unit} {where}, which leads to no ClusterQueue that is there, open, and takes its namespace"


def may_preempt_from(until: int) -> str:
    return f"it may preempt from {moment(until)} on"
