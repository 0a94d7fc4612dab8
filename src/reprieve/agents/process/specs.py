"""What a pod asks of this machine, read from its manifest, and the process that each container is to be.

The image of a container is not used: its command is one of this machine. Volumes, probes and security contexts are not
used either.
"""

from collections.abc import Mapping
from typing import Any, Literal, Self

import msgspec

from reprieve.manifests.problems import ReprieveError
from reprieve.stores.records import Record
from reprieve.texts import agents as texts

Data = dict[str, Any]
RestartPolicy = Literal["Always", "OnFailure", "Never"]
CONFIG_ERROR, CREATE_ERROR = "CreateContainerConfigError", "CreateContainerError"


class NotStarted(ReprieveError):
    """Why a container does not run."""

    def __init__(self, message: str, reason: str = CONFIG_ERROR) -> None:
        super().__init__(message)
        self.reason = reason


class CannotRun(NotStarted):
    """A container that will never run as it is written."""


class NotYet(NotStarted):
    """A container that cannot be started now, but perhaps later."""


class SpecModel(msgspec.Struct, rename="camel"):
    """Part of a manifest; what is not read is passed over."""


class FieldReference(SpecModel):
    field_path: str


class ResourceReference(SpecModel):
    resource: str
    container_name: str = ""
    divisor: str | int | float | None = None


class KeyReference(SpecModel):
    key: str
    name: str = ""
    optional: bool | None = None


class ValueSource(SpecModel):
    field_ref: FieldReference | None = None
    resource_field_ref: ResourceReference | None = None
    config_map_key_ref: KeyReference | None = None


class ContainerVariable(SpecModel):
    name: str
    value: str | None = None
    value_from: ValueSource | None = None


class MapReference(SpecModel):
    name: str = ""
    optional: bool | None = None


class VariableSource(SpecModel):
    prefix: str | None = None
    config_map_ref: MapReference | None = None


class ContainerTask(SpecModel):
    """One container, as far as a process can be made of it."""

    name: str
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[ContainerVariable, ...] | None = None
    env_from: tuple[VariableSource, ...] | None = None
    working_dir: str | None = None

    @classmethod
    def read(cls, container: Mapping[str, Any]) -> Self:
        try:
            return msgspec.convert(container, cls)
        except msgspec.ValidationError as problem:
            raise CannotRun(texts.not_readable(problem)) from None


class PodTask(SpecModel):
    """What a pod says about its life."""

    containers: tuple[Data, ...]
    init_containers: tuple[Data, ...] | None = None
    restart_policy: RestartPolicy | None = None
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None

    @classmethod
    def read(cls, pod: Record) -> Self:
        return msgspec.convert(pod.data["spec"], cls)

    @property
    def policy(self) -> RestartPolicy:
        return self.restart_policy or "Always"

    @property
    def grace(self) -> float:
        seconds = self.termination_grace_period_seconds
        return 30.0 if seconds is None else max(0.0, float(seconds))
