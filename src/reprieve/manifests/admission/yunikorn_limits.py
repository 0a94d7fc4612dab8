"""What YuniKorn refuses of limits: of users and groups, and of how many applications run."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from reprieve.manifests import yunikorn
from reprieve.manifests.problems import Finding, found, join_path
from reprieve.model.resources import CPU, Resources, print_amount

_NAMES = {
    "users": (
        re.compile(r"[_a-zA-Z][a-zA-Z0-9_:#/@.\-]*\$?", re.ASCII),
        "allowed: *, or a letter or _ and then letters, digits, _, :, #, /, @, . and -",
    ),
    "groups": (
        re.compile(r"[_a-zA-Z][a-zA-Z0-9_:.\-]*", re.ASCII),
        "allowed: *, or a letter or _ and then letters, digits, _, :, . and -",
    ),
}


class Above(NamedTuple):
    """What holds for a queue because of those above it."""

    resources: Mapping[tuple[str, str], Resources]
    """By users or groups, and name: what the nearest limits above allow at most."""
    applications: Mapping[tuple[str, str], int]


NOTHING_ABOVE = Above({}, {})


def check_limits(path: str, limits: tuple[yunikorn.Limit, ...]) -> Iterator[Finding]:
    """The limits of one queue, or of a partition."""
    seen: dict[tuple[str, str], str] = {}
    for index, limit in enumerate(limits):
        place = f"{path}[{index}]"
        if not limit.users and not limit.groups:
            yield Finding(place, "names neither users nor groups", "allowed: at least one of them")
        if not any((limit.maxresources or {}).values()) and not limit.maxapplications:
            yield Finding(place, "limits nothing", "allowed: maxresources, maxapplications, or both")
        for which in _NAMES:
            yield from _check_names(f"{place}.{which}", which, getattr(limit, which))
            for name in dict.fromkeys(getattr(limit, which)):
                first = seen.setdefault((which, name), place)
                if first != place:
                    message = f"{found(name)}, which {first} names, too"
                    yield Finding(f"{place}.{which}", message, "allowed: each of a queue's users and groups once")
    if ("groups", yunikorn.EVERYBODY) in seen and not any(which == "groups" and name != "*" for which, name in seen):
        place = seen["groups", yunikorn.EVERYBODY]
        yield Finding(f"{place}.groups", "found * and no other limit for a group", "allowed: * beside a named group")


def _check_names(path: str, which: str, names: tuple[str, ...]) -> Iterator[Finding]:
    if yunikorn.EVERYBODY in names and len(set(names)) > 1:
        yield Finding(path, "found * beside other names", "allowed: * alone, or names")
    pattern, right = _NAMES[which]
    for index, name in enumerate(names):
        if name != yunikorn.EVERYBODY and not pattern.fullmatch(name):
            yield Finding(f"{path}[{index}]", found(name), right)


def check_tree(path: str, queue: yunikorn.Queue, above: Above = NOTHING_ABOVE) -> Iterator[Finding]:
    """Down one branch: nobody gets more in a queue than in one above it, nor than the queue itself has."""
    resources, applications = dict(above.resources), dict(above.applications)
    for index, limit in enumerate(queue.limits):
        place = f"{path}.limits[{index}]"
        yield from _check_within(f"{place}.maxresources", limit, queue.resources.max, f"the maximum of {queue.name}")
        if 0 < queue.maxapplications < limit.maxapplications:
            yield _too_many(f"{place}.maxapplications", limit.maxapplications, queue.maxapplications, "of its queue")
        for holder in _holders(limit):
            what = f"what a queue above allows {holder[0]} {holder[1]}"
            yield from _check_within(f"{place}.maxresources", limit, resources.get(holder), what)
            most = applications.get(holder, 0)
            if 0 < most < limit.maxapplications:
                yield _too_many(f"{place}.maxapplications", limit.maxapplications, most, "above it")
            resources[holder] = Resources({**resources.get(holder, {}), **(limit.maxresources or {})})
            applications[holder] = limit.maxapplications or most
    for index, child in enumerate(queue.queues):
        place = f"{path}.queues[{index}]"
        if 0 < queue.maxapplications < child.maxapplications:
            most = queue.maxapplications
            yield _too_many(f"{place}.maxapplications", child.maxapplications, most, f"of {queue.name}")
        yield from check_tree(place, child, Above(resources, applications))


def _holders(limit: yunikorn.Limit) -> Iterator[tuple[str, str]]:
    yield from (("user", name) for name in dict.fromkeys(limit.users))
    yield from (("group", name) for name in dict.fromkeys(limit.groups))


def _too_many(path: str, value: int, most: int, whose: str) -> Finding:
    return Finding(path, found(value), f"allowed: at most the maxapplications {whose}, {most}")


def _check_within(path: str, limit: yunikorn.Limit, most: Any, what: str) -> Iterator[Finding]:
    for name, units in (limit.maxresources or {}).items():
        if most and name in most and units > most[name]:
            place = join_path(path, yunikorn.VCORE if name == CPU else name)
            right = f"allowed: at most {what}, {print_amount(name, most[name])}"
            yield Finding(place, f"found {print_amount(name, units)}", right)
