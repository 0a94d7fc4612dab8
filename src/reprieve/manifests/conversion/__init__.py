"""Objects in the version that is asked for, whatever version they were written in.

1. Each version is translated to the preferred one and from it, on plain data: what no translation knows stays in place.
2. What the other version cannot say is kept in an annotation of the object, and comes back with it: to a version and
   back is the same object, to the letter.
3. Whoever has changed in the other version what a kept field was translated to has changed the field: that wins.
"""

import copy
from typing import Any

from reprieve.manifests.conversion import groups, quota
from reprieve.manifests.conversion.kept_fields import KEPT_FIELDS, differences, kept_in, restore, with_kept
from reprieve.manifests.conversion.translation import Translation
from reprieve.manifests.resource import Resource

__all__ = ["KEPT_FIELDS", "convert", "keep_unsaid"]

Data = dict[str, Any]
_TRANSLATIONS: dict[tuple[str, str], Translation] = {**groups.TRANSLATIONS, **quota.TRANSLATIONS}
"""By version and kind; a version without one is written as the preferred one is."""


def convert(resource: Resource, data: Data, api_version: str) -> Data:
    """An object in another version of its kind. What is given is not changed, but may be shared."""
    source = data["apiVersion"]
    if source == api_version:
        return data
    kept = kept_in(data)
    found = _translated(resource, data, api_version)
    restore(found, kept.pop(api_version, []))
    lost = differences(_said(data), _said(_translated(resource, found, source)))
    return with_kept(found, {**kept, **({source: lost} if lost else {})})


def keep_unsaid(data: Data, before: Data) -> Data:
    """What is sent without the annotation says nothing about what its version cannot say: that stays as it was."""
    if data["apiVersion"] != before["apiVersion"] or kept_in(data) or not kept_in(before):
        return data
    return with_kept(data, kept_in(before))


def _translated(resource: Resource, data: Data, api_version: str) -> Data:
    """A copy as the other version spells it, and no more than that version can say."""
    translated = {**copy.deepcopy(_said(data)), "metadata": data["metadata"]}
    for version, upwards in ((data["apiVersion"], True), (api_version, False)):
        translation = _TRANSLATIONS.get((version, resource.kind))
        if translation is not None:
            (translation.to_preferred if upwards else translation.from_preferred)(translated)
    return {"apiVersion": api_version, "kind": resource.kind, **translated}


def _said(data: Data) -> Data:
    """All but what it is called, which no translation touches."""
    return {name: value for name, value in data.items() if name not in ("apiVersion", "kind", "metadata")}
