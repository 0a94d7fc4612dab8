"""What YuniKorn refuses of placement rules, and rules that never give a queue."""

from collections.abc import Iterator

from reprieve.manifests import yunikorn
from reprieve.manifests.problems import Finding, did_you_mean, found, one_of
from reprieve.model.patterns import BadPattern, pattern

_RULES = ("provided", "user", "tag", "fixed")
_TAGS = ("namespace", "namespace.parentqueue")
_TYPES = ("", "allow", "deny")


def check_rules(path: str, partition: yunikorn.Partition) -> Iterator[Finding]:
    leaves = _leaves(partition)
    for index, rule in enumerate(partition.placementrules):
        place = f"{path}.placementrules[{index}]"
        yield from _check_rule(place, rule)
        yield from _check_fixed(place, rule, leaves, leaf=True)


def _leaves(partition: yunikorn.Partition) -> dict[str, bool]:
    """All configured queues by their full name, and whether each is a leaf."""
    named = partition.queues[:1] if [queue.name.lower() for queue in partition.queues] == [yunikorn.ROOT] else ()
    below = named[0].queues if named else partition.queues
    walked = yunikorn.walk(below, "", yunikorn.ROOT)
    return {yunikorn.ROOT: False, **{name.lower(): queue.leaf for queue, name, _ in walked}}


def _check_rule(path: str, rule: yunikorn.PlacementRule) -> Iterator[Finding]:
    name = rule.name.lower()
    if name not in _RULES:
        yield Finding(f"{path}.name", found(rule.name), one_of(_RULES), did_you_mean(rule.name, _RULES))
    if name in ("tag", "fixed") and not rule.value:
        yield Finding(f"{path}.value", "missing", f"a {name} rule needs one")
    if name in ("provided", "user") and rule.value:
        yield Finding(f"{path}.value", found(rule.value), f"no effect: a {name} rule has none", severity="warning")
    if name == "tag" and rule.value and rule.value.lower() not in _TAGS:
        right = f"no effect: the rule never gives a queue; {one_of(_TAGS)}"
        yield Finding(f"{path}.value", found(rule.value), right, did_you_mean(rule.value, _TAGS), "warning")
    if name == "fixed" and rule.value and not all(map(yunikorn.QUEUE_NAME.fullmatch, rule.value.split("."))):
        yield Finding(f"{path}.value", found(rule.value), "allowed: names of queues with a dot between them")
    if name == "fixed" and rule.parent is not None and _is_whole(rule.value):
        yield Finding(
            f"{path}.parent", f"beside {rule.value}, which is whole", "allowed: no parent, or a part of a name"
        )
    yield from _check_filter(f"{path}.filter", rule.filter)
    if rule.parent is not None:
        yield from _check_rule(f"{path}.parent", rule.parent)


def _is_whole(name: str) -> bool:
    return name.lower().startswith(f"{yunikorn.ROOT}.")


def _check_fixed(path: str, rule: yunikorn.PlacementRule, leaves: dict[str, bool], *, leaf: bool) -> Iterator[Finding]:
    """A rule that names one queue can be told beforehand whether it gives it."""
    if rule.parent is not None:
        yield from _check_fixed(f"{path}.parent", rule.parent, leaves, leaf=False)
    elif rule.name.lower() == "fixed" and rule.value:
        queue = rule.value.lower() if _is_whole(rule.value) else f"{yunikorn.ROOT}.{rule.value.lower()}"
        is_leaf = leaves.get(queue)
        if is_leaf is None and not rule.create:
            right = "allowed: a queue that is configured, or create: true"
            yield Finding(f"{path}.value", f"{queue} does not exist", right, did_you_mean(queue, leaves))
        elif is_leaf is not None and is_leaf is not leaf:
            right = f"allowed: a queue that has {'none' if leaf else 'queues'} below it"
            yield Finding(f"{path}.value", f"{queue} is {'a leaf' if is_leaf else 'no leaf'}", right)


def _check_filter(path: str, wanted: yunikorn.Filter) -> Iterator[Finding]:
    if wanted.type.lower() not in _TYPES:
        yield Finding(f"{path}.type", found(wanted.type), one_of(_TYPES), did_you_mean(wanted.type, _TYPES))
    for which in ("users", "groups"):
        names = getattr(wanted, which)
        for index, name in enumerate(names):
            if not yunikorn.REGULAR_EXPRESSION.search(name):
                continue
            if len(names) > 1:
                yield Finding(f"{path}.{which}[{index}]", found(name), "allowed: a regular expression alone, or names")
            elif not _compiles(name):
                yield Finding(f"{path}.{which}[{index}]", found(name), "allowed: a name or a regular expression")


def _compiles(text: str) -> bool:
    try:
        pattern(text)
    except BadPattern:
        return False
    return True
