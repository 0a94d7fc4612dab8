"""What all manifests share: the struct they are made of, how they are read, metadata, selectors, conditions."""

from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, Literal, dataclass_transform

import msgspec
from msgspec import Meta

from reprieve.model.resources import Quantity, QuantityError, Resources, exact_number

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
PositiveCount = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Time = Annotated[datetime, Meta(tz=True)]
ConditionStatus = Literal["True", "False", "Unknown"]
PreemptionPolicy = Literal["PreemptLowerPriority", "Never"]

SYSTEM_NODE_CRITICAL = "system-node-critical"
SYSTEM_CLUSTER_CRITICAL = "system-cluster-critical"


class KeywordStruct(msgspec.StructMeta):
    """Makes all fields of all subclasses keywords, so that a required one may follow an inherited default."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        return super().__new__(cls, name, bases, namespace, **{"kw_only": True, **options})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Model(msgspec.Struct, metaclass=KeywordStruct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """A part of a manifest. Fields that are not declared are ignored, as an API server would."""


class OwnerReference(Model):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(Model):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: Count | None = None
    owner_references: tuple[OwnerReference, ...] = ()


class Manifest(Model, omit_defaults=False):
    """A whole object. Subclasses name their `api_version` and `kind` as literals."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace


class Condition(Model):
    type: str
    status: ConditionStatus
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class SelectorRequirement(Model):
    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()


class LabelSelector(Model):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[SelectorRequirement, ...] = ()

    def matches(self, labels: dict[str, str]) -> bool:
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            _requirement_holds(requirement, labels) for requirement in self.match_expressions
        )

    @property
    def empty(self) -> bool:
        return not self.match_labels and not self.match_expressions


def _requirement_holds(requirement: SelectorRequirement, labels: dict[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None


class Taint(Model):
    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class Toleration(Model):
    key: str = ""
    operator: Literal["", "Equal", "Exists", "Lt", "Gt"] = ""
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""
    toleration_seconds: int | None = None


class Reference(Model):
    """A reference to another object, as far as any of the designs needs it."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


def find_condition(conditions: tuple[Condition, ...], kind: str) -> Condition | None:
    return next((condition for condition in conditions if condition.type == kind), None)


def is_true(conditions: tuple[Condition, ...], kind: str) -> bool:
    found = find_condition(conditions, kind)
    return found is not None and found.status == "True"


def decode_custom(kind: type, value: Any) -> Any:
    """msgspec's hook for the types it does not know: quantities and resource lists."""
    if kind is Resources or issubclass(kind, Resources):
        return kind.parse(value)
    if kind is Quantity:
        quantity = Quantity.parse(value)
        if quantity.nano < 0:
            raise QuantityError(value, "negative", "zero or more")
        return quantity
    raise NotImplementedError(f"{kind} has no decoder")


class Reader:
    """How one kind in one version is read: the type it is written in and, from there, the type it becomes."""

    def __init__(self, api_version: str, kind: str, written: type[Any]) -> None:
        self.api_version = api_version
        self.kind = kind
        self.written = written
        self._converts = hasattr(written, "internal")

    @cached_property
    def json(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(self.written, dec_hook=decode_custom, float_hook=exact_number)

    def convert(self, data: Any) -> Any:
        return msgspec.convert(data, self.written, dec_hook=decode_custom)

    def internal(self, written: Any) -> Any:
        return written.internal() if self._converts else written
