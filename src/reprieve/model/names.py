"""What units are called: the one place where a name is put together, and taken apart again.

A unit is written `KIND/NAMESPACE/NAME`: `Pod/default/a`, `Node//n` where there is no namespace. The name of a group
of a Workload has parts of its own: `Workload/default/training/workers/0`.
"""

from typing import NamedTuple, NewType

UnitName = NewType("UnitName", str)
Key = tuple[str, str]
"""Namespace and name; the namespace is empty for what has none."""


class NameParts(NamedTuple):
    """A name, taken apart."""

    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> Key:
        return self.namespace, self.name


def unit_name(kind: str, namespace: str, name: str) -> UnitName:
    """How a unit is written."""
    return UnitName(f"{kind}/{namespace}/{name}")


def shown(unit: str) -> str:
    """A unit as people read it: `Cohort/a`, without the namespace that it does not have."""
    return unit.replace("//", "/", 1)


def parts_of(unit: str) -> NameParts:
    """Kind, namespace and name of a unit that `unit_name` has written."""
    kind, _, rest = unit.partition("/")
    namespace, _, name = rest.partition("/")
    return NameParts(kind, namespace, name)


def kind_of(unit: str) -> str:
    return unit.partition("/")[0]


def key_of(unit: str) -> Key:
    return parts_of(unit).key
