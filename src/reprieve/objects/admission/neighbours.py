"""What else is there: the objects that a rule may have to look at besides the one it judges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reprieve.objects import kueue, scheduling
from reprieve.objects.priorities import PriorityClasses


class Neighbours:
    """Names of what exists, by kind, and the priority classes."""

    def __init__(self, manifests: Iterable[Any] = ()) -> None:
        self._names: dict[type, dict[tuple[str, str], Any]] = {}
        for manifest in manifests:
            by_name = self._names.setdefault(type(manifest), {})
            by_name[manifest.namespace, manifest.name] = manifest
        self.classes = PriorityClasses(self.all(scheduling.PriorityClass))

    def all(self, kind: type[Any]) -> list[Any]:
        return list(self._names.get(kind, {}).values())

    def get(self, kind: type[Any], name: str, namespace: str = "") -> Any | None:
        return self._names.get(kind, {}).get((namespace, name))

    def names(self, kind: type[Any]) -> list[str]:
        return sorted(name for _, name in self._names.get(kind, {}))

    def cohort_path(self, name: str) -> list[str]:
        """A cohort and its ancestors; the last one stands twice when they go in a circle."""
        path = [name]
        cohort = self.get(kueue.Cohort, name)
        while cohort is not None and cohort.spec.parent_name:
            path.append(cohort.spec.parent_name)
            if cohort.spec.parent_name in path[:-1]:
                break
            cohort = self.get(kueue.Cohort, cohort.spec.parent_name)
        return path

    def group_path(self, group: scheduling.PodGroup) -> list[str]:
        """A composite group and its ancestors; the last one stands twice when they go in a circle."""
        path = [group.name]
        parent = group.parent
        while parent:
            path.append(parent)
            if parent in path[:-1]:
                break
            above = self.get(scheduling.PodGroup, parent, group.namespace)
            parent = above.parent if above is not None else ""
        return path
