"""`apply`: make what is there what a manifest says, and remember what was said, so that the next time what is gone from
the manifest goes from the object too. The memory is the annotation that kubectl keeps, so both can be used in turns.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from reprieve.client.connection import Client
from reprieve.client.errors import Refused
from reprieve.client.merging import merged
from reprieve.client.paths import LAST_APPLIED, place_of
from reprieve.manifests.kinds import NODES
from reprieve.manifests.resource import Field, Resource
from reprieve.stores.writing import merge_patch_between

Data = dict[str, Any]
Outcome = Literal["created", "configured", "unchanged"]
_TRIES = 6
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


_OF_THE_SERVER = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink")


def _annotations(manifest: Mapping[str, Any]) -> dict[str, str]:
    return manifest["metadata"].get("annotations") or {}


def _remembered(there: Data) -> Data:
    """What was applied before; an object that was made in another way remembers nothing."""
    try:
        found = msgspec.json.decode(_annotations(there).get(LAST_APPLIED, "{}"))
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
