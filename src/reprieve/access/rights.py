"""What a role allows, in the verbs and words of Kubernetes.

1. `admin` may do everything.
2. `view` may read: everything, or what is in its namespaces and in none (nodes, classes, queues); of the latter not
   what names others.
3. `submit` may also write what work is made of, in its own namespaces. It may not bind pods, nor write what the control
   plane itself says of them; see `access.submissions` for what it may not ask for.
"""

from typing import NamedTuple

from reprieve.access.identities import Identity, Role
from reprieve.manifests import kinds
from reprieve.manifests.resource import Resource
from reprieve.stores.errors import Forbidden
from reprieve.texts import access as texts

READING = ("get", "list", "watch")
_SUBMITTED = (
    *(kinds.PODS, kinds.JOBS, kinds.REPLICA_SETS, kinds.DEPLOYMENTS, kinds.STATEFUL_SETS, kinds.DAEMON_SETS),
    *(kinds.CONFIG_MAPS, kinds.VOLUME_CLAIMS, kinds.BUDGETS),
    *(kinds.POD_GROUPS, kinds.COMPOSITE_POD_GROUPS, kinds.WORKLOADS),
)
_OF_ALL = (kinds.VOLUMES,)
"""What says for whom of all namespaces it is there: a PersistentVolume names its claim."""
_OF_NAMESPACES = (kinds.NAMESPACES, kinds.CLUSTER_BINDINGS)
"""What lives in no namespace, and still tells of those that others have."""


class Action(NamedTuple):
    """What somebody wants to do, to what. No namespace: to what lives in none, or in all of them at once."""

    verb: str
    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def allows(identity: Identity, action: Action) -> bool:
    if identity.role is Role.admin:
        return True
    if action.verb in READING:
        return _may_read(identity, action)
    return identity.role is Role.submit and _may_submit(identity, action)


def check(identity: Identity, action: Action) -> None:
    """Raises what Kubernetes would answer."""
    if not allows(identity, action):
        raise refusal(identity, action)


def refusal(identity: Identity, action: Action) -> Forbidden:
    resource, plural = action.resource, action.resource.plural
    about = f'{resource} "{action.name}"' if action.name else str(resource)
    what = f"{plural}/{action.subresource}" if action.subresource else plural
    why = texts.cannot(identity.name, action.verb, what, resource.group, action.namespace)
    limits = texts.what_it_may(identity.role, identity.namespaces)
    return Forbidden(f"{about} is forbidden: {why}: {limits}", group=resource.group, kind=plural, name=action.name)


def check_sees(identity: Identity, namespace: str) -> None:
    """Raises unless what is in a namespace may be read."""
    if not identity.sees(namespace):
        raise Forbidden(texts.does_not_see(identity.name, namespace, identity.namespaces))


def check_sees_all(identity: Identity) -> None:
    """Raises unless everything may be read."""
    if not identity.sees_all:
        raise Forbidden(texts.sees_not_all(identity.name, identity.namespaces))


def _may_read(identity: Identity, action: Action) -> bool:
    if identity.sees_all:
        return True
    resource, namespace = action.resource, action.namespace
    if resource.namespaced:
        return bool(namespace) and identity.sees(namespace)
    if resource in _OF_ALL:
        return False
    if resource in _OF_NAMESPACES:
        return action.name in identity.namespaces
    return True


def _may_submit(identity: Identity, action: Action) -> bool:
    resource = action.resource
    if resource is kinds.PRIORITY_CLASSES:
        return action.verb == "create"  # only one that is the name of a number
    if resource not in _SUBMITTED or not (action.namespace and action.namespace in identity.namespaces):
        return False
    return action.subresource == "" or (action.subresource, action.verb) == ("eviction", "create")
