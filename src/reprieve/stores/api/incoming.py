"""What is sent, made fit to be kept: a copy of its own, without nulls, of the kind it was sent as, with its metadata.

Metadata is divided in two: what users say (name, labels, annotations, finalizers, owners), and what the store says
(uid, versions, times, generation), which nobody else can change.
"""

import random
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from reprieve.manifests import served
from reprieve.manifests.diagnosis import drop_nulls
from reprieve.manifests.kinds import NAMESPACES, PODS
from reprieve.manifests.meta import Manifest
from reprieve.manifests.problems import Finding, found
from reprieve.manifests.resource import Resource
from reprieve.model.clock import timestamp
from reprieve.stores.errors import BadRequest, MethodNotAllowed, TooLarge, conflict, invalid

Data = dict[str, Any]
LARGEST = 3 * 1024 * 1024 // 2
"""The largest object in bytes, as etcd takes it."""
_LARGE = 64 * 1024
_MOST_CONTAINERS = 1_000
_MOST_PARTS = 10_000
"""Objects and lists in a spec, however deep. Each is read, compared and looked up again and again."""
_MOST_NAMES, _MOST_TOGETHER = 1_000, 20_000
"""Names in one object of a spec, labels or resources say, and in all of them together: each is checked by itself."""
_MOST_RESOURCES, _MOST_DIFFERENT = 5_000, 100
"""What the containers of a pod ask for, counted for each of them, and once: each is a column of the table of nodes."""
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""What generated names end in: no vowels and no letters that look like digits, so that they spell nothing."""
_SUFFIX = 5
_LONGEST_BASE = 63 - _SUFFIX
_FIXED = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_STORES_OWN = ("managedFields", "selfLink", "generation", "resourceVersion", *_FIXED)
_IMMUTABLE = "the field cannot be changed"

encode = msgspec.json.Encoder().encode
decode: Any = msgspec.json.Decoder().decode


class Identities:
    """New uids and names: random, or the same each time when there is a seed."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.SystemRandom() if seed is None else random.Random(seed)  # noqa: S311

    def uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def name(self, base: str) -> str:
        return base[:_LONGEST_BASE] + "".join(self._random.choices(_LETTERS, k=_SUFFIX))


def own_copy(resource: Resource, data: Mapping[str, Any]) -> Data:
    """A copy that nobody else changes, as JSON would carry it, of the right kind."""
    try:
        raw = encode(data)
        if len(raw) > LARGEST:
            raise TooLarge(f"the object has {len(raw)} bytes; at most {LARGEST} are kept, as etcd has it")
        copy = drop_nulls(decode(raw)) if b"null" in raw else decode(raw)
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise BadRequest(f"not an object that can be written as JSON: {error}") from error
    typed = _typed(resource, copy)
    _check_containers(typed)
    if len(raw) > _LARGE:
        _check_parts(typed.get("spec"))
        _check_metadata(typed.get("metadata"))
    return typed


def _check_metadata(metadata: Any) -> None:
    for name in ("labels", "annotations", "finalizers", "ownerReferences"):
        found = metadata.get(name) if isinstance(metadata, dict) else None
        if isinstance(found, dict | list) and len(found) > _MOST_PARTS:
            raise TooLarge(f"the object has {len(found)} {name}; at most {_MOST_PARTS} {name} are kept")


def _check_parts(spec: Any) -> None:
    """What the spec itself names is not counted: what it has no field for is not read."""
    parts = list(_parts(spec))
    if len(parts) > _MOST_PARTS:
        raise TooLarge(f"the spec has {len(parts)} objects and lists in it; at most {_MOST_PARTS} are kept")
    names = [len(each) for each in parts if isinstance(each, dict)]
    if max(names, default=0) > _MOST_NAMES:
        raise TooLarge(f"an object in the spec has {max(names)} names; at most {_MOST_NAMES} are kept")
    if sum(names) > _MOST_TOGETHER:
        raise TooLarge(f"objects in the spec have {sum(names)} names together; at most {_MOST_TOGETHER} are kept")


def _parts(data: Any) -> Iterator[Any]:
    """The objects and lists in one, however deep."""
    left = [data]
    while left:
        here = left.pop()
        inner = here.values() if isinstance(here, dict) else here if isinstance(here, list) else ()
        found = [each for each in inner if isinstance(each, dict | list)]
        yield from found
        left += found


def _check_containers(data: Data) -> None:
    """What agents write about containers has to fit, too, and is written again and again."""
    spec = data.get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    inner = template.get("spec") if isinstance(template, dict) else None
    for each in (spec, inner):
        containers = each.get("containers") if isinstance(each, dict) else None
        if isinstance(containers, list) and len(containers) > _MOST_CONTAINERS:
            raise TooLarge(f"a pod has {len(containers)} containers; at most {_MOST_CONTAINERS} containers are kept")
        _check_resources(containers if isinstance(containers, list) else [])


def _check_resources(containers: list[Any]) -> None:
    amounts = [each for container in containers for each in _amounts_of(container)]
    number, names = sum(map(len, amounts)), {name for each in amounts for name in each}
    if number > _MOST_RESOURCES:
        raise TooLarge(f"the containers of a pod name {number} resources; at most {_MOST_RESOURCES} are kept")
    if len(names) > _MOST_DIFFERENT:
        raise TooLarge(f"a pod names {len(names)} different resources; at most {_MOST_DIFFERENT} are kept")


def _amounts_of(container: Any) -> list[Data]:
    """What a container asks for, and its limits."""
    said = container.get("resources") if isinstance(container, dict) else None
    found = said.values() if isinstance(said, dict) else ()
    return [each for each in found if isinstance(each, dict)]


def _typed(resource: Resource, data: Any) -> Data:
    if not isinstance(data, dict):
        raise BadRequest(f"{found(data)}; it must be an object with apiVersion and kind")
    kind = data.pop("kind", resource.kind)
    api_version = data.pop("apiVersion", resource.api_version)
    if kind != resource.kind or api_version not in [resource.in_version(version) for version in resource.versions]:
        raise BadRequest(f"{api_version} {kind} was sent where {resource.api_version} {resource.kind} is kept")
    metadata = data.pop("metadata", {})
    if not isinstance(metadata, dict):
        raise invalid(resource, "", [Finding("$.metadata", found(metadata), "it must be an object")])
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **data}


def name_in(resource: Resource, metadata: Data) -> str:
    name = metadata.get("name", "")
    if not isinstance(name, str):
        raise invalid(resource, "", [Finding("$.metadata.name", found(name), "it must be text")])
    return name


def namespace_in(resource: Resource, metadata: Data) -> str:
    """Where the object lives; what has no namespace loses one that was given by mistake."""
    if not resource.namespaced:
        metadata.pop("namespace", None)
        return ""
    namespace = metadata.setdefault("namespace", "default")
    if not isinstance(namespace, str):
        raise invalid(resource, "", [Finding("$.metadata.namespace", found(namespace), "it must be text")])
    return namespace


def misread(metadata: Data) -> list[Finding]:
    """What cannot be read of what the store says itself: it is replaced, but who sends nonsense is told."""
    sent = {field: metadata[field] for field in _STORES_OWN if field in metadata}
    return served.mistakes({"metadata": sent}, Manifest) if sent else []


def begin(data: Data, uid: str, now: datetime) -> None:
    """The metadata of a new object; what the store says replaces whatever was sent."""
    metadata = data["metadata"]
    for field in _STORES_OWN:
        metadata.pop(field, None)
    metadata["uid"] = uid
    metadata["creationTimestamp"] = timestamp(now)
    if "spec" in data:
        metadata["generation"] = 1


def follow(resource: Resource, new: Data, old: Data) -> None:
    """The metadata of a changed object: what the store says stays, and trying to change it is a mistake."""
    metadata, before = new["metadata"], old["metadata"]
    for field in ("managedFields", "selfLink", "generation"):
        metadata.pop(field, None)
    name = before["name"]
    if metadata.get("uid", before["uid"]) != before["uid"]:
        raise conflict(resource, name, f"it is another object of that name: uid {before['uid']}")
    findings = [
        Finding(f"$.metadata.{field}", found(metadata[field]), f"{_IMMUTABLE}; it is {before.get(field, 'not set')}")
        for field in ("name", "namespace", *_FIXED)
        if field in metadata and metadata[field] != before.get(field)
    ]
    findings += _new_finalizers(metadata, before)
    if findings:
        raise invalid(resource, name, findings)
    for field in ("name", "namespace", "generation", *_FIXED):
        if field in before:
            metadata[field] = before[field]
    metadata["resourceVersion"] = before["resourceVersion"]


def _new_finalizers(metadata: Data, before: Data) -> list[Finding]:
    if "deletionTimestamp" not in before or not isinstance(metadata.get("finalizers", []), list):
        return []
    there = frozenset(before.get("finalizers", []))
    added = [each for each in metadata.get("finalizers", []) if not isinstance(each, str) or each not in there]
    right = "the object is being deleted: finalizers can only be removed"
    return [Finding("$.metadata.finalizers", found(added[0]), right)] if added else []


# Which part of an object a write may change: the whole but its status, only its status, or only its finalizers


def merge(resource: Resource, before: Data, after: Mapping[str, Any], subresource: str) -> Data:
    """The object before, with that part as it is after. Parts are shared, not copied."""
    if not subresource:
        return _main(resource, before, after)
    if subresource == "status" and resource.status:
        return _status(resource, before, after)
    if subresource == "finalize" and resource is NAMESPACES:
        return _with(before, "spec", after.get("spec", {}))
    raise MethodNotAllowed(f"{resource} have no {subresource} that is written apart")


def _main(resource: Resource, before: Data, after: Mapping[str, Any]) -> Data:
    kept = ("spec", "status") if resource is NAMESPACES else ("status",) if resource.status else ()
    merged = dict(after)
    for name in kept:
        merged = _with(merged, name, before.get(name))
    return merged


def _status(resource: Resource, before: Data, after: Mapping[str, Any]) -> Data:
    """The status alone; an agent may label and annotate its pods with it. A version that is asked for still counts."""
    metadata, sent = dict(before["metadata"]), after.get("metadata", {})
    if isinstance(sent, Mapping):
        taken = ("uid", "resourceVersion", "labels", "annotations") if resource is PODS else ("uid", "resourceVersion")
        metadata |= {name: sent[name] for name in taken if name in sent}
    return _with({**before, "metadata": metadata}, "status", after.get("status"))


def _with(data: Data, name: str, value: Any) -> Data:
    """An object with one field as it should be; None: without it."""
    if value is None:
        return {key: kept for key, kept in data.items() if key != name}
    return {**data, name: value}
