"""What the words of a command name: `pods`, `pods,jobs`, `pod a b`, `pod/a job/b`, `all`."""

from collections.abc import Sequence
from typing import NamedTuple

from reprieve.cli.options import BadUsage
from reprieve.manifests.identity import DEFAULT_NAMESPACE
from reprieve.manifests.kinds import PODS, RESOURCES, find_resource
from reprieve.manifests.problems import nearest
from reprieve.manifests.resource import Resource
from reprieve.texts import cli as texts

# What people run, not what it runs on: what makes pods before the pods.
_WORK = sorted((each for each in RESOURCES.values() if each.category), key=lambda each: each is PODS)


class NamedObjects(NamedTuple):
    """One kind, and the names that are meant; none: all of them."""

    resource: Resource
    names: tuple[str, ...] = ()


def resource_named(word: str) -> Resource:
    """A kind as people type it."""
    found = find_resource(word)
    if found is None:
        known = [name for each in RESOURCES.values() for name in (each.plural, each.kind.lower())]
        raise BadUsage(texts.unknown_kind(word, nearest(word, known)))
    return found


def targets_in(words: Sequence[str]) -> list[NamedObjects]:
    """What is named, in the order in which it is."""
    if not words:
        return []
    if any("/" in word for word in words):
        return _by_slash(words)
    kinds = [kind for kind in words[0].split(",") if kind]
    if kinds == ["all"] and not words[1:]:
        return [NamedObjects(resource) for resource in _WORK]
    return [NamedObjects(resource_named(kind), tuple(words[1:])) for kind in kinds]


def _by_slash(words: Sequence[str]) -> list[NamedObjects]:
    pairs = [word.split("/") for word in words]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise BadUsage(texts.MIXED_FORMS)
    return [NamedObjects(resource_named(kind), (name,)) for kind, name in pairs]


def namespace_for(resource: Resource, namespace: str | None, *, everywhere: bool = False) -> str:
    """The namespace to look in; empty: all of them, or none."""
    return "" if everywhere or not resource.namespaced else namespace or DEFAULT_NAMESPACE


def unit_in(word: str, namespace: str | None) -> tuple[Resource, str, str]:
    """`KIND/NAMESPACE/NAME` or `KIND/NAME`: resource, namespace and name; the name of a group may hold a slash."""
    kind, *rest = word.split("/")
    if not rest or not all(rest[-1:]):
        raise BadUsage(texts.no_such("the unit", word, "it must be KIND/NAMESPACE/NAME, such as pod/default/a"))
    resource = resource_named(kind)
    if len(rest) == 1:
        return resource, namespace_for(resource, namespace), rest[0]
    return resource, rest[0] if resource.namespaced else "", "/".join(rest[1:])
