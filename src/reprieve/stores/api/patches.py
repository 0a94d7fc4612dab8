"""The four ways in which Kubernetes lets an object be changed in part, by the media type that the request names.

Nothing here changes what it is given. A merged document shares with the old one what the patch leaves alone, so whoever
goes on to change the result in place has to copy that part first.
"""

from collections.abc import Mapping
from typing import Any

from reprieve.manifests.diagnosis import drop_nulls
from reprieve.manifests.problems import one_of, show
from reprieve.manifests.resource import Resource
from reprieve.stores.api.json_patch import DEEPEST, TOO_DEEP, BadPatch, PatchFailed, json_patch
from reprieve.stores.api.strategic import strategic_merge
from reprieve.stores.errors import UnsupportedMediaType
from reprieve.stores.protocol import PatchType

MEDIA_TYPES: dict[str, PatchType] = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}


class UnsupportedPatch(UnsupportedMediaType):
    """A media type that is no patch, or not one for this kind."""


def patch_type(content_type: str) -> PatchType:
    """What a `Content-Type` means, whatever its case and parameters."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type not in MEDIA_TYPES:
        raise UnsupportedPatch(f"the media type of the patch is {show(content_type)}; {one_of(MEDIA_TYPES)}")
    return MEDIA_TYPES[media_type]


def apply_patch(document: Mapping[str, Any] | None, patch: Any, kind: PatchType, resource: Resource) -> dict[str, Any]:
    """The object as the patch makes it; no document: there is no such object yet, and `apply` makes one.

    `apply` merges as a strategic patch does and ignores nulls. It keeps no record of who set which field, so that
    nothing conflicts, and a field that is no longer applied stays until somebody removes it.
    """
    if document is None and kind != "apply":
        raise PatchFailed("there is nothing to patch; only an apply patch makes a new object")
    if kind == "strategic" and resource.custom:
        others = one_of(media_type for media_type, other in MEDIA_TYPES.items() if other != "strategic")
        why = f"{resource.full_name} takes no strategic merge patch; {others}"
        raise UnsupportedPatch(why, group=resource.group, kind=resource.plural)
    if kind != "json" and not isinstance(patch, Mapping):
        raise BadPatch(f"a {kind} patch is an object with the fields to change; this is {show(patch)}")
    try:
        return _patched(document or {}, patch, kind, resource)
    except RecursionError:
        raise BadPatch(TOO_DEEP) from None


def _patched(document: Mapping[str, Any], patch: Any, kind: PatchType, resource: Resource) -> dict[str, Any]:
    match kind:
        case "json":
            return _still_an_object(json_patch(document, patch))
        case "merge":
            return dict(merge_patch(document, patch))
        case "strategic":
            return strategic_merge(document, patch, resource)
        case "apply":
            # A null says nothing here: clients send `creationTimestamp: null` and mean no harm.
            return strategic_merge(document, drop_nulls(patch), resource)


def _still_an_object(patched: Any) -> dict[str, Any]:
    if not isinstance(patched, dict):
        raise PatchFailed(f"the patch leaves {show(patched)}; an object has to remain an object")
    level: list[Any] = [patched]
    for _ in range(DEEPEST):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return patched
    raise BadPatch(TOO_DEEP)


def _inside(value: Any) -> list[Any]:
    """The objects and lists in one."""
    values = value.values() if isinstance(value, dict) else value
    return [inner for inner in values if isinstance(inner, dict | list)]


def merge_patch(document: Any, patch: Any) -> Any:
    """JSON Merge Patch (RFC 7386): objects are merged, null removes, all else is replaced."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(document) if isinstance(document, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
