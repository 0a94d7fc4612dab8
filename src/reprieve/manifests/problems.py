"""What is wrong with a manifest, where, and what would be right: the one form in which users read it."""

import difflib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Literal

import msgspec

from reprieve.model.names import shown

Severity = Literal["error", "warning"]
Stage = Literal["read", "admission", "strict"]
_LONGEST = 60
_LONGEST_WORD = 80


class Origin(msgspec.Struct, frozen=True, gc=False):
    """Where an object was read: a file, the number of the document in it (0: none), the item if that is a List."""

    file: str
    document: int = 1
    item: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}: document {self.document}" if self.document else self.file
        return place if self.item is None else f"{place}, item {self.item}"


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong. `stage` says who minds: reading, admission, or those who ask for known fields only."""

    origin: Origin
    message: str
    field: str = ""
    object: str = ""
    allowed: str = ""
    suggestion: str = ""
    severity: Severity = "error"
    stage: Stage = "read"
    line: int | None = None

    def __str__(self) -> str:
        where = f"{self.origin}, line {self.line}" if self.line else str(self.origin)
        place = ": ".join(part for part in (where, shown(self.object), self.field) if part)
        right = "; ".join(part for part in (self.allowed, self.suggestion) if part)
        return _one_line(f"{place}: {self.message}" + (f"; {right}" if right else ""))

    def as_warning(self) -> "Problem":
        return msgspec.structs.replace(self, severity="warning")

    def renamed(self, files: Mapping[str, str]) -> "Problem":
        """The same problem where what it was found in goes by another name."""
        origin = msgspec.structs.replace(self.origin, file=files.get(self.origin.file, self.origin.file))
        return msgspec.structs.replace(self, origin=origin)

    def inside(self, owner: str, path: str) -> "Problem":
        """The same problem, seen from the object that holds the one it was found in."""
        return msgspec.structs.replace(self, object=owner, field=path + self.field.removeprefix("$"))


class ReprieveError(Exception):
    """The root of what Reprieve raises.

    ReprieveError
    ├── InvalidInput: manifests, settings or a question that cannot be used, with every problem listed
    └── Unsupported: no policy decides for what is asked about
    """


class InvalidInput(ReprieveError):
    """Manifests that cannot be used; `problems` lists everything that is wrong with them."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Finding(msgspec.Struct, frozen=True):
    """A problem before anyone knows which file it came from."""

    field: str
    message: str
    allowed: str = ""
    suggestion: str = ""
    severity: Severity = "error"

    def at(self, origin: Origin, name: str, stage: Stage) -> Problem:
        return Problem(origin=origin, object=name, stage=stage, **msgspec.structs.asdict(self))


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """By file, as they were first met, then by document and item."""
    problems = list(problems)
    origins = [problem.origin for problem in problems]
    order = {file: place for place, file in enumerate(dict.fromkeys(origin.file for origin in origins))}
    return sorted(problems, key=lambda each: (order[each.origin.file], each.origin.document, each.origin.item or 0))


def _one_line(text: str) -> str:
    """One line for each problem, whatever names and keys it quotes; and nothing that a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def found(value: Any) -> str:
    return f"found {show(value)}"


def one_of(options: Iterable[str]) -> str:
    return "allowed: " + ", ".join(option or '""' for option in options)


def did_you_mean(value: object, options: Iterable[str]) -> str:
    """A suggestion where a known word is an edit or two away, whatever its case."""
    near = nearest(value, options) if isinstance(value, str) else ""
    return f'did you mean "{near}"?' if near else ""


def nearest(value: str, options: Iterable[str]) -> str:
    # Long text is no misspelt word, and comparing it takes long.
    known = {option.lower(): option for option in options if 0 < len(option) <= _LONGEST_WORD}
    close = difflib.get_close_matches(value.lower(), known, n=1, cutoff=0.75) if len(value) <= _LONGEST_WORD else []
    return known[close[0]] if close else ""


def show(value: Any) -> str:
    """A value as its manifest would write it, cut short when long."""
    if isinstance(value, Decimal):
        text = str(value).lower()
    elif isinstance(value, dict):
        text = "an object" if value else "{}"
    elif isinstance(value, (list, tuple)):
        text = "a list" if value else "[]"
    else:
        text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def join_path(parent: str, key: str) -> str:
    """`$.a` and `b` make `$.a.b`; names with dots or slashes are put in brackets."""
    plain = key.replace("_", "").replace("-", "").isalnum()
    return f"{parent}.{key}" if plain else f'{parent}["{key}"]'
