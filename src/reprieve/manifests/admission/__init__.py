"""What an admission controller would refuse: one module a family, used by `check` and by the webhook.

A rule takes an object and the `Neighbours` it lives among, and yields what is wrong. Objects that only need reading
never come here, and a decision about a live cluster turns what is found here into warnings.
"""

from collections.abc import Iterable

import msgspec

from reprieve.manifests.admission import karmada, kueue, metadata, pods, scheduling, yunikorn
from reprieve.manifests.admission.neighbours import Neighbours
from reprieve.manifests.identity import LoadedObject
from reprieve.manifests.problems import Finding, Problem

__all__ = ["Neighbours", "admit", "admit_all"]

_RULES = {**pods.RULES, **scheduling.RULES, **kueue.RULES, **yunikorn.RULES, **karmada.RULES}


def admit_all(entries: list[LoadedObject], old: Iterable[LoadedObject] = ()) -> list[Problem]:
    """Everything that admission would refuse, where `old` is what the cluster had before, and still has."""
    before = {entry.key: entry.manifest for entry in old}
    neighbours = Neighbours((*before.values(), *(entry.manifest for entry in entries)))
    problems: list[Problem] = []
    for entry in entries:
        problems += (
            finding.at(entry.origin, entry.unit, "admission").inside(entry.unit, entry.path)
            for finding in admit(entry, neighbours, before.get(entry.key))
        )
    return problems


def admit(entry: LoadedObject, neighbours: Neighbours, old: msgspec.Struct | None = None) -> list[Finding]:
    """What admission says to one object, new or changed from `old`."""
    findings = list(metadata.check(entry.manifest))
    rule = _RULES.get(type(entry.written))
    if rule is not None:
        findings += rule(entry.written, neighbours)
    if old is not None:
        findings += scheduling.check_update(entry.manifest, old)
    return findings
