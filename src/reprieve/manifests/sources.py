"""The texts that objects were read from: problems get the line they stand at, and values as they are written there."""

from collections.abc import Iterable, Iterator
from pathlib import Path as File
from typing import Any

import msgspec

from reprieve.manifests.positions import Position, positions, steps_of
from reprieve.manifests.problems import Problem, found, show
from reprieve.manifests.shapes import Path
from reprieve.manifests.yunikorn import VCORE
from reprieve.model.resources import CPU, QuantityError, amount, print_amount


class Sources:
    """Files are read again when somebody asks; what cannot be read a second time, such as a pipe, is kept."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def keep(self, name: str, content: bytes) -> None:
        self._kept[name] = content

    def located(self, problems: Iterable[Problem], *, most: int | None = None) -> list[Problem]:
        """The same problems, the first `most` of them with their lines; one that is in no text stays as it is."""
        asked = list(problems)
        problems, rest = asked[:most], asked[most:] if most is not None else []
        documents: dict[tuple[str, int], dict[Path, Position]] = {}
        for problem in problems:
            if problem.origin.document and problem.line is None:
                documents.setdefault((problem.origin.file, problem.origin.document), {})[_path(problem)] = Position(0)
        for (file, document), paths in documents.items():
            content = self._content(file)
            documents[file, document] = positions(content, document, paths) if content else {}
        return [*(_at(problem, documents) for problem in problems), *rest]

    def _content(self, file: str) -> bytes | None:
        if file in self._kept:
            return self._kept[file]
        try:
            return File(file).read_bytes() if File(file).is_file() else None
        except (OSError, ValueError):
            return None


def _path(problem: Problem) -> Path:
    item = () if problem.origin.item is None else ("items", problem.origin.item - 1)
    return (*item, *steps_of(problem.field))


def _at(problem: Problem, documents: dict[tuple[str, int], dict[Path, Position]]) -> Problem:
    place = documents.get((problem.origin.file, problem.origin.document), {}).get(_path(problem))
    if problem.line is not None or place is None:
        return problem
    message = _as_written(problem.message, _path(problem), place) if place.text else problem.message
    return msgspec.structs.replace(problem, line=place.line, message=message)


def _as_written(message: str, path: Path, place: Position) -> str:
    """Where a message shows the value that stands at its field, it shows it as it is written there."""
    written = show(place.value) if isinstance(place.value, str) else place.text
    for shown in _forms(place.value, path):
        if message.endswith(shown) or f"{shown} " in message:
            return message.replace(shown, f"found {written}")
    return message


def _forms(value: Any, path: Path) -> Iterator[str]:
    """How a value may have been put: as it was read or, where it is an amount, in the shortest form."""
    yield found(value)
    try:
        name = str(path[-1]) if path else ""
        name = CPU if name == VCORE else name
        short = print_amount(name, amount(name, value))
    except (QuantityError, TypeError):
        return
    yield found(short)
    yield f"found {short}"
