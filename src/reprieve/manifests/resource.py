"""One kind in one API group: all that is known of it beside the types it is read as.

By which key its lists are merged is part of that; a list that is not named is replaced as a whole. These are the keys
that kubectl and the client libraries reckon with when they work out a patch. They are not always those of server-side
apply: taints, for one, have no key here, and whoever changes one sends them all.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from reprieve.manifests.columns import AGE, NAME, Column
from reprieve.manifests.meta import Manifest

_BUILT_IN = ("", "apps", "batch", "policy", "node.k8s.io", "scheduling.k8s.io", "storage.k8s.io")
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


class Resource(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A row of the table of kinds. There is one of each, so that they are told apart by being the same one."""

    kind: str
    group: str
    types: Mapping[str, type[Manifest]]
    """The type that each version is written in, the preferred version first."""
    plural: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    category: Literal["", "all", "work"] = ""
    """Who shows it when asked for `all`: kubectl and Reprieve, Reprieve alone, or (empty) nobody."""
    subresources: tuple[str, ...] = ("status",)
    """What is read or written apart from the rest."""
    columns: tuple[Column, ...] = (NAME, AGE)
    selectable: Mapping[str, str] = {}
    """Fields that selectors may ask for, with what each counts as where an object does not say it."""
    defaults: Mapping[str, Any] = {}
    """What is filled in where an object of the preferred version does not say it; in a list, into each item."""
    begins: Mapping[str, Any] = {}
    """What a new object has, whatever it says."""
    spec_merge: Field = Field()
    status_merge: Field = CONDITIONS

    @property
    def versions(self) -> tuple[str, ...]:
        return tuple(self.types)

    @property
    def newest(self) -> type[Manifest]:
        """The type that the preferred version is written in."""
        return next(iter(self.types.values()))

    @property
    def api_version(self) -> str:
        """The version that is preferred, with its group."""
        return self.in_version(next(iter(self.types)))

    def in_version(self, version: str) -> str:
        return f"{self.group}/{version}" if self.group else version

    @property
    def full_name(self) -> str:
        """`pods`, or `jobs.batch`: as errors and people write it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def custom(self) -> bool:
        """Whether Kubernetes itself does not have it: a custom resource of one of the designs."""
        return self.group not in _BUILT_IN

    @property
    def status(self) -> bool:
        """Whether its status is written apart from the rest."""
        return "status" in self.subresources

    @property
    def merge_keys(self) -> Fields:
        """The fields that are merged in a way of their own."""
        return {"metadata": METADATA, "spec": self.spec_merge, "status": self.status_merge}

    def answers_to(self, word: str) -> bool:
        """Whether people call it so: plural, singular or short name, with or without its group, in any case."""
        asked, _, group = word.lower().partition(".")
        called = asked in (self.plural, self.kind.lower(), *self.short_names)
        return called and (not group or self.group == group or self.group.startswith(f"{group}."))

    def __str__(self) -> str:
        return self.full_name


def plural_of(kind: str) -> str:
    word = kind.lower()
    if word.endswith("y"):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith("s") else "s")


def group_of(api_version: str) -> str:
    return api_version.rpartition("/")[0]
