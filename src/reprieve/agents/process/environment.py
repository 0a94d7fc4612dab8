"""The environment of a container: what its pod asks for, little of the agent's own, and who it is.

1. PATH, HOME, LANG, TMPDIR and USER are inherited; nothing else of the agent's environment is.
2. The pod's variables come next, and may refer to earlier ones as `$(NAME)`; `$$(NAME)` is the text `$(NAME)`, and a
   reference to nothing stays as it is written.
3. Who the container is, and which devices it was given, comes last: a pod cannot pretend otherwise.
"""

import re
from collections.abc import Iterable, Mapping

from reprieve.agents.process.containers import PodIdentity

INHERITED = ("PATH", "HOME", "LANG", "TMPDIR", "USER")
POD_UID = "REPRIEVE_POD_UID"
CONTAINER_NAME = "REPRIEVE_CONTAINER_NAME"

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


def inherited(own: Mapping[str, str]) -> dict[str, str]:
    return {name: own[name] for name in INHERITED if name in own}


def expand(text: str, variables: Mapping[str, str]) -> str:
    """The text with its references replaced, as Kubernetes does it in commands, arguments and values."""

    def replaced(match: re.Match[str]) -> str:
        name = match[1]
        return "$" if name is None else variables.get(name, match[0])

    return _REFERENCE.sub(replaced, text)


def identity(pod: PodIdentity, container: str) -> dict[str, str]:
    """How a container, and whatever comes from it, is recognised from outside."""
    return {
        "REPRIEVE_POD_NAME": pod.name,
        "REPRIEVE_POD_NAMESPACE": pod.namespace,
        POD_UID: pod.uid,
        "REPRIEVE_NODE_NAME": pod.node,
        CONTAINER_NAME: container,
    }


def environment(
    own: Mapping[str, str],
    pod: PodIdentity,
    container: str,
    asked: Iterable[tuple[str, str]] = (),
    devices: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Everything a container finds in its environment; `own` is that of the agent."""
    given = {**(devices or {}), **identity(pod, container)}
    variables = {**inherited(own), **given}
    for name, value in asked:
        variables[name] = expand(value, variables)
    return {**variables, **given}
