"""What the process agent tells people about containers, pods and its node."""

from collections.abc import Sequence

NODE_READY = "commands of containers run as processes of this machine"
NODE_STOPPED = "the agent of this node was stopped"
TERMINATED = "it was asked to end before it had finished"
STOPPED_WITH_AGENT = "it was ended because the agent of its node was stopped"
DISRUPTED = "it was ended with the agent of its node, or with the machine, and not by itself"
FILES_GONE = "it had been started, and nothing that was kept of it on its node is left"
NO_COMMAND = "it has no command; containers run as processes of the machine, so there is no image to take one from"
NOT_ROOT = "--user: only root can run jobs as other users"
LIMITS_BY_GROUPS = "limits of {} are enforced by control groups (cgroup v2)"
LIMITS_BY_RLIMIT = "limits of memory are enforced for each process by RLIMIT_DATA, those of cpu are not"
WHOLE_BY_GROUPS = "jobs are ended whole by control groups (cgroup v2)"
WHOLE_BY_SHIM = "jobs are ended by the shims that watch over them"


def no_user(namespace: str) -> str:
    return f"namespace {namespace} has no user to run as: `reprieve up --user {namespace}=USER` gives it one"


def unknown_user(name: str) -> str:
    return f"--user: this machine has no user {name!r}"


def root_is_nobody(name: str) -> str:
    return f"--user: {name!r} is root, from whom nothing can be kept apart"


NO_TIMES = "the times of lines are not kept on this node: neither since nor timestamps can be answered"


def agent_runs_already(directory: object) -> str:
    return f"{directory}: another agent uses this directory"


def not_readable(problem: object) -> str:
    return f"it cannot be run as it is written: {problem}"


def unsupported_source(variable: str, allowed: Sequence[str]) -> str:
    return f"variable {variable}: this node cannot take values from there; it can from {', '.join(allowed)}"


def too_much_given(most: int) -> str:
    return f"its command or its variables have more than {most} letters once all references in them are replaced"


def unsupported_field(path: str, allowed: Sequence[str]) -> str:
    return f"field {path!r} cannot be referred to on this node; allowed: {', '.join(allowed)}"


def unknown_container(name: str) -> str:
    return f"there is no container {name!r} whose resources could be referred to"


def bad_divisor(divisor: object) -> str:
    return f"divisor {divisor!r} is not a quantity above zero"


def config_map_missing(name: str) -> str:
    return f"ConfigMap {name} does not exist"


def key_missing(name: str, key: str) -> str:
    return f"ConfigMap {name} has no key {key}"


def back_off(seconds: float, container: str) -> str:
    return f"back-off {seconds:.0f}s before container {container} is started again"


def started(container: str) -> str:
    return f"Started container {container}"


def killing(container: str) -> str:
    return f"Stopping container {container}"


def deadline_exceeded(seconds: int) -> str:
    return f"the pod was active for longer than spec.activeDeadlineSeconds: {seconds} s"


def no_such_container(name: str, pod: str, known: Sequence[str]) -> str:
    return f"container {name[:80]} is not valid for pod {pod}; it has {', '.join(known)}"


def which_container(pod: str, known: Sequence[str]) -> str:
    return f"a container name must be specified for pod {pod}, choose one of: {', '.join(known)}"


def not_started_yet(container: str, pod: str) -> str:
    return f'container "{container}" in pod "{pod}" is waiting to start'


def no_previous(container: str, pod: str) -> str:
    return f'previous terminated container "{container}" in pod "{pod}" not found'


def must_not_be_negative(name: str) -> str:
    return f"{name} must not be negative"
