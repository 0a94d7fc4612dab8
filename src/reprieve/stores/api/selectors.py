"""Which objects a list or a watch asks for: label and field selectors, as they stand in a request.

A selector is compiled once and then asked about many objects. Parts are joined by commas, and all have to hold.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from reprieve.manifests.admission.metadata import is_label_key, is_label_value
from reprieve.manifests.problems import did_you_mean, one_of, show
from reprieve.manifests.resource import Resource
from reprieve.stores.errors import BadRequest
from reprieve.stores.records import Record

LabelPredicate = Callable[[Mapping[str, str]], bool]
ObjectPredicate = Callable[[Mapping[str, Any]], bool]


class BadSelector(BadRequest):
    """A selector that cannot be read, or asks for a field that cannot be asked for; names the part."""


def matcher(resource: Resource, labels: str = "", fields: str = "") -> ObjectPredicate:
    """Both selectors as one question about an object's plain data."""
    by_labels, by_fields = label_selector(labels), field_selector(fields, resource)
    return lambda data: by_fields(data) and by_labels(data.get("metadata", {}).get("labels") or {})


# Labels

_EXISTS = re.compile(r"(?P<not>!?)\s*(?P<key>[^\s=!()<>]+)")
_EQUALS = re.compile(r"(?P<key>[^\s=!()<>]+)\s*(?P<operator>==|=|!=)\s*(?P<value>[^\s=!()<>]*)")
_AMONG = re.compile(r"(?P<key>[^\s=!()<>]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)")
_FORMS = "allowed: key, !key, key=value, key==value, key!=value, key in (a,b), key notin (a,b)"


class _Requirement(NamedTuple):
    """A label that must be one of some values (None: any at all), or, turned round, must not."""

    key: str
    values: frozenset[str] | None
    negated: bool

    def holds(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        return (value is not None and (self.values is None or value in self.values)) != self.negated


def label_selector(text: str) -> LabelPredicate:
    """`a=b,c!=d,e in (f,g),h notin (i),j,!k`; nothing at all means everything.

    Who does not have a label differs from every value of it.
    """
    if not text.strip():
        return lambda _: True
    requirements = [_requirement(part.strip()) for part in _parts(text)]
    return lambda labels: all(requirement.holds(labels) for requirement in requirements)


def _parts(text: str) -> Iterator[str]:
    """What commas outside of brackets separate."""
    begin, inside = 0, False
    for place, letter in enumerate(text):
        if letter in "()":
            inside = letter == "("
        elif letter == "," and not inside:
            yield text[begin:place]
            begin = place + 1
    yield text[begin:]


def _requirement(part: str) -> _Requirement:
    if found := _EXISTS.fullmatch(part):
        return _valid(part, _Requirement(found["key"], None, bool(found["not"])))
    if found := _EQUALS.fullmatch(part):
        return _valid(part, _Requirement(found["key"], frozenset([found["value"]]), found["operator"] == "!="))
    if found := _AMONG.fullmatch(part):
        values = frozenset(value.strip() for value in found["values"].split(","))
        return _valid(part, _Requirement(found["key"], values, found["operator"] == "notin"))
    raise BadSelector(f"label selector: {show(part)} cannot be read; {_FORMS}")


def _valid(part: str, requirement: _Requirement) -> _Requirement:
    if not is_label_key(requirement.key):
        right = "allowed: an optional DNS name and /, then letters, digits, -, _ and ., at most 63 long"
        raise BadSelector(f"label selector: {show(part)}: {show(requirement.key)} is no label key; {right}")
    for value in sorted(requirement.values or ()):
        if not is_label_value(value):
            right = "allowed: letters, digits, -, _ and ., at most 63 long"
            raise BadSelector(f"label selector: {show(part)}: {show(value)} is no label value; {right}")
    return requirement


# Fields

_EVERYWHERE = {"metadata.name": "", "metadata.namespace": ""}
_TERM = re.compile(r"(?P<field>[^=!\\]*)(?P<operator>==|=|!=)(?P<value>(?:[^=\\]|\\.)*)", re.DOTALL)
_TERM_FORMS = "allowed: field=value, field==value, field!=value"
# Up to a comma that no backslash takes for a part of the value.
_PART = re.compile(r"(?:[^,\\]|\\.?)+", re.DOTALL)


class _Term(NamedTuple):
    path: tuple[str, ...]
    otherwise: str
    value: str
    negated: bool

    def holds(self, data: Any) -> bool:
        for name in self.path:
            data = data.get(name) if isinstance(data, Mapping) else None
        return (_text(data, self.otherwise) == self.value) != self.negated


def field_selector(text: str, resource: Resource) -> ObjectPredicate:
    """`spec.nodeName=n1,status.phase!=Failed`; in values a backslash stands before a comma, = or backslash."""
    terms = list(_terms(text, resource))
    return lambda data: all(term.holds(data) for term in terms)


def _terms(text: str, resource: Resource) -> Iterator[_Term]:
    allowed = {**_EVERYWHERE, **resource.selectable}
    for part in _PART.findall(text):
        found = _TERM.fullmatch(part)
        if found is None:
            raise BadSelector(f"field selector: {show(part)} cannot be read; {_TERM_FORMS}")
        field = found["field"].strip()
        if field not in allowed:
            near = did_you_mean(field, allowed)
            right = f"{one_of(allowed)}{'; ' + near if near else ''}"
            raise BadSelector(f"field selector: {show(field)} cannot be asked for in {resource}; {right}")
        value = re.sub(r"\\(.)", r"\1", found["value"], flags=re.DOTALL)
        yield _Term(tuple(field.split(".")), allowed[field], value, found["operator"] == "!=")


def _text(value: Any, otherwise: str) -> str:
    """What a field is compared as; an empty one counts as not said."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if value not in (None, "") else otherwise


# Records, without keeping them decoded


class _OnlyLabels(msgspec.Struct):
    labels: dict[str, str] = {}


class _Labelled(msgspec.Struct):
    metadata: _OnlyLabels


_LABELS = msgspec.json.Decoder(_Labelled)
_DATA = msgspec.json.Decoder()


def select(records: Iterable[Record], resource: Resource, labels: str, fields: str) -> Iterator[Record]:
    if not fields:
        by_labels = label_selector(labels)
        return (record for record in records if by_labels(_LABELS.decode(record.raw).metadata.labels))
    matches = matcher(resource, labels, fields)
    return (record for record in records if matches(_DATA.decode(record.raw)))
