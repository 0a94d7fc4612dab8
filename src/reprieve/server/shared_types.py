"""What is sent and answered beside objects of a kind, whatever the kind: lists, states, options, patches."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from reprieve.manifests.meta import Count, Model, ObjectMeta, Reference
from reprieve.server.queries import LARGEST
from reprieve.stores.protocol import Propagation


class ListMeta(Model):
    resource_version: Annotated[str, Meta(description="The version at which this was so.")]
    remaining_item_count: Annotated[int, Meta(ge=0, le=LARGEST)] | None = None
    continue_: str = msgspec.field(name="continue", default="")


class Status(Model):
    kind: Literal["Status"]
    api_version: Literal["v1"]
    status: Literal["Success", "Failure"]
    metadata: dict[str, Any] = {}
    message: str = ""
    reason: str = ""
    details: dict[str, Any] = {}
    code: int = 0


class Preconditions(Model):
    uid: str = ""
    resource_version: Annotated[str, Meta(pattern="^[0-9]{0,18}$")] = ""


class DeleteOptions(Model):
    kind: Literal["DeleteOptions"] = "DeleteOptions"
    grace_period_seconds: Count | None = None
    propagation_policy: Propagation | None = None
    preconditions: Preconditions | None = None
    dry_run: Annotated[tuple[Literal["All"], ...], Meta(max_length=1)] = ()


class Binding(Model):
    target: Reference
    kind: Literal["Binding"] = "Binding"
    api_version: Literal["v1"] = "v1"
    metadata: ObjectMeta = ObjectMeta()


class Eviction(Model):
    kind: Literal["Eviction"] = "Eviction"
    api_version: Literal["policy/v1"] = "policy/v1"
    metadata: ObjectMeta = ObjectMeta()
    delete_options: DeleteOptions = DeleteOptions()


class JsonPatchOperation(Model):
    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    path: str
    value: Any = None
    from_: str = msgspec.field(name="from", default="")


SHARED: tuple[type[Model], ...] = (ListMeta, Status, DeleteOptions, Binding, Eviction, JsonPatchOperation)
