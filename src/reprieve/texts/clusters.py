"""What is told about a cluster that is only looked at: why it cannot be, what of it was not seen, what others did."""

from collections.abc import Sequence

from reprieve.texts.history import clock_time
from reprieve.texts.parts import listed

CLUSTER_OR_SERVER = "--context and --kubeconfig name a Kubernetes cluster, --live and --server a control plane of " + (
    "Reprieve: give one or the other"
)
CLUSTER_OR_FILES = "--context and --kubeconfig name a cluster to explain, -f files: give one or the other"
NO_UID = "--uid is for what a control plane of Reprieve remembers: leave it out with --context"


def unusable(context: str, why: str) -> str:
    return f"context {context!r}: {_one_line(why)}"


def unknown_here(context: str, host: str) -> str:
    return (
        f"context {context!r}: {host} does not know who asks (401 Unauthorized); "
        "its certificate or token may have expired"
    )


def no_right(context: str, why: str) -> str:
    return f"context {context!r}: {_one_line(why)}; pods and nodes must be listed to decide anything"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def not_listed(kinds: Sequence[str]) -> str:
    return f"no right to list {', '.join(kinds)}: the answer is as if there were none"


def not_given(kind: str, why: str) -> str:
    return f"{kind} cannot be read, and the answer is as if there were none: {_one_line(why)}"


def not_served(unit: str, kind: str) -> str:
    return f"{unit}: the server has no {kind}, so that it would refuse this"


def nothing_to_place(units: Sequence[str]) -> str:
    return (
        f"{listed(units)}: nothing of this waits for a place; --change compares the cluster before and after a change"
    )


# What another scheduler has done


def preempted(unit: str, at: str, by: str, reporter: str, message: str) -> str:
    """An event about a victim; `by` is empty where the event does not name anybody."""
    whom = f" for {by}" if by else ""
    return f"{unit} was preempted at {clock_time(at)}{whom} by {reporter}: {message.rstrip('.')}."


def not_there(unit: str, context: str) -> str:
    return f"{unit} is not in the cluster of context {context!r}, and no event there says that it was preempted"


def is_gone(unit: str) -> str:
    return f"{unit} is gone."
