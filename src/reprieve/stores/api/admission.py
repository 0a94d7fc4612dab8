"""Admission on every write: reading, and what the designs and Kubernetes refuse.

1. What cannot be read as its kind is refused with every mistake named.
2. What the rules of `manifests.admission` find is refused; warnings are not.
3. What was wrong before is not held against a change of something else: a pod whose class has gone can still be
   changed, or it could never be ended.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from reprieve.manifests import kinds, served
from reprieve.manifests.admission import Neighbours, admit
from reprieve.manifests.diagnosis import diagnose
from reprieve.manifests.identity import NAMELESS, LoadedObject, is_nameless
from reprieve.manifests.kinds import READERS
from reprieve.manifests.meta import Reader
from reprieve.manifests.problems import Finding, Origin
from reprieve.manifests.resource import Resource
from reprieve.stores.errors import invalid
from reprieve.stores.records import Record, WatchEvent

_ORIGIN = Origin("store", 0)
Rules = Callable[[LoadedObject], Iterable[Finding]]
_IN_TREES = (kinds.COHORTS, kinds.COMPOSITE_POD_GROUPS)
LOOKED_AT = (
    *(kinds.PRIORITY_CLASSES, kinds.RESOURCE_FLAVORS, kinds.CLUSTER_QUEUES, kinds.WORKLOAD_PRIORITY_CLASSES),
    *(kinds.ADMISSION_CHECKS, kinds.LIMIT_RANGES, kinds.RUNTIME_CLASSES),
    *_IN_TREES,
)
"""What rules look at besides the object itself; the rest need not be remembered twice."""


def read(
    resource: Resource, data: dict[str, Any], wrong: Iterable[Finding] = (), rules: Rules = lambda _: ()
) -> LoadedObject:
    """An object as its kind, or everything that is wrong with it: for decisions, and for those who act on it.

    `wrong` is known to be so already; `rules` are asked what else is, where something is.
    """
    reader = READERS[data["apiVersion"], resource.kind]
    try:
        written = reader.convert(data)
    except (msgspec.ValidationError, RecursionError):
        raise invalid(resource, _name(data), [*wrong, *_mistakes(data, reader)]) from None
    typed = LoadedObject(reader.internal(written), written, _ORIGIN)
    findings = [*wrong, *served.mistakes(data, reader.written)]
    if findings:
        raise invalid(resource, _name(data), [*findings, *rules(typed)])
    return typed


def read_raw(resource: Resource, raw: bytes, data: dict[str, Any]) -> LoadedObject:
    """The same from bytes, which is faster; what is wrong is looked for in the data."""
    reader = READERS[data["apiVersion"], resource.kind]
    try:
        written = reader.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        raise invalid(resource, _name(data), _mistakes(data, reader)) from None
    return LoadedObject(reader.internal(written), written, _ORIGIN)


def _mistakes(data: dict[str, Any], reader: Reader) -> list[Finding]:
    try:
        findings = diagnose(data, reader)
        named = {finding.field for finding in findings}
        findings += (finding for finding in served.mistakes(data, reader.written) if finding.field not in named)
    except RecursionError:
        findings = []
    return findings or [Finding("$", "it cannot be read", "it may be nested too deeply")]


def _name(data: dict[str, Any]) -> str:
    name = data["metadata"].get("name", "")
    return name if isinstance(name, str) else ""


class AdmissionChecks:
    """The rules, with what they have to know about everything else that exists."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.neighbours = Neighbours(record.manifest for record in records)

    def follow(self, event: WatchEvent) -> None:
        """Something has happened that rules may have to know."""
        if event.record.resource not in LOOKED_AT:
            return
        if event.type == "DELETED":
            self.neighbours.remove(event.record.manifest)
        else:
            self.neighbours.put(event.record.manifest)

    def read_new(self, resource: Resource, data: dict[str, Any], wrong: list[Finding]) -> LoadedObject:
        """A new object as its kind, or all at once that is wrong with it; `wrong` is known to be so already."""
        nameless = is_nameless(data)

        def rules(typed: LoadedObject) -> list[Finding]:
            return [] if nameless else self._errors(resource, typed, None)

        return read(resource, data, [*wrong, *([NAMELESS] if nameless else ())], rules)

    def check(self, resource: Resource, typed: LoadedObject, old: Record | None = None) -> None:
        """Refuse what is wrong with an object, new or changed."""
        findings = self._errors(resource, typed, old)
        if findings and old is not None:
            before = self._errors(resource, _typed_of(old), None)
            findings = [finding for finding in findings if finding not in before]
        if findings:
            raise invalid(resource, typed.manifest.name, findings)

    def _errors(self, resource: Resource, typed: LoadedObject, old: Record | None) -> list[Finding]:
        neighbours = self.neighbours
        if resource in _IN_TREES:
            neighbours = neighbours.beside(typed.manifest)
        found = admit(typed, neighbours, old.manifest if old is not None else None)
        return [finding for finding in found if finding.severity == "error"]


def _typed_of(record: Record) -> LoadedObject:
    return LoadedObject(record.manifest, record.reader().json.decode(record.raw), _ORIGIN)
