"""By which key the lists of Kubernetes' own kinds are merged; a list that is not named here is replaced as a whole.

These are the keys that kubectl and the client libraries reckon with when they work out a patch. They are not always
those of server-side apply: taints, for one, have no key here, and whoever changes one sends them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

SET = ""


class Field(NamedTuple):
    """How one field is merged.

    `key` is what tells the objects of a list apart, `SET` where it is a list of texts that each stand there once, and
    None where a list is replaced. `replaced` says the same of an object.
    """

    key: str | None = None
    fields: Mapping[str, Field] = {}
    replaced: bool = False


Fields = Mapping[str, Field]


def _parts(**fields: Field) -> Field:
    return Field(fields=fields)


def _by(key: str, fields: Fields | None = None) -> Field:
    return Field(key, fields or {})


_CONTAINER: Fields = {
    "env": _by("name"),
    "ports": _by("containerPort"),
    "volumeMounts": _by("mountPath"),
    "volumeDevices": _by("devicePath"),
}
_POD_SPEC = _parts(
    containers=_by("name", _CONTAINER),
    initContainers=_by("name", _CONTAINER),
    ephemeralContainers=_by("name", _CONTAINER),
    volumes=_by("name"),
    imagePullSecrets=_by("name"),
    hostAliases=_by("ip"),
    topologySpreadConstraints=_by("topologyKey"),
    schedulingGates=_by("name"),
    resourceClaims=_by("name"),
)
_METADATA = _parts(ownerReferences=_by("uid"), finalizers=_by(SET))
_CONDITIONS = _parts(conditions=_by("type"))
_TEMPLATED = _parts(template=_parts(metadata=_METADATA, spec=_POD_SPEC))
_SPECS = {
    "Pod": _POD_SPEC,
    "Node": _parts(podCIDRs=_by(SET)),
    "PodDisruptionBudget": _parts(selector=Field(replaced=True)),
    **dict.fromkeys(("Job", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"), _TEMPLATED),
}
_STATUSES = {
    "Pod": _parts(conditions=_by("type"), podIPs=_by("ip"), hostIPs=_by("ip"), resourceClaimStatuses=_by("name")),
    "Node": _parts(conditions=_by("type"), addresses=_by("type")),
}


def fields_of(kind: str) -> Fields:
    """The fields of a kind that are merged in a way of their own; all kinds share those of metadata and conditions."""
    return {
        "metadata": _METADATA,
        "spec": _SPECS.get(kind, Field()),
        "status": _STATUSES.get(kind, _CONDITIONS),
    }
