"""By which key the lists of an object are merged; a list that is not named is replaced as a whole.

These are the keys that kubectl and the client libraries reckon with when they work out a patch. They are not always
those of server-side apply: taints, for one, have no key here, and whoever changes one sends them all.
"""

from collections.abc import Mapping
from typing import NamedTuple

SET = ""


class Field(NamedTuple):
    """How one field is merged.

    `key` is what tells the objects of a list apart, `SET` where it is a list of texts that each stand there once, and
    None where a list is replaced. `replaced` says the same of an object.
    """

    key: str | None = None
    fields: "Mapping[str, Field]" = {}
    replaced: bool = False


Fields = Mapping[str, Field]


def parts(**fields: Field) -> Field:
    return Field(fields=fields)


def by(key: str, fields: Fields | None = None) -> Field:
    return Field(key, fields or {})


_CONTAINER: Fields = {
    "env": by("name"),
    "ports": by("containerPort"),
    "volumeMounts": by("mountPath"),
    "volumeDevices": by("devicePath"),
}
METADATA = parts(ownerReferences=by("uid"), finalizers=by(SET))
CONDITIONS = parts(conditions=by("type"))
POD_SPEC = parts(
    containers=by("name", _CONTAINER),
    initContainers=by("name", _CONTAINER),
    ephemeralContainers=by("name", _CONTAINER),
    volumes=by("name"),
    imagePullSecrets=by("name"),
    hostAliases=by("ip"),
    topologySpreadConstraints=by("topologyKey"),
    schedulingGates=by("name"),
    resourceClaims=by("name"),
)
TEMPLATED = parts(template=parts(metadata=METADATA, spec=POD_SPEC))
