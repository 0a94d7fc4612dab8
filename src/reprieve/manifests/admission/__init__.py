"""What an admission controller would refuse: one module a family, used by `check` and by the webhook.

A rule takes an object and the `Neighbours` it lives among, and yields what is wrong. Objects that only need reading
never come here, and a decision about a live cluster turns what is found here into warnings.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from reprieve.manifests.admission import (
    group_updates,
    job_sets,
    karmada,
    kueue,
    kueue_updates,
    kueue_without_effect,
    metadata,
    pod_groups,
    pods,
    resource_quotas,
    scheduling,
    yunikorn,
)
from reprieve.manifests.admission.neighbours import Neighbours
from reprieve.manifests.identity import LoadedObject
from reprieve.manifests.problems import Finding, Problem
from reprieve.model.patience import go_on

__all__ = ["Neighbours", "admit", "admit_all"]

_RULES: dict[type, Any] = {
    **pods.RULES,
    **job_sets.RULES,
    **resource_quotas.RULES,
    **scheduling.RULES,
    **pod_groups.RULES,
    **kueue.RULES,
    **yunikorn.RULES,
    **karmada.RULES,
}
_WHEN_NEW = {**pods.WHEN_NEW, **pod_groups.WHEN_NEW}


def admit_all(entries: list[LoadedObject], old: Iterable[LoadedObject] = (), *, new: bool = False) -> list[Problem]:
    """Everything that admission would refuse, where `old` is what the cluster had before, and still has.

    `new`: what is not among the old is to be made; else it may be there already.
    """
    before = {entry.key: entry.manifest for entry in old}
    neighbours = Neighbours((*before.values(), *(entry.manifest for entry in entries)))
    problems: list[Problem] = []
    for entry in entries:
        go_on()
        if findings := admit(entry, neighbours, before.get(entry.key) if before else None, new=new):
            problems += (
                each.at(entry.origin, entry.unit, "admission").inside(entry.unit, entry.path) for each in findings
            )
    return problems


def admit(
    entry: LoadedObject, neighbours: Neighbours, old: msgspec.Struct | None = None, *, new: bool = False
) -> list[Finding]:
    """What admission says to one object: to be made, changed from `old`, or simply there."""
    findings = list(metadata.check(entry.manifest))
    rule = _RULES.get(type(entry.written))
    if rule is not None:
        findings += rule(entry.written, neighbours)
    if new and old is None and not _exists(entry) and type(entry.written) in _WHEN_NEW:
        findings += _WHEN_NEW[type(entry.written)](entry.written, neighbours)
    findings += kueue.check_queued(entry.manifest)
    findings += kueue_without_effect.check_without_effect(entry.manifest)
    if old is not None:
        findings += scheduling.check_update(entry.manifest, old)
        findings += group_updates.check_update(entry.manifest, old)
        findings += kueue_updates.check_update(entry.manifest, old)
    return findings


def _exists(entry: LoadedObject) -> bool:
    """Whether an object says that a server has made it already, as what `kubectl get -o yaml` prints does."""
    metadata = getattr(entry.written, "metadata", None)
    return metadata is not None and bool(metadata.uid or metadata.creation_timestamp)
