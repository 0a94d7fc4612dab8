"""Where a field stands in the text it was read from, and how its value is written there.

Reading keeps no positions: they cost more than all the rest, and only who made a mistake asks for them. So the text is
gone through once more, for all fields of a document at once; what nobody asked about is skipped.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import yaml
from yaml import AliasEvent, MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent, SequenceStartEvent

from reprieve.manifests.shapes import Path
from reprieve.manifests.yaml_reader import PARSER, scalar, split

_STEP = re.compile(r'\.(?P<name>[^.\["]+)|\[(?P<index>\d+)\]|\["(?P<key>.*?)"\](?=[.\[]|$)')
_SPACE = re.compile(r"[ \t\r\n]*")
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str)
_MERGE = "<<"
_MOST_KEPT = 4_000_000
"""Characters of a document up to which anchors are followed: that takes the whole of it in memory."""
_UNREADABLE = (ValueError, LookupError, RecursionError, yaml.YAMLError)

Wanted = dict[str | int, Any]
"""Fields that are asked about, as a tree of the steps that lead to them."""


class Position(NamedTuple):
    """A line, counted from 1; and what stands there, where that is one word or text that is not in quotes."""

    line: int
    text: str = ""
    value: Any = None


def steps_of(field: str) -> Path:
    """`$.spec.containers[0]` as the steps it takes."""
    steps = _STEP.finditer(field.removeprefix("$"))
    return tuple(int(step["index"]) if step["index"] else step["name"] or step["key"] for step in steps)


def positions(content: bytes, document: int, paths: Iterable[Path]) -> dict[Path, Position]:
    """The position of each path; of one that is not there, the line of the last step that is."""
    paths = list(paths)
    text = content.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
    found: dict[Path, Position] = {}
    for search in (_in_json, _in_yaml) if text.lstrip()[:1] in ("{", "[") else (_in_yaml,):
        try:
            search(text, document, _tree(paths), found)
            break
        except _UNREADABLE:
            continue
    return {path: place for path in paths if (place := _nearest(path, found)) is not None}


def _tree(paths: Iterable[Path]) -> Wanted:
    tree: Wanted = {}
    for path in paths:
        branch = tree
        for step in path:
            branch = branch.setdefault(step, {})
    return tree


def _nearest(path: Path, found: dict[Path, Position]) -> Position | None:
    if path in found:
        return found[path]
    above = next((found[path[:length]] for length in range(len(path), -1, -1) if path[:length] in found), None)
    return Position(above.line) if above else None


# YAML


def _in_yaml(text: str, document: int, wanted: Wanted, found: dict[Path, Position]) -> None:
    chunks = list(split(text))
    if 0 < document <= len(chunks):
        first_line, chunk = chunks[document - 1]
        _YamlSearch(chunk, first_line, found).document((), wanted)


class _YamlSearch:
    """An alias, and what a merge key brings, is looked for where its anchor is: that is where it is written."""

    def __init__(self, chunk: str, first_line: int, found: dict[Path, Position]) -> None:
        self._parse: Callable[[], Any] = PARSER(chunk).get_event
        self._kept: list[Any] | None = [] if "&" in chunk and len(chunk) < _MOST_KEPT else None
        self._at = 0
        self._anchors: dict[str, int] = {}
        self._first_line = first_line
        self._found = found

    def _next(self) -> Any:
        if self._kept is None:
            return self._parse()
        if self._at == len(self._kept):
            event = self._parse()
            if type(event) is not AliasEvent and getattr(event, "anchor", None):
                self._anchors[event.anchor] = self._at
            self._kept.append(event)
        self._at += 1
        return self._kept[self._at - 1]

    @contextmanager
    def _anchored(self, alias: Any) -> Iterator[Any]:
        """What an alias stands for, to be read on from there."""
        back, self._at = self._at, self._anchors[alias.anchor]
        yield self._next()
        self._at = back

    def document(self, path: Path, wanted: Wanted) -> None:
        self._next()  # the stream starts
        if not isinstance(self._next(), yaml.events.StreamEndEvent):
            event = self._next()
            self._value(event, self._line(event), path, wanted)

    def _line(self, event: Any) -> int:
        line: int = event.start_mark.line
        return self._first_line + line

    def _value(self, event: Any, line: int, path: Path, wanted: Wanted) -> None:
        """`line`: where the key of the value is, or the value itself."""
        if type(event) is AliasEvent and event.anchor in self._anchors:
            with self._anchored(event) as written:
                self._value(written, line, path, wanted)
            return
        if type(event) is not ScalarEvent:
            self._found[path] = Position(line)
            self._parts(event, path, wanted)
            return
        self._found[path] = Position(line, event.value, scalar(event))
        if wanted and event.style == "|":
            _YamlSearch(event.value, self._line(event) + 1, self._found).document(path, wanted)

    def _parts(self, event: Any, path: Path, wanted: Wanted) -> None:
        if type(event) is MappingStartEvent:
            merged, own = [], set()
            while type(key := self._next()) is not MappingEndEvent:
                if (name := getattr(key, "value", "")) == _MERGE and _MERGE not in wanted:
                    merged += self._aliases(self._next())
                else:
                    own.add(name)
                    self._part(name, self._next(), self._line(key), path, wanted)
            self._merge(merged, path, {step: branch for step, branch in wanted.items() if step not in own})
        elif type(event) is SequenceStartEvent:
            index = 0
            while type(item := self._next()) is not SequenceEndEvent:
                self._part(index, item, self._line(item), path, wanted)
                index += 1

    def _aliases(self, event: Any) -> list[Any]:
        """What a merge key names: one alias, or a list of them."""
        if type(event) is not SequenceStartEvent:
            self._skip(event)
            return [event]
        found = []
        while type(item := self._next()) is not SequenceEndEvent:
            found += self._aliases(item)
        return found

    def _merge(self, aliases: list[Any], path: Path, wanted: Wanted) -> None:
        """What an object does not say itself it has from the first that says it."""
        for alias in reversed(aliases) if wanted else ():
            if type(alias) is AliasEvent and alias.anchor in self._anchors:
                with self._anchored(alias) as written:
                    self._parts(written, path, wanted)

    def _part(self, step: str | int, event: Any, line: int, path: Path, wanted: Wanted) -> None:
        if step in wanted:
            self._value(event, line, (*path, step), wanted[step])
        else:
            self._skip(event)

    def _skip(self, event: Any) -> None:
        depth = _depth(event)
        while depth:
            depth += _depth(self._next())


def _depth(event: Any) -> int:
    if type(event) in (MappingStartEvent, SequenceStartEvent):
        return 1
    return -1 if type(event) in (MappingEndEvent, SequenceEndEvent) else 0


# JSON


def _in_json(text: str, document: int, wanted: Wanted, found: dict[Path, Position]) -> None:
    start = _space(text, 0)
    for _ in range(document - 1):
        start = _space(text, _SCANNER.raw_decode(text, start)[1])
    places = sorted(_json_value(text, start, start, (), wanted), key=lambda place: place[1])
    line, counted = 1, 0
    for path, at, value in places:
        line, counted = line + text.count("\n", counted, at), at
        found[path] = Position(line, *value)


def _json_value(
    text: str, at: int, key_at: int, path: Path, wanted: Wanted
) -> Iterator[tuple[Path, int, tuple[Any, ...]]]:
    """What is asked about in the value that starts there."""
    if text[at] not in "{[":
        _, end = _SCANNER.raw_decode(text, at)
        yield path, key_at, (text[at:end], json.loads(text[at:end]))
        return
    yield path, key_at, ()
    for step, part_at, value_at in _json_parts(text, at) if wanted else ():
        if step in wanted:
            yield from _json_value(text, value_at, part_at, (*path, step), wanted[step])


def _json_parts(text: str, at: int) -> Iterator[tuple[str | int, int, int]]:
    """The parts of an object or a list: what each is called, where that stands, and where its value does."""
    named, index = text[at] == "{", 0
    at = _space(text, at + 1)
    while text[at] not in "}]":
        start = at
        step: str | int = index
        if named:
            step, at = _SCANNER.raw_decode(text, at)
            at = _space(text, _space(text, at) + 1)
        yield step, start, at
        at = _space(text, _SCANNER.raw_decode(text, at)[1])
        at = _space(text, at + 1) if text[at] == "," else at
        index += 1


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
