"""YAML as Kubernetes understands it, straight from parser events.

Unlike PyYAML's own loader it keeps times as text, reads `12:30` as text and `0.5` exactly, refuses a key that is
named twice, and says which document of the file is broken while reading the others.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import yaml
from yaml import AliasEvent, MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent, SequenceStartEvent

from reprieve.manifests.reading import Reading, told
from reprieve.model.garbage import no_garbage_collection
from reprieve.model.resources import exact_number

# libyaml where PyYAML was built with it; only its parser is used
PARSER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_MARKER = re.compile(r"^(?:---(?=[ \t\r\n]|$)|\.\.\.[ \t\r]*$)", re.MULTILINE)
_CONTENT = re.compile(r"^[ \t]*[^ \t\r\n#%]|^[ \t]+%", re.MULTILINE)
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9_]*|0o?_*[0-7][0-7_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*|0b_*[01][01_]*)$")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
for _yes, _no in (("true", "false"), ("yes", "no"), ("on", "off")):
    for _form in (str.lower, str.capitalize, str.upper):
        _WORDS |= {_form(_yes): True, _form(_no): False}
# First characters of everything that is not plain text: the rest needs no closer look.
_SPECIAL = frozenset("-+.0123456789~nNtTfFyYoO")
_ADVICE = (
    ("tab", "indent with spaces"),
    ("cannot start any token", "indent with spaces, and put text that starts with a special character in quotes"),
    ("mapping values are not allowed", "indent evenly, and put text with a colon in quotes"),
    ("scanning a quoted scalar", "close the quotes"),
    ("parsing a flow", "close every [ and {, with commas between"),
    ("parsing a block", "indent evenly"),
    ("<document start>", "indent evenly"),
)
_STRING = "tag:yaml.org,2002:str"
_MOST_UNFOLDED = 5_000_000
_DEEPEST = 200
_TOLD_EVERY = 1 << 14


class SyntaxProblem(msgspec.Struct, frozen=True):
    """Why a document is no YAML or JSON, and at which line of the file."""

    message: str
    line: int | None = None


class _Refused(Exception):
    def __init__(self, message: str, event: Any) -> None:
        self.problem = SyntaxProblem(message, event.start_mark.line + 1)


def read_yaml(text: str, name: str = "") -> Iterator[Any]:
    """Each document of a file in turn: its data, or a `SyntaxProblem`; a document without content is None."""
    done = 0

    def tell(position: int) -> None:
        told(Reading(name, done + position, len(text), understanding=True))

    for first_line, chunk in split(text):
        yield _read_document(chunk, first_line, tell)
        done += len(chunk)
        tell(0)


def split(text: str) -> Iterator[tuple[int, str]]:
    """Cut at document markers, which YAML allows nowhere else: one broken document does not hide the next."""
    start, line = 0, 1
    directives = ""
    between = True  # before the first document, or after one that ended with `...`
    for marker in [*_MARKER.finditer(text), None]:
        chunk = text[start : marker.start() if marker else len(text)]
        opening = marker is not None and marker[0] == "---"
        if between and not _CONTENT.search(chunk) and (opening or "%" not in chunk):
            directives = chunk if "%" in chunk else ""  # comments, and %YAML lines for the document after them
        elif directives:
            yield line - directives.count("\n"), f"{directives}---{chunk}"
            directives = ""
        else:
            yield line, chunk
        if marker is None:
            return
        line += text.count("\n", start, marker.end())
        start = marker.end()
        between = not opening


@no_garbage_collection()
def _read_document(chunk: str, first_line: int, tell: Callable[[int], None]) -> Any:
    try:
        return _NodeBuilder(chunk, tell).document()
    except _Refused as refused:
        problem = refused.problem
        return SyntaxProblem(problem.message, first_line + (problem.line or 1) - 1)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = ", ".join(part for part in (error.context, error.problem) if part)
        return SyntaxProblem(f"not YAML: {message}{_advice(message)}", first_line + mark.line if mark else None)
    except yaml.reader.ReaderError as error:
        line = first_line + chunk.count("\n", 0, error.position)
        return SyntaxProblem(f"not YAML: {error.reason}: {chr(error.character)!a}", line)
    except yaml.YAMLError as error:
        return SyntaxProblem(f"not YAML: {error}".replace("\n", " "), first_line)


def _advice(message: str) -> str:
    """What most often is behind a message that speaks of parsing."""
    return next((f"; {advice}" for sign, advice in _ADVICE if sign in message), "")


class _NodeBuilder:
    """Turns the events of one document into plain data."""

    def __init__(self, chunk: str, tell: Callable[[int], None]) -> None:
        self._tell = tell
        self._next = PARSER(chunk).get_event
        self._anchors: dict[str, tuple[Any, int] | None] = {}
        self._nodes = 0
        self._unfolded = 0

    def document(self) -> Any:
        self._next()  # the stream starts
        event = self._next()
        if isinstance(event, yaml.events.StreamEndEvent):
            return None
        data = self._value(self._next(), 0)
        self._next()  # the document ends
        after = self._next()
        if not isinstance(after, yaml.events.StreamEndEvent):
            raise _Refused("not YAML: a second document without --- before it", after)
        return data

    def _value(self, event: Any, depth: int) -> Any:
        self._nodes += 1
        if not self._nodes % _TOLD_EVERY:
            self._tell(event.start_mark.index)
        if type(event) is ScalarEvent:
            value = scalar(event)
            if event.anchor:
                self._anchors[event.anchor] = (value, 1)
            return value
        if type(event) is AliasEvent:
            return self._alias(event)
        if depth > _DEEPEST:
            raise _Refused(f"nested more than {_DEEPEST} levels deep", event)
        if event.anchor:
            self._anchors[event.anchor] = None
        before = self._nodes
        value = self._mapping(event, depth) if type(event) is MappingStartEvent else self._sequence(event, depth)
        if event.anchor:
            self._anchors[event.anchor] = (value, self._nodes - before + 1)
        return value

    def _alias(self, event: Any) -> Any:
        anchored = self._anchors.get(event.anchor)
        if anchored is None:
            known = event.anchor in self._anchors
            raise _Refused(f"*{event.anchor} {'refers to itself' if known else 'is no known anchor'}", event)
        value, size = anchored
        self._nodes += size
        self._unfolded += size  # counted apart: a large file is not refused for one alias in it
        if self._unfolded > _MOST_UNFOLDED:
            raise _Refused("its aliases unfold to more than five million values", event)
        return value

    def _sequence(self, start: Any, depth: int) -> list[Any]:
        if type(start) is not SequenceStartEvent:
            raise _Refused("not YAML: unexpected content", start)
        values = []
        while type(event := self._next()) is not SequenceEndEvent:
            values.append(self._value(event, depth + 1))
        return values

    def _mapping(self, start: Any, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        merged: list[Any] = []
        while type(event := self._next()) is not MappingEndEvent:
            if type(event) is not ScalarEvent:
                raise _Refused("a key must be text", event)
            key = event.value
            value = self._value(self._next(), depth + 1)
            if key == "<<" and event.implicit[0]:
                merged.extend(value if isinstance(value, list) else [value])
            elif key in values:
                raise _Refused(f'the key "{key}" is named twice', event)
            else:
                values[key] = value
        for other in merged:
            if not isinstance(other, dict):
                raise _Refused("<< merges objects only", start)
            values = {**other, **values}
        return values


def scalar(event: Any) -> Any:
    """What a scalar stands for, in quotes or not."""
    text: str = event.value
    if event.tag and event.tag != "!" and not event.implicit[0]:
        if event.tag == _STRING:
            return text
        raise _Refused(f"the tag {event.tag} means nothing here", event)
    if not event.implicit[0] or (text and text[0] not in _SPECIAL):
        return text
    return _plain(text)


def _plain(text: str) -> Any:
    """What an unquoted scalar stands for."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text):
        digits = text.replace("_", "")
        octal = re.match(r"([-+]?)0([0-7]+)$", digits)
        return int(octal[1] + octal[2], 8) if octal else int(digits, 0) if len(digits) < 40 else text
    if _FLOAT.match(text):
        return exact_number(text)
    return text
