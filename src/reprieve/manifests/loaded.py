"""What was read: the objects, and all that is wrong with them."""

from collections import Counter
from typing import Any

from reprieve.manifests.identity import LoadedObject
from reprieve.manifests.problems import Problem
from reprieve.manifests.sources import Sources


class Loaded:
    """What was read: the objects, and all that is wrong."""

    def __init__(self) -> None:
        self.entries: list[LoadedObject] = []
        self.problems: list[Problem] = []
        self.documents = 0
        self.unknown: dict[str, int] = {}
        self.sources = Sources()
        self.stored: set[str] = set()
        """What of it a store has: by the names in the origins of its objects."""

    @property
    def objects(self) -> list[Any]:
        return [entry.manifest for entry in self.entries]

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.severity == "error"]

    @property
    def warnings(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.severity == "warning"]

    def counts(self) -> dict[str, int]:
        return dict(sorted(Counter(entry.manifest.kind for entry in self.entries).items()))
