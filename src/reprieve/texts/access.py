"""What people read about tokens, and about what a token does not allow."""

from collections.abc import Sequence
from pathlib import Path

from reprieve.texts.parts import listed


def others_write(directory: Path) -> str:
    return f"{directory} can be written by others, who could replace what is kept there: `chmod go-w {directory}`"


def not_private(file: Path) -> str:
    return f"{file} belongs to another user, or others can write it: it is not used; remove it"


def unusable_tokens(file: Path, why: str) -> str:
    return f"{file} is no list of tokens: {why}"


def name_taken(name: str) -> str:
    return f"there is a token named '{name}' already; revoke it first, or choose another name"


def no_such_token(name: str, known: Sequence[str]) -> str:
    return f"there is no token named '{name}'; " + (f"there is {listed(known)}" if known else "there are none")


# What is refused, in Kubernetes' words where it has some


def cannot(user: str, verb: str, resource: str, group: str, namespace: str) -> str:
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    return f'User "{user}" cannot {verb} resource "{resource}" in API group "{group}" {where}'


def what_it_may(role: str, namespaces: Sequence[str]) -> str:
    where = f" in {listed(namespaces)}" if namespaces else ""
    return f"its token is for {role}{where}"


def does_not_see(user: str, namespace: str, namespaces: Sequence[str]) -> str:
    what = f'the namespace "{namespace}"' if namespace else "what is in no namespace of its own"
    return f'User "{user}" cannot see {what}: its token is for {listed(namespaces)}'


def sees_not_all(user: str, namespaces: Sequence[str]) -> str:
    return f'User "{user}" cannot see all namespaces, which this tells of: its token is for {listed(namespaces)}'


def priority_above(user: str, priority: int, most: int) -> str:
    return f'priority {priority} is above {most}, the highest that User "{user}" may ask for'


def default_above(user: str, priority: int, most: int) -> str:
    return f"it names no class, and the default is {priority}; {priority_above(user, priority, most)}"


def no_such_class(kind: str, name: str) -> str:
    return f'there is no {kind} "{name}"'


def only_numbers(user: str) -> str:
    return (
        f'User "{user}" may only create classes that name a number, such as priority-100 with the value 100, and '
        "nothing else"
    )


NO_NODE = "a node cannot be asked for by spec.nodeName: who runs where is decided by the scheduler"


def plane_writes(key: str) -> str:
    return f"{key} is written by the control plane alone"


def other_user(user: str, found: str) -> str:
    return f'User "{user}" cannot be "{found}" in queues'


# What `reprieve token` says

SUBMIT_WHERE = "--role submit needs a --namespace: that of whoever gets the token"
ADMIN_EVERYWHERE = "--role admin is for everything: leave out --namespace, or give another role"
NO_TOKENS = "Nobody but the owner has a token."


def revoked(name: str) -> str:
    return f"the token of {name} is revoked"


# Whom one may not see

_OTHERS = {"PodGroup": "group of pods", "ResourceBinding": "binding", "ReplicaSet": "replica set"}


def somebody_else(kind: str, priority: int | None) -> str:
    what = _OTHERS.get(kind, kind.lower())
    return f"a {what} in another namespace" + (f", priority {priority}" if priority is not None else "")
