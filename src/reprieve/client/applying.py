"""`apply`: make what is there what a manifest says, and remember what was said, so that the next time what is gone from
the manifest goes from the object too. The memory is the annotation that kubectl keeps, so both can be used in turns.

Three are merged: what was applied before, what is applied now, and what is there.

1. What was applied before and is not any more is removed.
2. What is applied now is set.
3. What others have set, and nobody applied, stays.

Lists that have a key are merged by it, as Kubernetes does for its own kinds; all other lists are replaced, unless what
is there differs only by what the server filled in.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from reprieve.client.connection import Client
from reprieve.client.errors import Refused
from reprieve.client.paths import LAST_APPLIED, place_of
from reprieve.manifests.kinds import NODES
from reprieve.manifests.resource import Field, Fields, Resource
from reprieve.stores.writing import merge_patch_between

Data = dict[str, Any]
Outcome = Literal["created", "configured", "unchanged"]
_TRIES = 6
_PLAIN = Field()
_OF_THE_SERVER = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink")
_ENCODER = msgspec.json.Encoder(decimal_format="number", order="sorted")


class Applied(NamedTuple):
    resource: Resource
    name: str
    outcome: Outcome


def apply(client: Client, manifest: Mapping[str, Any]) -> Applied:
    """One object; whoever changes it at the same moment makes this try again, with what they wrote."""
    resource, version, namespace, name = place_of(manifest)
    wanted = _remembering(manifest)
    for attempt in range(_TRIES):
        try:
            there = client.find(resource, name, namespace, version=version)
            if there is None:
                client.create(resource, wanted, namespace, version=version)
                return Applied(resource, name, "created")
            return Applied(resource, name, _change(client, there, wanted))
        except Refused as error:
            if attempt == _TRIES - 1 or not (error.conflict or error.already_exists):
                raise
    raise AssertionError("the last attempt returns or raises")


def _change(client: Client, there: Data, wanted: Data) -> Outcome:
    resource, version, namespace, name = place_of(wanted)
    before = _remembered(there)
    # An object that was written in another version of its API is changed in that one.
    wanted = {**wanted, "apiVersion": there["apiVersion"]}
    whole = merged(before, wanted, there, Field(fields=resource.merge_keys))
    patch = merge_patch_between(there, whole)
    status = patch.pop("status", None) if resource.status else None
    changed = there["metadata"]["resourceVersion"]
    if patch:
        patch.setdefault("metadata", {})["resourceVersion"] = changed
        there = client.patch(resource, name, namespace, patch, version=version)
    if status and resource == NODES:  # nodes alone register with their status; all others leave it to controllers
        there = client.patch(resource, name, namespace, {"status": status}, version=version, subresource="status")
    return "unchanged" if there["metadata"]["resourceVersion"] == changed else "configured"


def _remembering(manifest: Mapping[str, Any]) -> Data:
    """The manifest with a memory of itself."""
    plain = _without_memory(manifest)
    memory = _ENCODER.encode(plain).decode() + "\n"
    metadata = {**plain["metadata"], "annotations": {**_annotations(plain), LAST_APPLIED: memory}}
    # What goes out and what comes back are compared: both as JSON has them.
    return {**msgspec.json.decode(memory), "metadata": metadata}


def _without_memory(manifest: Mapping[str, Any]) -> Data:
    annotations = {name: text for name, text in _annotations(manifest).items() if name != LAST_APPLIED}
    metadata = {name: value for name, value in manifest["metadata"].items() if name not in _OF_THE_SERVER}
    if "annotations" in metadata:
        metadata["annotations"] = annotations
    return {**manifest, "metadata": metadata}


def _annotations(manifest: Mapping[str, Any]) -> dict[str, str]:
    return manifest["metadata"].get("annotations") or {}


def _remembered(there: Data) -> Data:
    """What was applied before; an object that was made in another way remembers nothing."""
    try:
        found = msgspec.json.decode(_annotations(there).get(LAST_APPLIED, "{}"))
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


# The merge of three


def merged(before: Any, now: Any, there: Any, field: Field = _PLAIN) -> Any:
    """The value that should be there."""
    if isinstance(now, Mapping) and isinstance(there, Mapping) and not field.replaced:
        return _merged_objects(before if isinstance(before, Mapping) else {}, now, there, field.fields)
    if isinstance(now, list) and isinstance(there, list):
        return _merged_lists(before if isinstance(before, list) else [], now, there, field)
    return now


def _merged_objects(
    before: Mapping[str, Any], now: Mapping[str, Any], there: Mapping[str, Any], fields: Fields
) -> Data:
    result = {name: value for name, value in there.items() if name in now or name not in before}
    for name, value in now.items():
        result[name] = merged(before.get(name), value, there.get(name), fields.get(name, _PLAIN))
    return {name: value for name, value in result.items() if value is not None}


def _merged_lists(before: list[Any], now: list[Any], there: list[Any], field: Field) -> list[Any]:
    key = field.key
    if key is None:
        return there if _covers(before, now, there) else now
    if not key:
        return [*now, *(item for item in there if item not in now and item not in before)]
    if not all(isinstance(item, Mapping) and key in item for item in (*before, *now, *there)):
        return now
    return _merged_by_key(key, before, now, there, field.fields)


def _merged_by_key(
    key: str, before: Sequence[Data], now: Sequence[Data], there: Sequence[Data], fields: Fields
) -> list[Any]:
    known = {item[key]: item for item in there}
    applied = {item[key]: item for item in before}
    wanted = {item[key]: item for item in now}
    result = [
        _merged_objects(applied.get(name, {}), item, known[name], fields) if name in known else item
        for name, item in wanted.items()
    ]
    return [*result, *(item for name, item in known.items() if name not in wanted and name not in applied)]


def _covers(before: Any, now: Any, there: Any) -> bool:
    """Whether what is there is what is applied, with at most something filled in; and nothing is to be removed."""
    if isinstance(now, Mapping) and isinstance(there, Mapping):
        earlier = before if isinstance(before, Mapping) else {}
        removed = any(name in there and name not in now for name in earlier)
        return not removed and all(
            name in there and _covers(earlier.get(name), value, there[name]) for name, value in now.items()
        )
    if isinstance(now, list) and isinstance(there, list):
        earlier_items = before if isinstance(before, list) and len(before) == len(now) else [None] * len(now)
        return len(now) == len(there) and all(map(_covers, earlier_items, now, there))
    return bool(now == there)
