"""Files and streams into documents: plain data, or raw JSON where a fast reader can take it from there."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from reprieve.manifests.problems import Origin, Problem
from reprieve.manifests.reading import STDIN, STDIN_NAME, read_all
from reprieve.manifests.yaml_reader import SyntaxProblem, read_yaml
from reprieve.model.resources import exact_number

SUFFIXES = (".yaml", ".yml", ".json")

_SPACE = re.compile(r"[ \t\r\n]*")


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no number")


# Tells where a value ends; what its numbers are is read later, exactly.
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse)
_ANY_JSON = msgspec.json.Decoder(float_hook=exact_number)


class Head(msgspec.Struct, rename="camel"):
    """What JSON says of itself, and its items if it is a list; not unpacked where they are none."""

    api_version: str = ""
    kind: str = ""
    items: Any = msgspec.UNSET


class _ListHead(Head):
    items: list[msgspec.Raw] | msgspec.UnsetType | None = msgspec.UNSET


class _OddHead(Head):
    items: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_LIST_HEAD = msgspec.json.Decoder(_ListHead)
_ODD_HEAD = msgspec.json.Decoder(_OddHead)


def head_of(raw: msgspec.Raw | bytes) -> Head:
    """In one go over the text, however long. Raises what msgspec does where it is no object, or does not say."""
    try:
        return _LIST_HEAD.decode(raw)
    except msgspec.ValidationError:
        return _ODD_HEAD.decode(raw)


class Document(msgspec.Struct, frozen=True):
    """One document: where it stands, and its data, its raw JSON, or why it is neither."""

    origin: Origin
    data: Any = None
    raw: msgspec.Raw | bytes | None = None
    head: Head | None = None
    """Of raw JSON, where that was looked for already."""
    problem: SyntaxProblem | None = None
    kept: bytes | None = None
    """All of the text it is part of, where that cannot be read again."""

    def plain(self) -> Any:
        return self.data if self.raw is None else _ANY_JSON.decode(self.raw)


def decode_or_problem(raw: msgspec.Raw | bytes) -> Any:
    """Plain data, or a `SyntaxProblem`."""
    try:
        return _ANY_JSON.decode(raw)
    except RecursionError:
        return SyntaxProblem("nested too deeply")
    except msgspec.ValidationError:  # plain data has no other limit
        return SyntaxProblem("a number with too many digits")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return SyntaxProblem("not JSON: text that is not UTF-8, or half of a surrogate pair")


def find_files(paths: Iterable[str]) -> tuple[list[str], list[Problem]]:
    """The files that `-f` arguments name; directories are searched to the bottom, in order of name."""
    files: list[str] = []
    problems: list[Problem] = []
    for path in paths:
        found = [path] if path == STDIN else _expand(Path(path))
        files += found
        if not found:
            message, allowed = "no such file or directory", ""
            if Path(path).is_dir():
                message, allowed = "holds no manifests", f"files that end in {', '.join(SUFFIXES)}"
            problems.append(Problem(origin=Origin(path, 0), message=message, allowed=allowed))
    return list(dict.fromkeys(files)), problems


def _expand(path: Path) -> list[str]:
    if path.is_dir():
        return sorted(str(file) for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    return [str(path)] if path.exists() else []


def read_file(file: str) -> Iterator[Document]:
    """All documents of a file, of `-` for standard input."""
    name = STDIN_NAME if file == STDIN else file
    again = file != STDIN and Path(file).is_file()
    try:
        content = read_all(file, name)
    except OSError as error:
        yield Document(Origin(file, 0), problem=SyntaxProblem(f"cannot be read: {error.strerror}"))
        return
    yield from read_bytes(content, name, keep=not again)


def read_bytes(content: bytes, file: str, *, keep: bool = False) -> Iterator[Document]:
    """All documents of a file's content, whichever format it is in; `keep` it if it cannot be read again."""
    kept = content if keep else None
    content = content.removeprefix(b"\xef\xbb\xbf")
    if content.lstrip()[:1] in (b"{", b"["):
        documents = list(_read_json(content, file, kept))
        if documents[-1].problem is None or file.endswith(".json"):
            yield from documents
            return
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        yield Document(Origin(file, 0), problem=SyntaxProblem("not UTF-8 text", line))
        return
    for number, data in enumerate(read_yaml(text, file), 1):
        problem = data if isinstance(data, SyntaxProblem) else None
        yield Document(Origin(file, number), None if problem else data, problem=problem, kept=kept)


def _read_json(content: bytes, file: str, kept: bytes | None) -> Iterator[Document]:
    """One JSON document, or several after each other as `kubectl` and `jq` stream them."""
    try:
        yield Document(Origin(file), raw=content, head=_head_of_all(content), kept=kept)
    except (msgspec.DecodeError, RecursionError):
        yield from _read_json_stream(content.decode(errors="replace"), file, kept)


def _head_of_all(content: bytes) -> Head | None:
    """The head of what is one JSON value; None: it is one, and has none. Raises what msgspec does if it is not one."""
    try:
        return head_of(content)
    except (msgspec.ValidationError, UnicodeDecodeError):
        msgspec.json.decode(content, type=msgspec.Raw)
        return None


def _read_json_stream(text: str, file: str, kept: bytes | None) -> Iterator[Document]:
    number, position = 1, _skip_space(text, 0)
    while position < len(text):
        try:
            _, end = _SCANNER.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            yield Document(Origin(file, number), problem=_explain(error))
            return
        yield Document(Origin(file, number), raw=text[position:end].encode(), kept=kept)
        number, position = number + 1, _skip_space(text, end)


def _skip_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _explain(error: ValueError | RecursionError) -> SyntaxProblem:
    if isinstance(error, json.JSONDecodeError):
        return SyntaxProblem(f"not JSON: {error.msg}", error.lineno)
    return SyntaxProblem("nested too deeply" if isinstance(error, RecursionError) else f"not JSON: {error}")
