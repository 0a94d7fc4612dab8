"""Loading: from files, directories and streams to typed objects, with every problem of every file.

Reading and admission are two things. What cannot be read is an error everywhere and stands in `Loaded.problems` with
the stage `read`; what an admission controller would refuse is found later, by `manifests.admission`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec

from reprieve.manifests import identity, served, yunikorn
from reprieve.manifests.core import ConfigMap
from reprieve.manifests.diagnosis import diagnose, drop_nulls
from reprieve.manifests.documents import (
    Document,
    Head,
    decode_or_problem,
    find_files,
    head_of,
    read_bytes,
    read_file,
)
from reprieve.manifests.identity import LoadedObject
from reprieve.manifests.kinds import NAMESPACED, READERS, written_name
from reprieve.manifests.known_fields import fits, raw_fits, unknown_fields
from reprieve.manifests.loaded import Loaded
from reprieve.manifests.meta import Manifest, Reader
from reprieve.manifests.problems import Finding, Origin, Problem, Severity, Stage, found, join_path
from reprieve.manifests.reading import Reading, told
from reprieve.manifests.resource import group_of
from reprieve.manifests.yaml_reader import SyntaxProblem, read_yaml
from reprieve.model.patience import go_on


def load(paths: Iterable[str], *, strict: bool = False) -> Loaded:
    """Read all that `-f` arguments name. Fields that the API does not have are warnings or, if `strict`, errors."""
    files, problems = find_files(paths)
    loader = _Loader(_severity(strict))
    loader.loaded.problems += problems
    return loader.read(document for file in files for document in read_file(file))


def load_text(text: str | bytes, *, name: str = "text", strict: bool = False) -> Loaded:
    """Read manifests from a string."""
    content = text.encode() if isinstance(text, str) else text
    return _Loader(_severity(strict)).read(read_bytes(content, name, keep=True))


def load_stored(objects: Iterable[bytes], *, name: str) -> Loaded:
    """Read what a store has: it was admitted, and what it has beside the fields that are known is its own business."""
    text = b'{"apiVersion":"v1","kind":"List","items":[' + b",".join(objects) + b"]}"
    loaded = _Loader(None).read(read_bytes(text, name))
    loaded.stored.add(name)
    return loaded


def load_documents(documents: Iterable[Document], *, strict: bool = False) -> Loaded:
    """Read manifests from documents that somebody else needs as well."""
    return _Loader(_severity(strict)).read(documents)


def load_objects(objects: Iterable[Any], *, name: str = "objects", strict: bool = False, look: bool = True) -> Loaded:
    """Read manifests that are plain data already; `look` for what reading passes over, unless somebody else did."""
    documents = (Document(Origin(name, number), data) for number, data in enumerate(objects, 1))
    return _Loader(_severity(strict) if look else None).read(documents)


def _severity(strict: bool) -> Severity:
    return "error" if strict else "warning"


_NO_ITEMS = Finding("$.items", "not a list", "it must be a list of objects")
_TOLD_EVERY = 1000
_LONGEST_BASE = 58
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
# An item that says what it is, as kubectl writes it. Without this the last reader would take it for one of its own.
_NAMED = re.compile(rb'\s*\{\s*"apiVersion"\s*:\s*"[^"]*"\s*,\s*"kind"\s*:')


class _Loader:
    """`minds`: how much it matters that a field is not one of the API; None: nobody looks."""

    def __init__(self, minds: Severity | None) -> None:
        self.loaded = Loaded()
        self._minds = minds
        self._seen: defaultdict[str, dict[str, Origin]] = defaultdict(dict)
        """Where each object was read first: by API group, then by name."""
        self._last: Reader | None = None
        self._names = 0
        self._config_maps: list[tuple[ConfigMap, LoadedObject]] = []
        """YuniKorn's, which are looked into once all are there: one has what another leaves out."""

    def read(self, documents: Iterable[Document]) -> Loaded:
        for document in documents:
            go_on()
            self.loaded.documents += 1
            if document.kept is not None:
                self.loaded.sources.keep(document.origin.file, document.kept)
            try:
                self._document(document)
            except RecursionError:
                self._syntax(document.origin, SyntaxProblem("nested too deeply"))
        self._configurations()
        told(Reading("", len(self.loaded.entries)))
        self.loaded.problems = self.loaded.sources.located(self.loaded.problems)
        return self.loaded

    def _document(self, document: Document) -> None:
        if document.problem is not None:
            self._syntax(document.origin, document.problem)
        elif document.raw is not None:
            self._json(document.raw, document.origin, document.head)
        elif document.data is not None:
            self._data(document.data, document.origin)

    # JSON, without a detour over plain data as long as nothing is wrong

    def _json(self, raw: msgspec.Raw | bytes, origin: Origin, head: Head | None) -> None:
        try:
            head = head or head_of(raw)
        except _UNREADABLE:
            return self._data(decode_or_problem(raw), origin)
        reader = READERS.get((head.api_version, head.kind))
        if reader is not None and self._typed_json(raw, reader, origin):
            return None
        if reader is None and identity.is_list(head.kind) and head.items is not msgspec.UNSET:
            return self._json_items(head, origin)
        return self._data(decode_or_problem(raw), origin)

    def _json_items(self, head: Head, origin: Origin) -> None:
        items = head.items or ()
        if isinstance(items, msgspec.Raw):
            return self._report(origin, head.kind, [_NO_ITEMS])
        item_type = identity.implied_type(head.api_version, head.kind)
        implied = READERS.get(item_type)
        self._last = implied or self._last
        for number, raw in enumerate(items, 1):
            place = Origin(origin.file, origin.document, number)
            if not number % _TOLD_EVERY:
                told(Reading(origin.file, number, len(items), understanding=True))
            # Items are mostly of one kind: the last reader is tried first, and refuses what is not its own.
            own = self._last is implied or _NAMED.match(raw)
            if self._last is None or not own or not self._typed_json(raw, self._last, place):
                self._untried_json(raw, place, item_type)

    def _untried_json(self, raw: msgspec.Raw, origin: Origin, implied: tuple[str, str]) -> None:
        data = decode_or_problem(raw)
        reader = identity.reader_of(*identity.type_of(data, implied)) if isinstance(data, dict) else None
        if reader is None or not self._typed_json(raw, reader, origin):
            self._data(data, origin, implied)
        if reader is not None:
            self._last = reader

    def _typed_json(self, raw: msgspec.Raw | bytes, reader: Reader, origin: Origin) -> bool:
        try:
            written = reader.json.decode(raw)
        except _UNREADABLE:
            return False
        if self._minds and not raw_fits(raw, reader.written):
            return False  # something may be wrong with it: what, is seen in plain data
        self._add(written, reader, origin)
        return True

    # Plain data, from YAML or where JSON needs a closer look

    def _data(self, data: Any, origin: Origin, implied: tuple[str, str] = ("", "")) -> None:
        if isinstance(data, SyntaxProblem):
            return self._syntax(origin, data)
        if not isinstance(data, dict):
            finding = Finding("$", found(data), "it must be an object with apiVersion and kind")
            return self._report(origin, "", [finding])
        if "partitions" in data and "kind" not in data:
            return self._convert(data, identity.QUEUES, origin)
        api_version, kind = identity.type_of(data, implied)
        if identity.is_list(kind):
            items = identity.implied_type(api_version, kind)
            if "items" in data or kind == "List" or identity.reader_of(*items):
                return self._items(data, origin, kind, items)
        missing = [
            Finding(f"$.{name}", "missing" if not value else found(value), f"it must be text such as {example}")
            for name, value, example in (("apiVersion", api_version, "v1"), ("kind", kind, "Pod"))
            if not value or not isinstance(value, str)
        ]
        if missing:
            return self._report(origin, identity.label(kind, data), missing)
        reader = READERS.get((api_version, kind))
        if reader is None:
            return self._unknown(api_version, kind, data, origin)
        return self._convert({**data, "apiVersion": api_version, "kind": kind}, reader, origin)

    def _items(self, data: dict[str, Any], origin: Origin, kind: str, implied: tuple[str, str]) -> None:
        items = data.get("items", "")
        if not isinstance(items, list | None):
            return self._report(origin, identity.label(kind, data), [_NO_ITEMS])
        for number, item in enumerate(items or (), 1):
            self._data(item, Origin(origin.file, origin.document, number), implied)

    def _convert(self, data: Any, reader: Reader, origin: Origin) -> None:
        name = identity.label(reader.kind, data)
        if self._minds:
            self._unknown_fields(data, reader, origin, name)
        if reader is identity.QUEUES:
            data = yunikorn.with_text(data)
        try:
            written = reader.convert(data)
        except (msgspec.ValidationError, RecursionError):
            data = drop_nulls(data)
            findings = diagnose(data, reader)
            if findings:
                if reader is not identity.QUEUES and identity.is_nameless(data):
                    findings.append(identity.NAMELESS)
                self._report(origin, name, findings)
                return self._served(data, reader, origin, name, {finding.field for finding in findings})
            written = reader.convert(data)
        self._add(written, reader, origin)
        return self._served(data, reader, origin, name)

    def _unknown_fields(self, data: Any, reader: Reader, origin: Origin, name: str) -> None:
        found = (msgspec.structs.replace(each, severity=self._minds) for each in unknown_fields(data, reader.written))
        self._report(origin, name, found, "strict")

    def _served(self, data: Any, reader: Reader, origin: Origin, name: str, told: Iterable[str] = ()) -> None:
        """What a server refuses because of its agents and controllers, in fields that no decision reads."""
        if not self._minds or not issubclass(reader.written, Manifest):
            return
        if served.has_rules(reader.written) or not fits(data, reader.written):
            found = served.mistakes(drop_nulls(data), reader.written)
            self._report(origin, name, (each for each in found if each.field not in told), "admission")

    def _add(self, written: Any, reader: Reader, origin: Origin) -> None:
        if reader is identity.QUEUES:
            entry = LoadedObject(written, written, origin)
            self._is_first(*identity.QUEUES_KEY, origin, "$.partitions")
            self.loaded.entries.append(entry)
            return None
        metadata = written.metadata
        if not metadata.name and not metadata.generate_name:
            return self._report(origin, identity.label(written.kind, {}), [identity.NAMELESS])
        if not metadata.name:
            metadata = msgspec.structs.replace(metadata, name=self._generated(metadata.generate_name))
        if bool(metadata.namespace) != NAMESPACED[written.kind]:
            place = identity.DEFAULT_NAMESPACE if NAMESPACED[written.kind] else ""
            metadata = msgspec.structs.replace(metadata, namespace=place)
        if metadata is not written.metadata:
            written = msgspec.structs.replace(written, metadata=metadata)
        manifest = reader.internal(written)
        entry = LoadedObject(manifest, written, origin)
        unit = written_name(manifest.kind, metadata.namespace, metadata.name)
        first = self._is_first(group_of(reader.api_version), unit, origin, "$.metadata.name")
        self.loaded.entries.append(entry)
        if first and type(written) is ConfigMap and written.name in yunikorn.CONFIG_MAPS:
            self._config_maps.append((written, entry))
            if yunikorn.QUEUES_FILE in written.data and written.name == yunikorn.CONFIG_MAP:
                group, unit = identity.QUEUES_KEY
                self._seen[group].setdefault(unit, origin)

    def _generated(self, base: str) -> str:
        """A name as a server would give one, but the same each time."""
        self._names += 1
        return f"{base[:_LONGEST_BASE]}{self._names:05}"

    def _is_first(self, group: str, unit: str, origin: Origin, path: str) -> bool:
        first = self._seen[group].setdefault(unit, origin)
        if first is not origin:
            finding = Finding(path, f"already read from {first}", "allowed: each object once")
            self._report(origin, unit, [finding], "admission")
        return first is origin

    def _configurations(self) -> None:
        """The queues in YuniKorn's ConfigMaps; where those of its users say nothing, the defaults do."""
        defaults = [each for each in self._config_maps if each[0].name == yunikorn.DEFAULTS_MAP][:1]
        own = [each for each in self._config_maps if each[0].name == yunikorn.CONFIG_MAP]
        keys = [yunikorn.queues_key(*(each[0].data for each in (one, *defaults))) for one in own]
        said = [(*each, key) for each, key in zip(own, keys, strict=True) if key in each[0].data]
        group = [*own[:1], *defaults]
        if not said and defaults:
            said = [(*defaults[0], yunikorn.queues_key(*(each[0].data for each in group)))]
        for config_map, entry, key in said:
            if key in config_map.data:
                self._queues(config_map.data[key], key, entry)

    def _queues(self, text: str, key: str, entry: LoadedObject) -> None:
        """The queue configuration inside YuniKorn's ConfigMap, with its mistakes named from the outside."""
        place = join_path("$.data", key)
        inner = _Loader(self._minds)
        inner._seen = self._seen
        for data in [data for data in read_yaml(text) if data is not None][:1]:
            if isinstance(data, SyntaxProblem):
                finding = Finding(place, f"line {data.line} of it: {data.message}" if data.line else data.message)
                return self._report(entry.origin, entry.unit, [finding])
            if not isinstance(data, dict) or "partitions" not in data:
                finding = Finding(f"{place}.partitions", "missing", "it must be a list of partitions")
                return self._report(entry.origin, entry.unit, [finding])
            inner._convert(data, identity.QUEUES, entry.origin)
        read, problems = inner.loaded.entries, inner.loaded.problems
        self.loaded.entries += (msgspec.structs.replace(each, owner=entry.unit, path=place) for each in read)
        self.loaded.problems += (problem.inside(entry.unit, place) for problem in problems)

    # What is wrong

    def _unknown(self, api_version: str, kind: str, data: Any, origin: Origin) -> None:
        known = identity.versions_of(kind, group_of(api_version))
        if known:
            finding = Finding("$.apiVersion", found(api_version), f"allowed for {kind}: {', '.join(known)}")
            return self._report(origin, identity.label(kind, data), [finding])
        name = f"{api_version} {kind}"
        self.loaded.unknown[name] = self.loaded.unknown.get(name, 0) + 1
        if self.loaded.unknown[name] == 1:
            message = f"{name} is not a kind Reprieve reads"
            finding = Finding("$.kind", message, "ignored", identity.meant_kind(api_version, kind), "warning")
            self._report(origin, identity.label(kind, data), [finding])
        return None

    def _syntax(self, origin: Origin, problem: SyntaxProblem) -> None:
        self.loaded.problems.append(Problem(origin=origin, message=problem.message, line=problem.line))

    def _report(self, origin: Origin, name: str, findings: Iterable[Finding], stage: Stage = "read") -> None:
        self.loaded.problems += (finding.at(origin, name, stage) for finding in findings)
