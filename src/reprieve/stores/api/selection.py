"""Choosing among records by selectors, without keeping them decoded."""

from collections.abc import Iterable, Iterator

import msgspec

from reprieve.manifests.resource import Resource
from reprieve.stores.api.selectors import label_selector, matcher
from reprieve.stores.records import Record


class _Metadata(msgspec.Struct):
    labels: dict[str, str] = {}


class _Labelled(msgspec.Struct):
    metadata: _Metadata


_LABELS = msgspec.json.Decoder(_Labelled)
_DATA = msgspec.json.Decoder()


def select(records: Iterable[Record], resource: Resource, labels: str, fields: str) -> Iterator[Record]:
    if not fields:
        by_labels = label_selector(labels)
        return (record for record in records if by_labels(_LABELS.decode(record.raw).metadata.labels))
    matches = matcher(resource, labels, fields)
    return (record for record in records if matches(_DATA.decode(record.raw)))
